//! Teams in Markdown without a model: what nobody did, and what is answered all the same.

use std::fs;

use serde_json::Value;

use crate::harness::{Finished, System};

const LEAD: &str = "---\nname: lead\ndescription: Has texts checked\ntype: orchestrator\n---\nYou have texts checked.\n\n## Steps\n\n1. Ask `counter` to check the text.\n";
const COUNTER: &str =
    "---\nname: counter\ndescription: Checks a text before it is read\n---\nYou check a text.\n";

fn write(system: &System, file: &str, text: &str) {
    let path = system.folder().join(file);
    let folder = path.parent().expect("it is in a folder");
    fs::create_dir_all(folder).expect("the folder can be made");
    fs::write(path, text).expect("the file can be written");
}

/// spec: SOP-8.7
#[test]
fn what_nobody_of_a_team_does_is_said_and_does_not_leave_with_0() {
    let system = System::bare("127.0.0.1:1".to_owned());
    write(&system, "team/lead.md", LEAD);
    write(&system, "team/counter.md", COUNTER);
    let ask = |words: &str| system.run(&["sop", "ask", "--here", "team", words], "");
    let nothing = ask("knit me a sweater");
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    assert!(
        nothing.stdout.contains("I found nobody for that"),
        "{nothing:?}"
    );
    let half = ask("ask counter to check this: It rains. And ask ghost to fix the sink.");
    assert_ne!(half.code, Some(0), "{half:?}");
    let half = ask("ask counter to check \"It rains.\" and ask ghost to fix the sink");
    assert_eq!(half.code, Some(3), "{half:?}");
    assert!(
        half.stdout.contains("I know no agent called ghost"),
        "{half:?}"
    );
}

/// spec: SOP-8.7
#[test]
fn a_step_that_nobody_does_is_named_by_a_check_and_by_the_answer() {
    let system = System::bare("127.0.0.1:1".to_owned());
    let steps = "1. Ask `counter` to check the text.\n2. Translate it into French.\n3. Ask `ghost` to print it three times.\n4. Answer with what `counter` says.\n";
    let lead = LEAD.split("1. Ask").next().unwrap_or_default().to_owned() + steps;
    write(&system, "team/lead.md", &lead);
    write(&system, "team/counter.md", COUNTER);
    let checked = system.run(&["sop", "check", "team"], "");
    assert!(!checked.stdout.contains("is fine"), "{checked:?}");
    for part in ["Translate it into French.", "`ghost`"] {
        assert!(checked.stderr.contains(part), "{part}: {checked:?}");
    }
    let asked = system.run(
        &["sop", "ask", "--here", "team", "check this: It rains."],
        "",
    );
    assert_eq!(asked.code, Some(3), "{asked:?}");
    assert!(
        asked.stdout.contains("Nobody did: \"Translate"),
        "{asked:?}"
    );
}

/// spec: ORC-2.1
#[test]
fn a_request_that_does_not_state_everything_outright_does_not_leave_with_0() {
    let (system, _up) = System::up();
    let chat = |words: &str| system.chat(&format!("{words}\n"));
    for words in [
        "echo hi, then write a leaflet",
        "echo hi and translate into French",
        "echo hi twice",
        "ask agent_echo to fix the sink",
        "echo hello there",
        "echo \"hi\" twice",
    ] {
        let asked = chat(words);
        assert_eq!(asked.code, Some(3), "{words}: {asked:?}");
        assert!(
            asked.stdout.contains("no language model checked"),
            "{asked:?}"
        );
    }
    for words in ["echo \"hello there\"", "echo \"hi, then write a leaflet\""] {
        assert_eq!(chat(words).code, Some(0), "{words}");
    }
    for words in ["never echo hi", "do not ask agent_echo to say hi"] {
        let asked = chat(words);
        assert_eq!(asked.code, Some(1), "{words}: {asked:?}");
        assert!(!asked.stdout.contains("Echo:"), "{asked:?}");
    }
    let modes = system.run(&["runs", "list", "--mode", "nonsense"], "");
    assert_eq!(modes.code, Some(2), "{modes:?}");
    assert!(modes.stderr.contains("app, chat"), "{modes:?}");
    let run = ["run", "--mode", "chat", "--objective", "hi", "--agent"];
    for agent in ["cortex", "nobody"] {
        let refused = system.run(&[&run[..], &[agent]].concat(), "");
        assert_eq!(refused.code, Some(2), "{agent}: {refused:?}");
    }
}

