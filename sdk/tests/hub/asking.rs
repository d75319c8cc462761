//! Handlers that ask their requesters in the middle of their work.

use std::{
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agenthub_sdk::{
    Agent, AgentBuilder, Client, Delegation, Error, Failure, Outcome, Reply, TaskContext,
    proto::{a2a::TaskState, agenthub::ListMailboxesRequest},
};
use tokio::{process::Command, time::Instant};

use crate::harness::{Hub, card, eventually, soon};

const HUB: &str = "SDK_TEST_ASKING_HUB";

/// An agent that paints what two questions lead to, and counts the calls of its handler.
fn painter(calls: &Arc<AtomicUsize>) -> AgentBuilder {
    let calls = Arc::clone(calls);
    Agent::worker(card("painter"))
        .on_task_type("other", async |task: TaskContext| task.text())
        .on_task_type("paint", move |task: TaskContext| {
            calls.fetch_add(1, Ordering::SeqCst);
            async move {
                let what = task.text();
                let colour = task.ask_requester("Which colour?").await?.text();
                let size = task.ask_requester("Which size?").await?.text();
                Ok::<_, Failure>(Reply::text(format!("a {size} {colour} {what}")))
            }
        })
}

async fn asked(client: &Client, delegation: Delegation) -> Outcome {
    let pending = client.delegate(delegation).await.expect("it is taken");
    soon(pending.outcome()).await.expect("an outcome")
}

fn cat() -> Delegation {
    Delegation::to("painter").capability("paint").text("cat")
}

fn answer(text: &str, asked: &Outcome) -> Delegation {
    Delegation::to("painter")
        .text(text)
        .task_id(asked.task_id.clone())
}

fn check(outcome: &Outcome, state: TaskState, text: &str) {
    let said = outcome.message.as_ref().map(|m| m.text());
    assert_eq!(
        (outcome.state, said.as_deref()),
        (state, Some(text)),
        "{outcome:?}"
    );
}

/// spec: A2A 1.0.1 §3.4.3
#[tokio::test]
async fn a_handler_asks_and_goes_on_with_the_answer() {
    let hub = Hub::start().await;
    let calls = Arc::default();
    // A question takes none of the agent's places.
    let agent = painter(&calls).concurrency(1).start(hub.url()).await;
    let _agent = agent.expect("it starts");
    let client = hub.client().await;
    let first = asked(&client, cat()).await;
    check(&first, TaskState::InputRequired, "Which colour?");
    let others = (0..3).map(|_| Delegation::to("painter").capability("other").text("hi"));
    for other in others {
        assert_eq!(asked(&client, other).await.text, "hi");
    }
    let second = asked(&client, answer("blue", &first)).await;
    check(&second, TaskState::InputRequired, "Which size?");
    let done = asked(&client, answer("large", &first)).await;
    check(&done, TaskState::Completed, "a large blue cat");
    assert_eq!(calls.load(Ordering::SeqCst), 1, "it went on");
    for _ in 0..3 {
        let other = Delegation::to("painter").capability("other").text("ho");
        assert_eq!(asked(&client, other).await.text, "ho", "no place is lost");
    }
    let mail = ListMailboxesRequest {
        agent_id: "painter".into(),
        ..Default::default()
    };
    eventually("all is acknowledged", || async {
        let mail = client.operator().mailboxes(mail.clone()).await;
        let mail = mail.expect("the hub answers").mailboxes;
        mail.iter().all(|m| m.waiting == 0 && m.leased == 0)
    })
    .await;
}

/// The agent of the test below, in processes of its own.
#[tokio::test]
#[ignore = "it is a part of another test"]
async fn the_painter_in_a_process() {
    let hub = std::env::var(HUB).expect("the test says where its hub is");
    let calls = Arc::default();
    painter(&calls).run(hub).await.expect("it ends well");
}

#[tokio::test]
async fn a_question_and_its_answer_outlive_an_agent_that_is_killed() {
    let hub = Hub::start().await;
    let start = || {
        let this_program = std::env::current_exe().expect("it has a path");
        Command::new(this_program)
            .args(["--exact", "asking::the_painter_in_a_process", "--ignored"])
            .env(HUB, hub.url())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts")
    };
    let client = hub.client().await;
    let mut agent = start();
    let first = asked(&client, cat()).await;
    check(&first, TaskState::InputRequired, "Which colour?");
    soon(agent.kill()).await.expect("it runs");
    // More often than a message is delivered that nobody acknowledges.
    for _ in 0..6 {
        agent = start();
        eventually("the agent is there", || async {
            let entry = client.agent("painter").await.expect("it is known");
            entry.instances.len() == 1
        })
        .await;
        soon(agent.kill()).await.expect("it runs");
    }
    let pending = client.delegate(answer("blue", &first)).await;
    let pending = pending.expect("the answer waits for the agent");
    agent = start();
    let second = soon(pending.outcome()).await.expect("an outcome");
    check(&second, TaskState::InputRequired, "Which size?");
    soon(agent.kill()).await.expect("it runs");
    let _agent = start();
    let done = asked(&client, answer("large", &first)).await;
    check(&done, TaskState::Completed, "a large blue cat");
    let task = client.task(&first.task_id, 0).await.expect("it is kept");
    let said: Vec<String> = task.history.iter().map(|m| m.text()).collect();
    assert_eq!(
        said,
        [
            "cat",
            "Which colour?",
            "blue",
            "Which size?",
            "large",
            "a large blue cat"
        ],
        "every question was asked once"
    );
}

#[tokio::test]
async fn an_agent_that_stops_waits_for_no_answer() {
    let hub = Hub::start().await;
    let calls = Arc::default();
    let agent = painter(&calls).start(hub.url()).await.expect("it starts");
    let client = hub.client().await;
    let first = asked(&client, cat()).await;
    let began = Instant::now();
    agent.stop().await;
    assert!(began.elapsed() < Duration::from_secs(5), "it waited");
    let _agent = painter(&calls).start(hub.url()).await.expect("it starts");
    let second = asked(&client, answer("red", &first)).await;
    check(&second, TaskState::InputRequired, "Which size?");
    assert_eq!(calls.load(Ordering::SeqCst), 2, "it was called again");
}

/// The answer may come to another instance than the one that asked.
#[tokio::test]
async fn another_instance_goes_on_with_the_answer() {
    let hub = Hub::start().await;
    let (one, two) = (Arc::default(), Arc::default());
    let asking = painter(&one).start(hub.url()).await.expect("it starts");
    let client = hub.client().await;
    let first = asked(&client, cat()).await;
    let _other = painter(&two).start(hub.url()).await.expect("it starts");
    drop(asking);
    let second = asked(&client, answer("red", &first)).await;
    check(&second, TaskState::InputRequired, "Which size?");
    let done = asked(&client, answer("small", &first)).await;
    check(&done, TaskState::Completed, "a small red cat");
    assert_eq!(two.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_task_that_is_cancelled_while_it_waits_stops_its_handler() {
    let hub = Hub::start().await;
    let (told, mut stopped) = tokio::sync::mpsc::channel(1);
    let agent = Agent::worker(card("painter"))
        .on_task_type("paint", move |task: TaskContext| {
            let told = told.clone();
            async move {
                let refused = task.ask_requester("Which colour?").await;
                told.send(matches!(refused, Err(Error::Cancelled(_))))
                    .await?;
                Ok(())
            }
        })
        .start(hub.url())
        .await;
    let _agent = agent.expect("it starts");
    let client = hub.client().await;
    let first = asked(&client, cat()).await;
    let cancelled = client.cancel_task(&first.task_id, "enough").await;
    assert!(cancelled.is_ok_and(|task| task.state() == TaskState::Cancelled));
    assert_eq!(soon(stopped.recv()).await, Some(true));
}

/// spec: A2A 1.0.1 §7.6.1
#[tokio::test]
async fn a_handler_asks_for_authorization() {
    let hub = Hub::start().await;
    let agent = Agent::worker(card("painter"))
        .on_task_type("paint", async |task: TaskContext| {
            let where_to = "Sign in at https://shop.example";
            task.ask_auth(where_to).await?;
            Ok::<_, Failure>("bought")
        })
        .start(hub.url())
        .await;
    let _agent = agent.expect("it starts");
    let client = hub.client().await;
    let first = asked(&client, cat()).await;
    let explanation = "Sign in at https://shop.example";
    check(&first, TaskState::AuthRequired, explanation);
    let done = asked(&client, answer("done", &first)).await;
    check(&done, TaskState::Completed, "bought");
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused() {
    let hub = Hub::start().await;
    let agent = Agent::worker(card("painter"))
        .on_task_type("paint", async |task: TaskContext| {
            let (one, two) = tokio::join!(task.ask_requester("One?"), async {
                task.ask_requester("Two?").await
            });
            let refused = two.map(|_| ()).expect_err("one at a time");
            Ok::<_, Failure>(format!("{}; {refused}", one?.text()))
        })
        .start(hub.url())
        .await;
    let _agent = agent.expect("it starts");
    let client = hub.client().await;
    let first = asked(&client, cat()).await;
    check(&first, TaskState::InputRequired, "One?");
    let done = asked(&client, answer("yes", &first)).await;
    assert!(
        done.text.starts_with("yes; invalid: another question"),
        "{done:?}"
    );
}
