//! Agents that come and go while the system runs.

use serde_json::Value;

use crate::harness::System;

fn ids(agents: &[Value]) -> Vec<&str> {
    agents
        .iter()
        .filter_map(|a| a["agentId"].as_str())
        .collect()
}

/// spec: HUB-1, HUB-4.1, HUB-6.2
#[test]
fn an_agent_that_comes_late_can_be_asked_at_once() {
    let (system, _up) = System::up();
    assert_eq!(
        ids(&system.json(&["agents", "list", "--json"])),
        [
            "agent_echo",
            "cortex",
            "qa",
            "strategy",
            "workflows",
            "writer"
        ]
    );
    let watch = system.start(&["agents", "watch", "--json"]);
    watch.line_with("agent_echo");
    let _late = system.start_echo("agent_echo2");
    let seen: Value = serde_json::from_str(&watch.line_with("agent_echo2")).expect("JSON");
    assert_eq!(seen["agentCard"]["eventType"], "registered", "{seen}");
    assert_eq!(
        ids(&system.json(&["agents", "list", "--json"])),
        [
            "agent_echo",
            "agent_echo2",
            "cortex",
            "qa",
            "strategy",
            "workflows",
            "writer"
        ]
    );

    let chat = system.chat("ask agent_echo2 to echo good morning\n");
    assert!(
        chat.stdout.contains("agent_echo2") && chat.stdout.contains("good morning"),
        "{chat:?}"
    );
}

/// spec: HUB-4.1
#[test]
fn a_cortex_that_comes_late_knows_the_agents() {
    let (system, _broker) = System::broker();
    let _echo = system.start_echo("agent_echo");
    let _cortex = system.start_cortex();
    let chat = system.chat("echo \"hello there\"\n");
    assert_eq!(chat.code, Some(0), "{chat:?}");
    assert!(chat.stdout.contains("hello there"), "{chat:?}");
}

/// spec: ORC-2.2, ORC-12.1
#[test]
fn each_specialist_runs_alone_and_under_another_name() {
    let (system, _broker) = System::broker();
    for (kind, name, skill) in [
        ("strategy", "strategy", "plan.strategy"),
        ("writer", "second_writer", "content.write"),
        ("qa", "qa", "qa.review"),
    ] {
        let agent = system.start(&["agent", kind, "--name", name, "--model", "offline"]);
        let line = agent.line("the agent is connected");
        assert!(
            line.starts_with(&format!("{name} is connected to")),
            "{line}"
        );
        let shown = system.json(&["agents", "show", name, "--json"]);
        let skills = shown[0]["agentCard"]["skills"].to_string();
        assert!(skills.contains(skill), "{skills}");
    }
    let refused = system.run(&["agent", "writer", "--name", "Cortex"], "");
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("choose another"), "{refused:?}");
}

/// spec: HUB-6.3
#[test]
fn an_agent_may_start_before_its_hub() {
    let system = System::bare(crate::harness::free_address());
    let echo = system.start(&["agent", "echo"]);
    crate::harness::eventually("the agent says that there is no hub", || {
        echo.said().contains("no hub").then_some(())
    });
    let _broker = system.start_broker();
    system.wait_online("agent_echo");
}

/// spec: HUB-8
#[test]
fn an_agent_that_is_told_to_go_is_offline_at_once() {
    let (system, _broker) = System::broker();
    let echo = system.start_echo("agent_echo");
    echo.signal(nix::sys::signal::Signal::SIGTERM);
    let ended = echo.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown = system.json(&["agents", "show", "agent_echo", "--json"]);
    assert_eq!(shown[0]["state"], "AGENT_STATE_OFFLINE");
    assert_eq!(
        system
            .json(&["agents", "list", "--state", "online", "--json"])
            .len(),
        0
    );
}

/// spec: HUB-8
#[test]
fn the_directory_can_be_searched() {
    let (system, _up) = System::up();
    let found = |args: &[&str]| {
        let args: Vec<&str> = ["agents", "list", "--json"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        system.json(&args).len()
    };
    assert_eq!(found(&["--text", "repeats messages"]), 1);
    assert_eq!(found(&["--skill", "echo"]), 1);
    assert_eq!(found(&["--tag", "debug"]), 1);
    assert_eq!(found(&["--mode", "text/plain", "--skill", "echo"]), 1);
    assert_eq!(found(&["--tag", "nonsense"]), 0);
    assert_eq!(found(&["--capability", "push_notifications"]), 0);
}