/// spec: ORC-2.3
#[test]
fn the_payload_of_a_chat_is_handed_on_and_what_nobody_reads_is_told() {
    let system = System::bare("127.0.0.1:1".to_owned());
    let draft = "objective: Review the draft\nmode: chat\npayload:\n  draft: {text: The library opens on Monday., title: Great liberry}\n";
    write(&system, "b.yaml", draft);
    let unnamed = system.run(&["run", "--here", "b.yaml"], "");
    assert_eq!(unnamed.code, Some(3), "{unnamed:?}");
    assert!(
        unnamed.stdout.contains("The library opens on Monday."),
        "{unnamed:?}"
    );
    assert!(unnamed.stderr.contains("◐ qa"), "{unnamed:?}");
    let named = system.run(&["run", "--here", "--agent", "qa", "b.yaml"], "");
    assert_eq!(named.code, Some(3), "{named:?}");
    assert!(
        named
            .stdout
            .contains("Field title of the draft: not checked"),
        "{named:?}"
    );
    assert!(named.stderr.contains("◐ qa"), "{named:?}");
}

/// spec: SOP-4.1
#[test]
fn who_has_nobody_to_lead_is_not_called_fine() {
    let system = System::bare("127.0.0.1:1".to_owned());
    write(&system, "alone/lead.md", LEAD);
    let checked = system.run(&["sop", "check", "alone"], "");
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(
        checked.stderr.contains("lead has nobody to lead"),
        "{checked:?}"
    );
    assert!(!checked.stdout.contains("is fine"), "{checked:?}");
}

/// Nobody followed the page's steps for it.
///
/// spec: SOP-10.3
#[test]
fn a_greeting_and_a_sum_are_answered_in_part_as_nobody_read_the_page() {
    let system = System::bare("127.0.0.1:1".to_owned());
    write(&system, "alone/lead.md", LEAD);
    write(&system, "team/lead.md", LEAD);
    write(&system, "team/counter.md", COUNTER);
    for team in ["alone", "team"] {
        for (words, part) in [
            ("hello", "stand-in"),
            ("2+2", "is 4"),
            ("7 times 6", "is 42"),
        ] {
            let asked = system.run(&["sop", "ask", "--here", team, words], "");
            assert_eq!(asked.code, Some(3), "{team} {words}: {asked:?}");
            for part in [part, "No language model read the instructions"] {
                assert!(asked.stdout.contains(part), "{team} {words}: {asked:?}");
            }
        }
    }
}

/// spec: SOP-8.7
#[test]
fn nobody_of_a_team_is_asked_in_the_place_of_one_whom_nobody_knows() {
    let system = System::bare("127.0.0.1:1".to_owned());
    write(&system, "team/lead.md", LEAD);
    write(&system, "team/counter.md", COUNTER);
    let ask = |words: &str| system.run(&["sop", "ask", "--here", "team", words], "");
    let nobody = ask("ask ghost to check the text: It rains.");
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    for part in ["I know no agent called ghost", "agent_counter"] {
        assert!(nobody.stdout.contains(part), "{part}: {nobody:?}");
    }
    assert!(!nobody.stderr.contains("→ counter"), "{nobody:?}");
    let own = ask("ask lead to check the text: It rains.");
    assert!(own.stderr.contains("→ counter"), "{own:?}");
}

