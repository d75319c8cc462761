//! Tasks that are to end before they are done.

use std::time::Duration;

use agenthub_sdk::{Agent, Delegation, Error, TaskContext, Update, proto::a2a::TaskState};
use tokio::sync::mpsc;

use crate::harness::{Hub, card, soon};

#[tokio::test]
async fn a_cancellation_reaches_the_handler() {
    let hub = Hub::start().await;
    let (told, mut tells) = mpsc::channel(8);
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", move |task: TaskContext| {
            let told = told.clone();
            async move {
                told.send(Ok(())).await?;
                task.cancelled().await;
                told.send(task.publish_update("too late").await).await?;
                Ok("too late")
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let mut pending = client
        .delegate(Delegation::to("a").text("go"))
        .await
        .expect("it is taken");
    soon(tells.recv()).await;
    pending
        .cancel("changed my mind")
        .await
        .expect("it is cancelled");
    let late = soon(tells.recv()).await.expect("the handler tells");
    assert_eq!(late, Err(Error::Cancelled("changed my mind".into())));
    let mut updates = pending.updates();
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Cancelled);
    while let Some(update) = soon(updates.next()).await {
        if let Update::Status(update) = update {
            assert_ne!(update.status.map(|s| s.text()), Some("too late".into()));
        }
    }
    // Fine a second time.
    let again = client.cancel_task(&outcome.task_id, "again").await;
    assert!(matches!(again, Err(Error::Conflict(_))), "{again:?}");
}

#[tokio::test]
async fn a_deadline_ends_the_task_and_its_handler() {
    let hub = Hub::start().await;
    let (told, mut tells) = mpsc::channel(8);
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", move |task: TaskContext| {
            let told = told.clone();
            async move {
                task.cancelled().await;
                told.send(task.deadline()).await?;
                Ok(())
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let delegation = Delegation::to("a")
        .text("go")
        .timeout(Duration::from_millis(300));
    let pending = client.delegate(delegation).await.expect("it is taken");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Failed);
    assert!(soon(tells.recv()).await.flatten().is_some());
}
