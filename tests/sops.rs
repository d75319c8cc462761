//! Teams written in Markdown, from a user's view: `agenthub sop` over real processes, offline or with models that fail
//! and wait.

mod brain;
mod chatting;
mod failing;
mod files;
mod staying;

use std::{fs, path::Path};

use serde_json::Value;

use crate::harness::{Finished, Process, System, free_address};

/// The team of the repository.
const SOPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/sops");

const WORDS: &str = "Write a short article about what survives a crash";

/// A folder without processes.
fn alone() -> System {
    System::bare(free_address())
}

/// Asks a team in this process for JSON.
fn ask(system: &System, dir: &str, words: &str) -> (Finished, Value) {
    let finished = system.run(&["sop", "ask", "--here", "--json", dir, words], "");
    let value = json_of(&finished);
    (finished, value)
}

fn json_of(finished: &Finished) -> Value {
    serde_json::from_str(finished.stdout.trim())
        .unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

/// Names of the called agents, in order.
fn asked(answer: &Value) -> Vec<&str> {
    let agents = answer["agents"].as_array().into_iter().flatten();
    agents.filter_map(|one| one["agent"].as_str()).collect()
}

/// Writes a team with these file names and texts.
fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        let folder = path.parent().expect("it is in a folder");
        fs::create_dir_all(folder).expect("the folder is ours");
        fs::write(&path, text).expect("the folder is ours");
    }
}

/// A modifiable copy of the repository's team.
fn copied(folder: &Path) {
    for file in [
        "editor.md",
        "critic.md",
        "article-writer.md",
        "researcher/SKILL.md",
        "researcher/references/crashes-and-restarts.md",
    ] {
        let text =
            fs::read_to_string(Path::new(SOPS).join(file)).expect("it comes with the repository");
        write(folder, &[(&format!("team/{file}"), &text)]);
    }
}

/// Starts a team on the hub of a system, and waits for its orchestrator.
fn up(system: &System, dir: &str, leads: &str, more: &[&str]) -> Process {
    let mut args = vec!["sop", "up", "--json"];
    args.extend(more);
    args.push(dir);
    let up = system.start(&args);
    up.line("the banner");
    system.wait_online(leads);
    up
}

/// spec: SOP-7.1, SOP-7.2, SOP-7.3, SOP-8.1, SOP-8.2, SOP-10.1, SOP-10.4
#[test]
fn the_team_of_the_repository_makes_an_article_without_a_hub_and_without_a_key() {
    let system = alone();
    let finished = system.run(&["sop", "ask", "--here", SOPS, WORDS], "");
    assert_eq!(finished.code, Some(3), "nobody wrote it: {finished:?}");
    for part in [
        "# What survives a crash",
        "on disk before its sender is told so",
        "(references/crashes-and-restarts.md)",
        "critic says: It has ",
        "No language model wrote this.",
    ] {
        assert!(finished.stdout.contains(part), "{part}: {finished:?}");
    }
    let shown = |agent: &str| finished.stderr.find(&format!("→ {agent}: "));
    let order = ["researcher", "article-writer", "critic"].map(shown);
    assert!(
        order.is_sorted() && order.iter().all(Option::is_some),
        "{finished:?}"
    );

    let run = finished.stderr.split("sop report ").nth(1);
    let run = run.and_then(|rest| rest.split_whitespace().next());
    let run = run.expect("it says how to report on the run");
    let report = system.run(&["sop", "report", run, "--json"], "");
    assert_eq!(
        report.code,
        Some(3),
        "nobody can tell of one rule: {report:?}"
    );
    let report = json_of(&report);
    let rules = report["reports"][0]["rules"].as_array().expect("rules");
    let verdict = |text: &str| {
        let rule = rules
            .iter()
            .find(|rule| rule["text"].as_str().is_some_and(|t| t.contains(text)));
        let rule = rule.unwrap_or_else(|| panic!("no rule {text}: {report:#}"));
        (rule["verdict"].as_str(), rule["by"].as_str())
    };
    for text in [
        "MUST ask researcher before article-writer",
        "MUST ask critic",
        "MUST NOT ask article-writer more than twice",
        "at most 400 words",
        "SHOULD have a heading",
    ] {
        assert_eq!(verdict(text), (Some("kept"), Some("code")), "{text}");
    }
    assert_eq!(verdict("MUST NOT add facts").0, Some("not-checked"));
}

