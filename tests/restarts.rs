//! Crashes of every process: the others reconnect by themselves.

use crate::harness::{System, eventually};

/// spec: HUB-8
#[test]
fn a_hub_that_comes_back_finds_everyone_again() {
    let (system, broker) = System::broker();
    let _echo = system.start_echo("agent_echo");
    let _cortex = system.start_cortex();
    assert!(system.chat("echo before\n").stdout.contains("before"));

    broker.kill();
    let _broker = system.start_broker();
    system.wait_online("agent_echo");
    system.wait_online("cortex");
    let chat = system.chat("echo \"after\"\n");
    assert_eq!(chat.code, Some(0), "{chat:?}");
    assert!(chat.stdout.contains("after"), "{chat:?}");
}

/// The hub dies during a chat turn: the user gets an error, and the same chat continues with the next hub.
#[test]
fn a_chat_outlives_its_hub() {
    let (system, broker) = System::broker();
    let echo = system.start_echo("agent_echo");
    let cortex = system.start_cortex();
    echo.signal(nix::sys::signal::Signal::SIGSTOP);
    let mut chat = system.start(&["chat"]);
    chat.type_line("echo lost words");
    eventually("the agent has the work", || {
        let tasks = system.json(&["tasks", "list", "--agent", "agent_echo", "--json"]);
        (!tasks.is_empty()).then_some(())
    });
    broker.kill();
    echo.signal(nix::sys::signal::Signal::SIGCONT);
    let _broker = system.start_broker();
    system.wait_online("agent_echo");
    system.wait_online("cortex");
    let chat = chat.finish("echo found words\n");
    assert!(chat.stdout.contains("found words"), "{chat:?}");
    assert!(
        chat.stderr.contains("hub"),
        "what became of the first turn is said: {chat:?}"
    );
    drop(cortex);
}

/// A watcher gets the events of its downtime, each once.
#[test]
fn who_watches_tasks_catches_up_with_a_hub_that_came_back() {
    let (system, broker) = System::durable_broker();
    let _echo = system.start_echo("agent_echo");
    let work = |task: &str| {
        let args = [
            "publish",
            "--to",
            "agent_echo",
            "--task",
            task,
            "--task-type",
            "echo_request",
            task,
        ];
        let published = system.run(&args, "");
        assert_eq!(published.code, Some(0), "{published:?}");
    };
    let watch = system.start(&["tasks", "watch", "--json"]);
    // The first tasks may arrive before there is a stream.
    let first = eventually("it watches", || {
        work(&uuid::Uuid::new_v4().to_string());
        watch.printed()
    });
    assert!(!first.is_empty());

    watch.signal(nix::sys::signal::Signal::SIGSTOP);
    broker.kill();
    let _broker = system.start_durable_broker();
    system.wait_online("agent_echo");
    work("meanwhile");
    let is_done = |task: &serde_json::Value| task["status"]["state"] == "TASK_STATE_COMPLETED";
    eventually("it is done", || {
        let tasks = system.json(&["tasks", "list", "--json"]);
        let done = tasks
            .into_iter()
            .find(|t| t["id"] == "meanwhile" && is_done(t));
        done.map(drop)
    });
    watch.signal(nix::sys::signal::Signal::SIGCONT);
    work("afterwards");
    let mut seen = Vec::new();
    loop {
        let event: serde_json::Value =
            serde_json::from_str(&watch.line("what happens")).expect("JSON");
        let update = &event["statusUpdate"];
        let is_last = update["taskId"] == "afterwards" && is_done(update);
        seen.push(event);
        if is_last {
            break;
        }
    }
    let positions: Vec<&str> = seen.iter().filter_map(|e| e["position"].as_str()).collect();
    let mut once = positions.clone();
    once.dedup();
    assert_eq!(positions, once, "nothing comes twice");
    let of = |task: &str| {
        let updates = seen.iter().map(|e| &e["statusUpdate"]);
        updates.filter(|u| u["taskId"] == task).count()
    };
    assert!(of("meanwhile") > 0, "{seen:#?}");
    assert_eq!(of("meanwhile"), of("afterwards"), "{seen:#?}");
}

/// Accepted data survives a crash: the directory, the tasks, and mail for an offline agent.
#[test]
fn a_hub_that_was_killed_knows_what_it_knew() {
    let (system, broker) = System::durable_broker();
    let echo = system.start_echo("agent_echo");
    let done = [
        "publish",
        "--to",
        "agent_echo",
        "--task",
        "done",
        "--task-type",
        "echo",
        "--wait",
        "one",
    ];
    assert!(system.run(&done, "").stdout.contains("Echo: one"));
    drop(echo);
    let waiting = [
        "publish",
        "--to",
        "agent_echo",
        "--task",
        "waiting",
        "--task-type",
        "echo",
        "two",
    ];
    assert_eq!(system.run(&waiting, "").code, Some(0));
    broker.kill();

    let _broker = system.start_durable_broker();
    let agents = system.json(&["agents", "list", "--json"]);
    assert_eq!(agents.len(), 1, "{agents:?}");
    let task = |id: &str| system.json(&["tasks", "show", id, "--json"]).remove(0);
    assert_eq!(task("done")["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task("waiting")["status"]["state"], "TASK_STATE_SUBMITTED");
    let _echo = system.start_echo("agent_echo");
    eventually("the mail that waited is answered", || {
        (task("waiting")["status"]["state"] == "TASK_STATE_COMPLETED").then_some(())
    });
    let history = task("done")["history"].as_array().map(Vec::len);
    assert_eq!(history, Some(2), "what was handled is not handled again");
}

/// Work in progress when the hub dies is finished by its agent, and its requester gets the answer late.
#[test]
fn a_turn_outlives_a_hub_that_comes_back() {
    let (system, broker) = System::durable_broker();
    let echo = system.start_echo("agent_echo");
    let _cortex = system.start_cortex();
    echo.signal(nix::sys::signal::Signal::SIGSTOP);
    let mut chat = system.start(&["chat"]);
    chat.type_line("echo \"patience\"");
    eventually("the agent has the work", || {
        let tasks = system.json(&["tasks", "list", "--agent", "agent_echo", "--json"]);
        (!tasks.is_empty()).then_some(())
    });
    broker.kill();
    let _broker = system.start_durable_broker();
    echo.signal(nix::sys::signal::Signal::SIGCONT);
    let chat = chat.finish("");
    assert_eq!(chat.code, Some(0), "{chat:?}");
    assert_eq!(chat.stdout.matches("patience").count(), 1, "{chat:?}");
}

#[test]
fn a_data_folder_belongs_to_one_hub() {
    let (system, _broker) = System::durable_broker();
    let second = system.run(
        &["broker", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"],
        "",
    );
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(
        second.stderr.contains("in use by another hub"),
        "{second:?}"
    );
}

#[test]
fn a_cortex_that_comes_back_answers_again() {
    let (system, _broker) = System::broker();
    let _echo = system.start_echo("agent_echo");
    let cortex = system.start_cortex();
    cortex.kill();
    let _cortex = system.start_cortex();
    let chat = system.chat("echo back again\n");
    assert!(chat.stdout.contains("back again"), "{chat:?}");
}
