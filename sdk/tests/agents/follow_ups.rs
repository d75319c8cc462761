//! Messages of a task that come while a handler is at work on it.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use agenthub_sdk::{
    Agent, Card, Delegation, Failure, Reply, TaskContext,
    internal::follow_up,
    proto::{
        a2a::{Message, Role, TaskState},
        agenthub::AgentEventMetadata,
    },
};
use futures_util::poll;
use tokio::task::{consume_budget, yield_now};

use crate::harness::{eventually, hub, soon, url, user};

/// Hands in what was overheard; "listen twice" drops the first it gets, which comes again, and "listen interrupted" does so while it says that it
/// is done.
async fn listen(task: TaskContext, calls: Arc<AtomicU32>) -> Result<Reply, Failure> {
    calls.fetch_add(1, Ordering::SeqCst);
    if task.text() == "listen twice" {
        drop(follow_up(&task).await);
    }
    if task.text() == "listen interrupted" {
        let next = follow_up(&task).await;
        // Without budget, the task waits at its next step: here, in the midst of the acknowledgement.
        while poll!(pin!(consume_budget())).is_ready() {}
        let mut done = Box::pin(next.done());
        assert!(poll!(&mut done).is_pending());
        drop(done);
        yield_now().await;
    }
    if !task.text().starts_with("listen") {
        return Ok(Reply::text(format!("handled {}", task.text())));
    }
    task.publish_update("listening").await?;
    let next = follow_up(&task).await;
    let text = next.message().map(|message| message.text());
    next.done().await;
    Ok(Reply::text(format!("heard {}", text.unwrap_or_default())))
}

#[tokio::test]
async fn a_handler_at_work_may_take_the_next_message_of_its_task() {
    let hub = hub().await;
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let agent = Agent::worker(Card::new("a", "")).on_any(move |task| listen(task, counted.clone()));
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let client = user(&hub).await;
    for (first, count) in [
        ("listen", 1),
        ("listen twice", 2),
        ("listen interrupted", 3),
    ] {
        let pending = client.delegate(Delegation::to("a").text(first)).await;
        let pending = pending.expect("it is there");
        let id = pending.task_id().to_owned();
        eventually("the agent is at work", async || {
            calls.load(Ordering::SeqCst) == count
        })
        .await;
        let further = Message {
            task_id: id,
            ..Message::new(Role::User, "a whisper")
        };
        let published = client.publish(further, AgentEventMetadata::default()).await;
        published.expect("the task goes on");
        let outcome = soon(pending.outcome()).await.expect("an outcome");
        assert_eq!(outcome.state, TaskState::Completed);
        assert_eq!(outcome.text, "heard a whisper", "{first}");
    }
    // What was taken is not handled once more.
    let outcome = client.delegate(Delegation::to("a").text("hello")).await;
    let outcome = soon(outcome.expect("it is there").outcome()).await;
    assert_eq!(outcome.expect("an outcome").text, "handled hello");
    assert_eq!(calls.load(Ordering::SeqCst), 4);
}