/// The agents called for each request, as decided by the offline model, which sees only the prompt and the tools.
///
/// spec: SOP-10.1, SOP-10.2, SOP-10.3
#[test]
fn whom_a_request_needs_is_asked_and_nobody_else() {
    const ALL: [&str; 3] = ["researcher", "article-writer", "critic"];
    let system = alone();
    for (words, agents, part) in [
        (
            "ask the critic to check this: The hub is fast. Very fast.",
            &["critic"][..],
            "It has 6 words.",
        ),
        (
            "Ask researcher what is known about mailboxes",
            &["researcher"],
            "waits in its mailbox",
        ),
        (
            "Have the article-writer write about rain from these findings: It is wet.",
            &["article-writer"],
            "It is wet.",
        ),
        (
            "Let researcher find out about crashes, and critic check this: Bees fly.",
            &["researcher", "critic"],
            "",
        ),
        ("Write a short article about teams in Markdown", &ALL, ""),
        ("hello", &[], "offline stand-in"),
        ("What can you do?", &[], "offline stand-in"),
        ("What is 7 times 6?", &[], "7 times 6 is 42."),
        ("What is 12 minus 5?", &[], "12 minus 5 is 7."),
    ] {
        let (finished, answer) = ask(&system, SOPS, words);
        // Nobody read the page.
        assert_eq!(finished.code, Some(3), "{finished:?}");
        assert_eq!(asked(&answer), agents, "{words}: {answer:#}");
        let said = answer["answer"].as_str().unwrap_or_default();
        assert!(said.contains(part), "{words}: {said}");
    }
}

/// spec: SOP-9.1, SOP-9.2, SOP-9.4, SOP-9.5, SOP-9.6
#[test]
fn all_that_is_logged_for_a_request_has_its_correlation_id() {
    let system = alone();
    let logged = |level: &str| {
        let finished = system.run(&["sop", "ask", "--here", "--log", level, SOPS, WORDS], "");
        assert_eq!(finished.code, Some(3), "{finished:?}");
        let lines = finished.stderr.lines().filter(|line| line.starts_with('{'));
        let lines: Vec<Value> = lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        (finished.stderr.clone(), lines)
    };
    let (text, lines) = logged("info");
    let of = |line: &Value| {
        line.pointer("/fields/correlation_id")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let about = |agent: &str| {
        let ids = lines
            .iter()
            .filter(|line| line.to_string().contains(agent))
            .filter_map(of);
        let ids: Vec<String> = ids.collect();
        assert!(!ids.is_empty(), "{agent}: {text}");
        ids
    };
    let mut ids: Vec<String> = ["editor", "researcher", "article-writer", "critic"]
        .into_iter()
        .flat_map(about)
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{text}");
    assert!(
        !text.contains("on disk before"),
        "texts are no matter of this level: {text}"
    );
    let (quiet, _) = logged("error");
    assert!(!quiet.contains("correlation_id"), "{quiet}");
}

/// spec: SOP-8.1
#[test]
fn a_recorded_request_is_answered_again_without_a_model() {
    let system = alone();
    let ask = |more: &[&str]| {
        let mut args = vec!["sop", "ask", "--here"];
        args.extend(more);
        args.extend([SOPS, WORDS]);
        system.run(&args, "")
    };
    let recorded = ask(&["--record", "mail.cassette"]);
    let replayed = ask(&["--replay", "mail.cassette"]);
    assert_eq!(replayed.code, recorded.code, "{replayed:?}");
    assert_eq!(replayed.code, Some(3), "{replayed:?}");
    assert_eq!(recorded.stdout, replayed.stdout);
}
