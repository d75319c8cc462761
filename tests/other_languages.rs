//! The agent of `docs/AGENTS.md`, in Python over plain gRPC. Needs the Python that `AGENTHUB_TEST_PYTHON` names, with
//! `grpcio`, and what `examples/stubs.py` makes on its path.

use std::{env, path::Path, process::Command};

use crate::harness::{Process, System};

/// `None` if it cannot be run.
fn python() -> Option<String> {
    let python = env::var("AGENTHUB_TEST_PYTHON").ok()?;
    let tried = Command::new(&python)
        .args(["-c", "import grpc, agenthub_wire.eventbus_pb2_grpc"])
        .output();
    tried
        .is_ok_and(|tried| tried.status.success())
        .then_some(python)
}

/// spec: HUB-6.3
#[test]
fn an_agent_in_python_does_its_work_and_what_waited_while_it_was_away() {
    let Some(python) = python() else {
        eprintln!(
            "not tested: AGENTHUB_TEST_PYTHON names no Python that has `grpc` and what examples/stubs.py makes"
        );
        return;
    };
    let (system, broker) = System::durable_broker();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/agent.py");
    let program = program.to_str().expect("a path in Unicode");
    let start = || {
        let agent = Process::start_other(&python, system.folder(), "", &[program, system.grpc()]);
        agent.line_with("connected");
        agent
    };
    let ask = |text: &str| {
        let asked = [
            "publish",
            "--to",
            "words",
            "--task-type",
            "count",
            "--wait",
            text,
        ];
        system.run(&asked, "")
    };
    let agent = start();
    let counted = ask("so it goes");
    assert!(counted.stdout.contains("3 words"), "{counted:?}");

    agent.kill();
    let waiting = [
        "publish",
        "--to",
        "words",
        "--task-type",
        "count",
        "--task",
        "t1",
        "one two",
    ];
    assert_eq!(system.run(&waiting, "").code, Some(0));
    let agent = start();
    let known = ["tasks", "watch", "t1"];
    let watched = system.run(&known, "");
    assert!(watched.stdout.contains("2 words"), "{watched:?}");

    broker.kill();
    let _broker = system.start_durable_broker();
    agent.line_with("connected");
    let counted = ask("back again");
    assert!(counted.stdout.contains("2 words"), "{counted:?}");
}
