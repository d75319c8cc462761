//! An agent that is a process of its own.

use std::{process::Stdio, sync::Arc, time::Duration};

use agenthub_sdk::{Agent, Delegation, Failure, TaskContext};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    process::Command,
    sync::{Semaphore, mpsc},
    time::timeout,
};

use crate::harness::{Hub, card, soon};

const HUB: &str = "SDK_TEST_HUB";

/// The agent of the test below, which runs in a process of its own.
#[tokio::test]
#[ignore = "it is a part of another test"]
async fn the_agent_that_is_signalled() {
    let hub = std::env::var(HUB).expect("the test says where its hub is");
    Agent::worker(card("a"))
        .on_task_type(
            "work",
            async |task: TaskContext| -> Result<String, Failure> {
                Ok(format!(
                    "gate said {}",
                    task.ask("gate", "may I?").await?.text
                ))
            },
        )
        .run(hub)
        .await
        .expect("it ends well");
}

/// spec: HUB-8
#[tokio::test]
async fn on_sigterm_an_agent_ends_what_it_has_in_hand_and_says_goodbye() {
    let hub = Hub::start().await;
    let open = Arc::new(Semaphore::new(0));
    let (asked, mut asks) = mpsc::channel(1);
    let held = open.clone();
    let _gate = Agent::worker(card("gate"))
        .on_task_type("work", move |_: TaskContext| {
            let (open, asked) = (held.clone(), asked.clone());
            async move {
                asked.send(()).await?;
                open.acquire().await?.forget();
                Ok("go on")
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let this_program = std::env::current_exe().expect("it has a path");
    let process = Command::new(this_program)
        .args([
            "--exact",
            "signals::the_agent_that_is_signalled",
            "--ignored",
        ])
        .env(HUB, hub.url())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let mut process = process.expect("it starts");
    let id = process.id().and_then(|id| i32::try_from(id).ok());
    let id = Pid::from_raw(id.expect("it runs"));

    let client = hub.client().await;
    // The mail waits for the agent.
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    soon(asks.recv()).await;
    kill(id, Signal::SIGTERM).expect("it runs");
    // While its handler is at work it stays.
    let early = timeout(Duration::from_millis(300), process.wait()).await;
    assert!(early.is_err(), "{early:?}");
    open.add_permits(1);

    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "gate said go on");
    let end = soon(process.wait()).await.expect("it has ended");
    assert!(end.success(), "{end}");
    let entry = client.agent("a").await.expect("it is registered");
    assert!(entry.instances.is_empty(), "it has said goodbye");
}
