//! Errors in plain words.

use crate::harness::{PRESS, Process, System, eventually, free_address};

/// The agent dies during its work: the user gets an error, and does not wait forever.
#[test]
fn an_agent_that_dies_in_the_middle_is_not_waited_for() {
    let system = System::bare(free_address()).impatient();
    let _broker = system.start_broker();
    let _cortex = system.start_cortex();
    let press = system.start_press();
    let mut chat = system.start(&["chat"]);
    chat.type_line("ask agent_press to print hello on the printing press");
    system.wait_begun(1);
    press.kill();
    let chat = chat.finish("");
    assert!(chat.stdout.contains(PRESS), "{chat:?}");
    assert!(
        chat.stdout.contains("went away") || chat.stdout.contains("gone"),
        "{chat:?}"
    );
    assert_eq!(chat.code, Some(1), "nothing was given: {chat:?}");

    let _again = system.start_echo("agent_echo");
    let chat = system.chat("echo are you back\n");
    assert!(chat.stdout.contains("are you back"), "{chat:?}");
}

#[test]
fn without_a_hub_everything_says_so() {
    let system = System::bare(free_address());
    for args in [
        &["chat"][..],
        &["agents", "list"],
        &["tasks", "list"],
        &["publish", "--to", "x", "hello"],
    ] {
        let finished = system.run(args, "hello\n");
        assert_eq!(finished.code, Some(1), "{args:?}: {finished:?}");
        assert!(
            finished.stderr.contains("no hub") && finished.stderr.contains(system.grpc()),
            "{args:?}: {finished:?}"
        );
    }
}

#[test]
fn without_cortex_the_chat_says_so() {
    let (system, _broker) = System::broker();
    let chat = system.chat("hello\n");
    assert_eq!(chat.code, Some(1), "{chat:?}");
    assert!(chat.stderr.contains("Cortex"), "{chat:?}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let (system, _broker) = System::broker();
    let second = system.run(
        &[
            "broker",
            "--ephemeral",
            "--grpc",
            system.grpc(),
            "--http",
            "127.0.0.1:0",
        ],
        "",
    );
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains(system.grpc()), "{second:?}");
}

#[test]
fn an_open_door_has_to_be_asked_for() {
    let system = System::bare("127.0.0.1:0".to_owned());
    for flag in ["--grpc", "--http"] {
        let refused = system.run(&["broker", "--ephemeral", flag, "0.0.0.0:0"], "");
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("--insecure"), "{refused:?}");
    }
}

#[test]
fn an_open_door_is_warned_of() {
    let system = System::bare("127.0.0.1:0".to_owned());
    let open = [
        "broker",
        "--ephemeral",
        "--insecure",
        "--json",
        "--grpc",
        "0.0.0.0:0",
        "--http",
        "127.0.0.1:0",
    ];
    let broker = system.start(&open);
    broker.line("it serves");
    let said = eventually("it warns", || {
        let said = broker.said();
        let warning = "WARNING: --insecure opens --grpc 0.0.0.0:0";
        said.contains(warning).then_some(said)
    });
    assert!(!said.contains("--http"), "{said}");
}

/// Settings without which every turn would fail are checked at the start.
#[test]
fn a_model_without_its_project_is_an_error_at_the_start() {
    let system = System::bare(free_address());
    let nowhere = system.folder().to_owned();
    for args in [
        &["agent", "supervisor", "--name", "a"][..],
        &["cortex"],
        &["up", "--ephemeral", "--no-chat"],
    ] {
        let args = [args, &["--model", "vertex/gemini-2.5-flash"]].concat();
        let home = [("HOME", &nowhere)];
        let started = Process::start_in(&home, system.folder(), &system.hub(), &args);
        let ended = started.finish("");
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains("GCP_PROJECT"), "{args:?}: {ended:?}");
    }
}
