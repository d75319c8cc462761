//! The command line: output and exit codes.

use std::process::{Command, Stdio};

use crate::harness::{System, get, http_address};

#[test]
fn output_that_nobody_reads_is_not_done() {
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    drop(reader);
    let printed = Command::new(env!("CARGO_BIN_EXE_agenthub"))
        .args(["completions", "bash"])
        .stdout(writer)
        .stderr(Stdio::null())
        .status()
        .expect("the binary starts");
    assert_eq!(printed.code(), Some(141));
}

#[test]
fn wrong_usage_is_2_and_help_is_0() {
    let system = System::bare("127.0.0.1:1".to_owned());
    for args in [
        &["nonsense"][..],
        &["chat", "--nonsense"],
        &["tasks", "list", "--state", "nonsense"],
        &["publish"],
    ] {
        assert_eq!(system.run(args, "").code, Some(2), "{args:?}");
    }
    let help = system.run(&["--help"], "");
    assert_eq!(help.code, Some(0));
    for command in [
        "up",
        "broker",
        "cortex",
        "agent",
        "chat",
        "agents",
        "publish",
        "tasks",
        "completions",
    ] {
        assert!(help.stdout.contains(command), "{command}: {}", help.stdout);
    }
    let completions = system.run(&["completions", "bash"], "");
    assert!(
        completions.stdout.contains("_clap_complete_agenthub"),
        "{completions:?}"
    );
}

/// spec: HUB-5.2, HUB-5.3
#[test]
fn a_message_can_be_published_and_its_answer_seen() {
    let (system, _up) = System::up();
    let answer = system.run(
        &[
            "publish",
            "--to",
            "agent_echo",
            "--task-type",
            "echo_request",
            "--wait",
            "good day",
        ],
        "",
    );
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stdout.contains("Echo: good day"), "{answer:?}");

    let tasks = system.json(&["tasks", "list", "--json"]);
    let id = tasks[0]["id"].as_str().expect("an id");
    let shown = &system.json(&["tasks", "show", id, "--json"])[0];
    assert_eq!(shown["status"]["state"], "TASK_STATE_COMPLETED");
    let reply = shown["history"]
        .as_array()
        .and_then(|h| h.iter().find(|m| m["role"] == "ROLE_AGENT"))
        .unwrap_or_else(|| panic!("no reply in {shown}"));
    assert_eq!(reply["metadata"]["task_type"], "echo_result");
    assert_eq!(reply["metadata"]["echo_agent"], "agent_echo");

    let cancelled = system.run(&["tasks", "cancel", id], "");
    assert_eq!(cancelled.code, Some(1), "it has ended: {cancelled:?}");
    assert_eq!(system.run(&["tasks", "show", "nonsense"], "").code, Some(1));
    assert_eq!(
        system.run(&["agents", "show", "nonsense"], "").code,
        Some(1)
    );
}

#[test]
fn work_that_waits_can_be_cancelled() {
    let (system, _broker) = System::broker();
    let echo = system.start_echo("agent_echo");
    drop(echo);
    let sent = system.run(
        &[
            "publish",
            "--to",
            "agent_echo",
            "--task",
            "t1",
            "--task-type",
            "echo",
            "hello",
        ],
        "",
    );
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert_eq!(
        system
            .run(&["tasks", "cancel", "t1", "--reason", "not needed"], "")
            .code,
        Some(0)
    );
    let shown = &system.json(&["tasks", "show", "t1", "--json"])[0];
    assert_eq!(shown["status"]["state"], "TASK_STATE_CANCELLED");
}

#[test]
fn the_http_port_tells_health_readiness_and_numbers() {
    let system = System::bare("127.0.0.1:0".to_owned());
    let broker = system.start(&[
        "broker",
        "--json",
        "--ephemeral",
        "--grpc",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
    ]);
    let http = http_address(&broker);
    let get = |path: &str| get(&http, path);
    assert!(get("/health").starts_with("HTTP/1.1 200"));
    assert!(get("/ready").starts_with("HTTP/1.1 200"));
    let metrics = get("/metrics");
    assert!(metrics.contains("agenthub_agents 0"), "{metrics}");
    assert!(get("/nonsense").starts_with("HTTP/1.1 404"));
}
