//! Completion in a real bash, with the script that `agenthub completions` prints.

use std::path::Path;

use crate::harness::{Process, System, eventually};

/// Sets `COMPREPLY` as bash does for Tab at the end of `$@`, and prints one candidate per line.
const PRESS_TAB: &str = r#"
    PATH="$1:$PATH" hub=$2; shift 2
    source <(agenthub completions bash)
    export AGENTHUB_HUB=$hub
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
    _clap_complete_agenthub agenthub "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' "${COMPREPLY[@]}"
"#;

/// Candidates for Tab at the end of a command line.
fn offered(system: &System, words: &[&str]) -> Vec<String> {
    let programs = Path::new(env!("CARGO_BIN_EXE_agenthub")).parent();
    let programs = programs.expect("a program stands in a folder");
    let programs = programs.to_str().expect("its name is UTF-8");
    let hub = system.hub();
    let args = [
        &["-c", PRESS_TAB, "bash", programs, &hub, "agenthub"],
        words,
    ]
    .concat();
    let done = Process::start_other("bash", system.folder(), "", &args).finish("");
    assert_eq!(done.stderr, "", "{words:?}");
    let lines = done.stdout.lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// Waits until Tab offers this: nothing is offered where a busy hub takes longer than the shell waits.
fn offers(system: &System, words: &[&str], expected: &[&str]) {
    eventually(&format!("Tab offers {expected:?} after {words:?}"), || {
        let offered = offered(system, words);
        assert!(
            offered.is_empty() || offered == expected,
            "{words:?}: {offered:?}"
        );
        (offered == expected).then_some(())
    });
}

#[test]
fn tab_offers_commands_and_the_ids_that_a_hub_knows() {
    let (system, _up) = System::up();
    assert_eq!(offered(&system, &["mail"]), ["mailboxes"]);
    offers(&system, &["agents", "show", "agent_"], &["agent_echo"]);
    offers(&system, &["publish", "--to", "agent_e"], &["agent_echo"]);

    let asked = ["publish", "--to", "agent_echo", "--wait", "hi"];
    assert_eq!(system.run(&asked, "").code, Some(0));
    let tasks = system.json(&["tasks", "list", "--json"]);
    let task = tasks[0]["id"].as_str().expect("an id");
    offers(&system, &["tasks", "show", &task[..6]], &[task]);
    eventually("Tab offers the latest task", || {
        let offered = offered(&system, &["tasks", "cancel", ""]);
        offered.contains(&"latest".to_owned()).then_some(())
    });

    assert_eq!(system.chat("good day\n").code, Some(0));
    let runs = system.json(&["runs", "list", "--json"]);
    let run = runs[0]["id"].as_str().expect("an id");
    offers(&system, &["runs", "show", run], &[run]);
    assert_eq!(
        offered(&system, &["runs", "approve", run]),
        [""; 0],
        "it asks nobody"
    );
}

#[test]
fn tab_offers_no_ids_where_no_hub_is() {
    let system = System::bare("127.0.0.1:1".to_owned());
    assert_eq!(offered(&system, &["agents", "show", "a"]), [""; 0]);
    assert_eq!(offered(&system, &["agents", "li"]), ["list"]);
}
