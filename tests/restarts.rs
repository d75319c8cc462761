//! Every process may die at any time; the others come back to what is there again by themselves.

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
    let chat = system.chat("echo after\n");
    assert_eq!(chat.code, Some(0), "{chat:?}");
    assert!(chat.stdout.contains("after"), "{chat:?}");
}

/// The hub dies under a chat with work in hand: the user is told, and the same chat goes on with the next hub.
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

/// What was accepted is there after a crash: the directory, the tasks, and mail for an agent that was away.
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

/// Work in hand when the hub dies is finished by the agent that had it, and its requester gets the answer late.
#[test]
fn a_turn_outlives_a_hub_that_comes_back() {
    let (system, broker) = System::durable_broker();
    let echo = system.start_echo("agent_echo");
    let _cortex = system.start_cortex();
    echo.signal(nix::sys::signal::Signal::SIGSTOP);
    let mut chat = system.start(&["chat"]);
    chat.type_line("echo patience");
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
