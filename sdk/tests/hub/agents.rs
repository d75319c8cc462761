//! Agents that ask agents.

use agenthub_sdk::{Agent, Delegation, Error, Failure, TaskContext, proto::a2a::TaskState};
use tokio::sync::mpsc;

use crate::harness::{Hub, card, soon};

#[tokio::test]
async fn agents_ask_each_other_in_one_context_with_one_handler_each() {
    let hub = Hub::start().await;
    let _a = Agent::worker(card("a"))
        .concurrency(1)
        .on_task_type(
            "begin",
            async |task: TaskContext| -> Result<String, Failure> {
                let outcome = task.ask("b", "from a").await?;
                Ok(format!("a({})", outcome.text))
            },
        )
        .on_task_type("help", async |task: TaskContext| {
            Ok(format!("help({})", task.text()))
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let _b = Agent::worker(card("b"))
        .concurrency(1)
        .on_task_type(
            "work",
            async |task: TaskContext| -> Result<String, Failure> {
                let delegation = Delegation::to("a").capability("help").text("from b");
                let outcome = task.delegate(delegation).await?.outcome().await?;
                Ok(format!("b({})", outcome.text))
            },
        )
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let delegation = Delegation::to("a")
        .capability("begin")
        .text("go")
        .context_id("c");
    for _ in 0..3 {
        let pending = client
            .delegate(delegation.clone())
            .await
            .expect("it is taken");
        let outcome = soon(pending.outcome()).await.expect("an outcome");
        assert_eq!(outcome.text, "a(b(help(from b)))");
    }
}

#[tokio::test]
async fn what_is_handed_on_inherits_from_its_task() {
    let hub = Hub::start().await;
    let (told, mut tells) = mpsc::channel(8);
    let _a = Agent::worker(card("a"))
        .on_task_type(
            "work",
            async |task: TaskContext| -> Result<String, Failure> {
                Ok(task.ask("b", "x").await?.text)
            },
        )
        .start(hub.url())
        .await
        .expect("it starts");
    let _b = Agent::worker(card("b"))
        .on_task_type("work", move |task: TaskContext| {
            let told = told.clone();
            async move {
                told.send(task).await?;
                Ok("y")
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let trace = agenthub_sdk::TraceContext::start();
    let delegation = Delegation::to("a")
        .text("go")
        .context_id("c")
        .task_id("parent")
        .trace(trace);
    let pending = client.delegate(delegation).await.expect("it is taken");
    assert_eq!(soon(pending.outcome()).await.expect("an outcome").text, "y");

    let child = soon(tells.recv()).await.expect("b was asked");
    assert_eq!((child.context_id(), child.sender()), ("c", "a"));
    assert_eq!(child.routing().parent_task_id, "parent");
    assert_eq!(child.routing().hops, 1);
    assert_eq!(child.trace().trace_id(), trace.trace_id());
    let parent_deadline = std::time::SystemTime::now() + Delegation::DEFAULT_TIMEOUT;
    assert!(child.deadline().is_some_and(|d| d <= parent_deadline));
}

#[tokio::test]
async fn a_circle_of_agents_ends() {
    let hub = Hub::start().await;
    let mut agents = Vec::new();
    for (me, other) in [("a", "b"), ("b", "a")] {
        let agent =
            Agent::worker(card(me)).on_task_type("work", move |task: TaskContext| async move {
                let outcome = task.ask(other, "your turn").await?;
                match outcome.is_completed() {
                    true => Ok(outcome.text),
                    false => Err(Failure::failed(outcome.error)),
                }
            });
        agents.push(agent.start(hub.url()).await.expect("it starts"));
    }
    let client = hub.client().await;
    let outcome = soon(client.ask("a", "go")).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Failed);
    assert!(outcome.error.contains("in a circle"), "{}", outcome.error);

    let too_far = client.delegate(Delegation::to("a").hops(17)).await;
    assert!(matches!(too_far, Err(Error::TooManyHops { .. })));
}

#[tokio::test]
async fn who_is_cancelled_cancels_what_he_asked_for() {
    let hub = Hub::start().await;
    let (told, mut tells) = mpsc::channel(8);
    let _a = Agent::worker(card("a"))
        .on_task_type(
            "work",
            async |task: TaskContext| -> Result<String, Failure> {
                Ok(task.ask("b", "x").await?.text)
            },
        )
        .start(hub.url())
        .await
        .expect("it starts");
    let _b = Agent::worker(card("b"))
        .on_task_type("work", move |task: TaskContext| {
            let told = told.clone();
            async move {
                told.send("at work").await?;
                task.cancelled().await;
                told.send("cancelled").await?;
                Ok(())
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client
        .delegate(Delegation::to("a").text("go"))
        .await
        .expect("it is taken");
    assert_eq!(soon(tells.recv()).await, Some("at work"));
    pending.cancel("enough").await.expect("it is cancelled");
    assert_eq!(soon(tells.recv()).await, Some("cancelled"));
}
