//! Agents with a model, from files and from the command line.

use std::fs;

use crate::harness::{System, eventually};

const TOOLS: &str = "[[tool]]\nname = 'count_words'\ndescription = 'Counts the words of a text'\n\
    command = ['sh', '-c', 'wc -w']\ninput = { type = 'object', properties = { text = { type = 'string' } } }\n";

fn write(system: &System, file: &str, text: &str) {
    fs::write(system.folder().join(file), text).expect("the folder is there");
}

#[test]
fn a_file_is_checked_without_a_hub() {
    let system = System::bare(crate::harness::free_address());
    let check = |file: &str| system.run(&["agent", "check", file], "");
    write(&system, "fine.toml", &format!("name = 'a'\n{TOOLS}"));
    let fine = check("fine.toml");
    assert_eq!(fine.code, Some(0), "{fine:?}");
    assert!(fine.stdout.contains("count_words"), "{fine:?}");

    write(&system, "wrong.toml", "name = 'a'\n[limits]\nturn = 3\n");
    let codes = [("check", 1), ("run", 2)];
    for (command, code) in codes {
        let wrong = system.run(&["agent", command, "wrong.toml"], "");
        assert_eq!(wrong.code, Some(code), "{wrong:?}");
        for part in ["wrong.toml:3:1", "unknown field `turn`", "`turns`"] {
            assert!(wrong.stderr.contains(part), "{part}: {wrong:?}");
        }
    }
    write(&system, "model.toml", "name = 'a'\nmodel = 'nobody/m'\n");
    let wrong = check("model.toml");
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(
        wrong.stderr.contains("model.toml: ") && wrong.stderr.contains("nobody"),
        "{wrong:?}"
    );
    write(&system, "taken.toml", "name = 'Cortex'\n");
    for (command, code) in codes {
        let taken = system.run(&["agent", command, "taken.toml"], "");
        assert_eq!(taken.code, Some(code), "{taken:?}");
        assert!(
            taken.stderr.contains("cannot be called \"Cortex\""),
            "{taken:?}"
        );
    }
    let missing = check("missing.toml");
    assert_eq!(missing.code, Some(2), "it is not there: {missing:?}");
    assert!(missing.stderr.contains("missing.toml"), "{missing:?}");

    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/agents/project.toml");
    let fine = check(example);
    assert_eq!(fine.code, Some(0), "{fine:?}");
}

/// spec: AGT-9.4, AGT-9.5, AGT-11.4
#[test]
fn a_worker_takes_its_tools_from_a_file_and_has_its_data_folder_alone() {
    let (system, _broker) = System::broker();
    write(&system, "tools.toml", TOOLS);
    write(&system, "who.md", "Count.");
    let worker = [
        "agent",
        "worker",
        "--name",
        "agent_words",
        "--tools",
        "tools.toml",
        "--instructions",
        "@who.md",
    ];
    let _worker = system.start(&worker);
    system.wait_online("agent_words");
    let answer = system.run(
        &[
            "publish",
            "--to",
            "agent_words",
            "--wait",
            "count_words \"of this text\"",
        ],
        "",
    );
    assert_eq!(
        answer.code,
        Some(3),
        "nobody read its instructions: {answer:?}"
    );
    assert!(answer.stdout.contains("count_words says: "), "{answer:?}");
    let card = &system.json(&["agents", "show", "agent_words", "--json"])[0]["agentCard"];
    assert!(card.to_string().contains("urn:agenthub:agent/v1"), "{card}");

    let second = system.run(&worker, "");
    assert_eq!(second.code, Some(1), "{second:?}");
    for part in ["agent_words runs already", "--data", "--ephemeral"] {
        assert!(second.stderr.contains(part), "{part}: {second:?}");
    }
    let wrong = system.run(
        &[
            "agent",
            "worker",
            "--name",
            "b",
            "--instructions",
            "@nobody.md",
        ],
        "",
    );
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("nobody.md"), "{wrong:?}");
}

