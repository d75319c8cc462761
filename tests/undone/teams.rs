//! Teams in Markdown without a model: what nobody did, and what is answered all the same.

use std::fs;

use serde_json::Value;

use crate::harness::System;

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

/// spec: SOP-10.3
#[test]
fn a_greeting_is_answered_by_who_has_nobody_to_lead() {
    let system = System::bare("127.0.0.1:1".to_owned());
    write(&system, "alone/lead.md", LEAD);
    for words in ["hello", "what can you do?", "7 times 6"] {
        let asked = system.run(&["sop", "ask", "--here", "alone", words], "");
        assert_eq!(asked.code, Some(0), "{words}: {asked:?}");
    }
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
