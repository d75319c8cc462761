//! Agents with a model from files and from the command line.

use std::fs;

use crate::harness::System;

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
    for command in ["check", "run"] {
        let wrong = system.run(&["agent", command, "wrong.toml"], "");
        assert_eq!(wrong.code, Some(1), "{wrong:?}");
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
    for command in ["check", "run"] {
        let taken = system.run(&["agent", command, "taken.toml"], "");
        assert_eq!(taken.code, Some(1), "{taken:?}");
        assert!(
            taken.stderr.contains("cannot be called \"Cortex\""),
            "{taken:?}"
        );
    }
    let missing = check("missing.toml");
    assert_eq!(missing.code, Some(1), "{missing:?}");
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
            "count the words of this text",
        ],
        "",
    );
    assert_eq!(answer.code, Some(0), "{answer:?}");
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
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.stderr.contains("nobody.md"), "{wrong:?}");
}