/// spec: SOP-8.6, SOP-8.7
#[test]
fn a_report_calls_no_rule_of_a_refused_request_kept() {
    let system = System::bare("127.0.0.1:1".to_owned());
    let rules = "\n## Rules\n\n- The answer MUST mention \"sweater\".\n- You MUST NOT ask `ghost`.\n- You MUST ask `counter`.\n";
    write(&system, "team/lead.md", &format!("{LEAD}{rules}"));
    write(&system, "team/counter.md", COUNTER);
    let words = "please do not knit a sweater";
    let refused = system.run(&["sop", "ask", "--here", "team", words], "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(!refused.stderr.contains("→ counter"), "{refused:?}");
    let report = system.run(&["sop", "report", "latest"], "");
    assert_eq!(report.code, Some(3), "{report:?}");
    let counts = "3 rules: 0 kept, 0 broken, 0 not applicable, 3 not checked";
    assert!(report.stdout.contains(counts), "{report:?}");
}

/// spec: SOP-4.4
#[test]
fn a_page_that_cannot_be_used_is_named_by_the_answer_which_is_a_part() {
    let (system, _up) = System::up();
    let fine = "---\nname: lead\ndescription: Answers\ntype: orchestrator\n---\n";
    write(&system, "team/lead.md", fine);
    write(&system, "team/counter.md", COUNTER);
    let ask = |flags: &[&str]| {
        let args = [&["sop", "ask"], flags, &["team", "hello"]].concat();
        system.run(&args, "")
    };
    let whole = ask(&["--here"]);
    assert_eq!(
        whole.code,
        Some(0),
        "a page without a word has no steps: {whole:?}"
    );
    write(&system, "team/broken.md", "---\nname: broken\n---\nWork.\n");
    let left_out = |asked: &Finished| {
        assert_eq!(asked.code, Some(3), "{asked:?}");
        let named = "team/broken.md was left out: `description` is missing";
        assert!(asked.stdout.contains(named), "{asked:?}");
    };
    left_out(&ask(&["--here"]));
    left_out(&ask(&[]));
    let _team = system.start(&["sop", "up", "team"]);
    system.wait_online("counter");
    left_out(&ask(&[]));
    // One that was right before is at work as it was.
    let worse = COUNTER.replace("description", "descripton");
    write(&system, "team/counter.md", &worse);
    write(
        &system,
        "team/broken.md",
        COUNTER.replace("counter", "broken").as_str(),
    );
    system.wait_online("broken");
    let as_it_was = ask(&[]);
    assert_eq!(as_it_was.code, Some(0), "{as_it_was:?}");
    write(
        &system,
        "team/lead.md",
        "---\nname: lead\ntype: orchestrator\n---\n",
    );
    let unusable = ask(&["--here"]);
    assert_eq!(unusable.code, Some(2), "{unusable:?}");
}

/// spec: SOP-10.3
#[test]
fn a_text_to_check_is_counted_without_the_words_that_ask_for_it() {
    let (system, _up) = System::up();
    write(&system, "team/lead.md", LEAD);
    write(&system, "team/counter.md", COUNTER);
    let team = system.start(&["sop", "up", "team"]);
    system.wait_online("counter");
    let text = "The hub is fast. Very fast.";
    let publish = ["publish", "--to", "counter", "--wait"];
    for asked in [
        system.run(
            &[&publish[..], &[&format!("check this: {text}")]].concat(),
            "",
        ),
        system.chat(&format!("ask counter to check this: {text}\n")),
    ] {
        assert!(asked.stdout.contains("It has 6 words."), "{asked:?}");
        assert_eq!(asked.code, Some(3), "nobody judged it: {asked:?}");
    }
    let json = system.run(
        &[&publish[..], &["--json", "check this: It is."]].concat(),
        "",
    );
    let answer: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(answer["undone"], "part", "{json:?}");
    team.kill();
}
