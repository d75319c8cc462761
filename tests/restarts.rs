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
