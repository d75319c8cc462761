//! Agents and clients of the original AgentHub, reproduced on the wire by a program in Go
//! (`tests/older_clients/main.go`), with this hub, its Cortex, its command line and each other. Needs the program that
//! `AGENTHUB_TEST_OLDER_CLIENT` names.

use std::{env, path::PathBuf};

use crate::harness::{Process, System, eventually, free_address, http_address};

struct Older(PathBuf);

impl Older {
    /// `None` if the program is missing.
    fn find() -> Option<Self> {
        let program = env::var_os("AGENTHUB_TEST_OLDER_CLIENT").filter(|path| !path.is_empty());
        if program.is_none() {
            eprintln!(
                "not tested: AGENTHUB_TEST_OLDER_CLIENT names no program (tests/older_clients/build.sh makes it)"
            );
        }
        program.map(|path| Self(path.into()))
    }

    fn start(&self, system: &System, what: &str) -> Process {
        let program = self.0.to_str().expect("a path in Unicode");
        Process::start_other(program, system.folder(), "", &[what, system.grpc()])
    }

    /// Starts its echo agent, and waits until it is online.
    fn echo(&self, system: &System) -> Process {
        let echo = self.start(system, "echo");
        system.wait_online("agent_echo");
        echo
    }
}

fn ask<'a>(skill: &'a str, text: &'a str) -> [&'a str; 7] {
    [
        "publish",
        "--to",
        "agent_echo",
        "--task-type",
        skill,
        "--wait",
        text,
    ]
}

/// spec: HUB-5.2, HUB-5.3, HUB-7
#[test]
fn an_agent_that_goes_by_names_and_sends_its_artifact_late_answers_chat_and_command_line() {
    let Some(older) = Older::find() else { return };
    let (system, _broker) = System::broker();
    let _cortex = system.start_cortex();
    let echo = older.echo(&system);
    let chat = system.chat("echo hello there\n");
    assert!(
        chat.stdout.contains("Echo: ") && chat.stdout.contains("hello there"),
        "{chat:?}"
    );
    assert!(echo.line("a task").contains("of \"Echo Messages\""));

    let answered = system.run(&ask("Echo Messages", "and again"), "");
    assert_eq!(answered.code, Some(0), "{answered:?}");
    assert!(answered.stdout.contains("Echo: and again"), "{answered:?}");
    let refused = system.run(&ask("unknown", "no"), "");
    assert_ne!(refused.code, Some(0), "{refused:?}");
}

/// A2A 1.0 section 4.1.1: a message names no skill.
#[test]
fn an_agent_that_goes_by_names_answers_clients_of_a2a() {
    let Some(older) = Older::find() else { return };
    let system = System::bare(free_address());
    let address = system.grpc();
    let broker = ["broker", "--json", "--ephemeral", "--grpc", address];
    let broker = system.start(&[&broker[..], &["--http", "127.0.0.1:0"]].concat());
    let http = http_address(&broker);
    let _echo = older.echo(&system);
    let url = format!("http://{http}/agents/agent_echo");
    let called = system.run(&["a2a", "call", &url, "good day"], "");
    assert_eq!(called.code, Some(0), "{called:?}");
    assert!(called.stdout.contains("Echo: good day"), "{called:?}");
}

/// spec: HUB-7
#[test]
fn tasks_wait_for_an_agent_that_only_asks_for_tasks() {
    let Some(older) = Older::find() else { return };
    let (system, _broker) = System::durable_broker();
    drop(older.echo(&system));
    let published = system.run(
        &[
            "publish",
            "--to",
            "agent_echo",
            "--task-type",
            "Echo Messages",
            "--task",
            "t1",
            "later",
        ],
        "",
    );
    assert_eq!(published.code, Some(0), "{published:?}");
    let _echo = older.start(&system, "echo");
    eventually("the task has ended", || {
        let task = system.json(&["tasks", "show", "t1", "--json"]).remove(0);
        let has_ended = task["status"]["state"].to_string().contains("COMPLETED");
        (has_ended && task.to_string().contains("Echo: later")).then_some(())
    });
}

/// promise 4; spec: HUB-7
#[test]
fn its_clients_ask_with_ids_of_seconds_and_headers() {
    let Some(older) = Older::find() else { return };
    let (system, _broker) = System::broker();
    let responder = older.start(&system, "responder");
    responder.line_with("listening");
    let repl = older.start(&system, "repl").finish("hi\nhi\nho\n");
    assert_eq!(repl.code, Some(0), "{repl:?}");
    let mut answers: Vec<&str> = repl.stdout.lines().collect();
    answers.sort_unstable();
    let expected = [
        "You said: hi (traced)",
        "You said: hi (traced)",
        "You said: ho (traced)",
    ];
    assert_eq!(answers, expected);
}

/// spec: HUB-4, HUB-7
#[test]
fn its_chat_talks_with_this_cortex() {
    let Some(older) = Older::find() else { return };
    let (system, _broker) = System::broker();
    let _cortex = system.start_cortex();
    let _echo = older.echo(&system);
    let chat = older
        .start(&system, "cli")
        .finish("echo \"good morning\"\n");
    assert_eq!(chat.code, Some(0), "{chat:?}");
    assert!(chat.stdout.contains("good morning"), "{chat:?}");
}