#[test]
fn an_answer_for_which_every_tool_failed_is_not_done() {
    let (system, _broker) = System::broker();
    let broken = "name = 'agent_words'\n[[tool]]\nname = 'count_words'\ndescription = 'Counts the words of a text'\n\
        command = ['sh', '-c', 'echo it is locked >&2; exit 3']\n\
        input = { type = 'object', properties = { text = { type = 'string' } } }\n";
    write(&system, "broken.toml", broken);
    let _worker = system.start(&["agent", "run", "broken.toml"]);
    system.wait_online("agent_words");
    let to = ["publish", "--to", "agent_words", "--wait"];
    let words = ["count the words of this text"];
    let answer = system.run(&[&to[..], &words].concat(), "");
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let shown = [&*answer.stdout, &*answer.stderr].concat();
    for part in ["count_words failed", "it is locked"] {
        assert!(shown.contains(part), "{part}: {answer:?}");
    }
    let json = system.run(&[&to[..], &["--json"], &words].concat(), "");
    assert_eq!(json.code, Some(1), "{json:?}");
    assert!(json.stdout.contains(r#""agent":"count_words""#), "{json:?}");

    let works = "[[tool]]\nname = 'count_letters'\ndescription = 'Counts the letters of a text'\n\
        command = ['sh', '-c', 'cat >/dev/null; echo 9 letters']\n";
    write(
        &system,
        "half.toml",
        &[&broken.replace("agent_words", "agent_half"), works].concat(),
    );
    let _half = system.start(&["agent", "run", "half.toml"]);
    system.wait_online("agent_half");
    let asked = [
        "publish",
        "--to",
        "agent_half",
        "--wait",
        "count the words; count the letters",
    ];
    let half = system.run(&asked, "");
    assert_eq!(half.code, Some(3), "{half:?}");
    for part in ["it is locked", "9 letters"] {
        assert!(half.stdout.contains(part), "{part}: {half:?}");
    }

    let missing = broken.replace(
        "['sh', '-c', 'echo it is locked >&2; exit 3']",
        "['./no-such-program']",
    );
    write(&system, "missing.toml", &missing);
    let checked = system.run(&["agent", "check", "missing.toml"], "");
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(
        checked.stderr.contains("cannot all run here"),
        "{checked:?}"
    );
}

/// A killed program cannot end its children: a tool's program ends with its agent all the same, with all of its own
/// children.
#[cfg(target_os = "linux")]
#[test]
fn the_program_of_a_tool_ends_with_an_agent_that_is_killed() {
    let (system, _broker) = System::broker();
    let slow = "[[tool]]\nname = 'count_words'\ndescription = 'Counts the words of a text'\n\
        command = ['sh', '-c', 'sleep 600 & echo $! $$ > begun; wait']\n\
        input = { type = 'object', properties = { text = { type = 'string' } } }\n";
    write(&system, "tools.toml", slow);
    let worker = [
        "agent",
        "worker",
        "--name",
        "agent_words",
        "--tools",
        "tools.toml",
    ];
    let worker = system.start(&worker);
    system.wait_online("agent_words");
    let asked = system.run(
        &[
            "publish",
            "--to",
            "agent_words",
            "count the words of this text",
        ],
        "",
    );
    assert_eq!(asked.code, Some(0), "{asked:?}");
    let processes = eventually("the program runs", || {
        let begun = fs::read_to_string(system.folder().join("begun")).ok()?;
        let ids: Vec<String> = begun.split_whitespace().map(str::to_owned).collect();
        (ids.len() == 2).then_some(ids)
    });
    let runs = |id: &String| {
        let command = fs::read(format!("/proc/{id}/cmdline"));
        command.is_ok_and(|command| !command.is_empty())
    };
    assert!(processes.iter().all(runs), "{processes:?}");
    worker.kill();
    eventually("all of it is gone", || {
        (!processes.iter().any(runs)).then_some(())
    });
}
