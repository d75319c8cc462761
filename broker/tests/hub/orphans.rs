//! Orphaned tasks: child tasks whose parent has ended.

use agenthub_proto::{
    a2a::TaskState,
    agenthub::{AgentEventMetadata, CancelTaskRequest},
};

use crate::{
    harness::{TestHub, routing, within, work},
    peer::{Peer, agent},
};

fn on_behalf(parent: &str, from: &str, to: &str) -> AgentEventMetadata {
    AgentEventMetadata {
        parent_task_id: parent.to_owned(),
        ..routing(from, to)
    }
}

/// An agent that works on a task.
async fn at_work(hub: &TestHub, name: &str, task: &str, routing: AgentEventMetadata) -> Peer {
    let mut peer = hub.connect(agent(name, "i", 9)).await;
    hub.publish(work(task, "go"), routing).await;
    assert_eq!(peer.word().await, "message go");
    peer.report(task, TaskState::Working).await;
    peer
}

#[tokio::test]
async fn what_an_agent_that_is_gone_has_asked_for_is_called_back_down_to_the_leaves() {
    let hub = TestHub::start().await;
    let lead = at_work(&hub, "lead", "t", routing("asker", "lead")).await;
    let mut worker = at_work(&hub, "worker", "child", on_behalf("t", "lead", "worker")).await;
    let below = on_behalf("child", "worker", "deep");
    let mut deep = at_work(&hub, "deep", "grandchild", below).await;
    lead.say_goodbye().await;
    let request = CancelTaskRequest {
        task_id: "t".into(),
        reason: "it is away".into(),
    };
    within(hub.client.clone().cancel_task(request))
        .await
        .expect("it is open");
    for (peer, task) in [(&mut worker, "child"), (&mut deep, "grandchild")] {
        assert_eq!(peer.cancel().await.task_id, task);
        peer.report(task, TaskState::Cancelled).await;
        hub.until_state(task, TaskState::Cancelled).await;
    }
}

#[tokio::test]
async fn what_a_task_that_failed_has_left_open_is_called_back_and_nothing_else() {
    let hub = TestHub::start().await;
    let mut lead = at_work(&hub, "lead", "t", routing("asker", "lead")).await;
    for (task, routing) in [
        ("of another", on_behalf("t", "stranger", "worker")),
        ("waits", on_behalf("t", "lead", "worker")),
        ("alone", routing("lead", "worker")),
    ] {
        hub.publish(work(task, "go"), routing).await;
    }
    let mut worker = at_work(
        &hub,
        "worker 2",
        "works",
        on_behalf("t", "lead", "worker 2"),
    )
    .await;
    lead.report("t", TaskState::Failed).await;
    assert_eq!(worker.cancel().await.task_id, "works");
    worker.report("works", TaskState::Cancelled).await;
    let left = hub.until_state("waits", TaskState::Cancelled).await;
    let said = left.status.expect("it has one").text();
    assert!(
        said.contains("failed") && said.contains("on whose behalf"),
        "{said}"
    );
    hub.until_state("works", TaskState::Cancelled).await;
    for open in ["of another", "alone"] {
        assert_eq!(hub.task(open).await.state(), TaskState::Submitted, "{open}");
    }
}

/// A completed task may leave its children in progress.
#[tokio::test]
async fn what_a_task_that_completed_has_left_open_goes_on() {
    let hub = TestHub::start().await;
    let mut lead = at_work(&hub, "lead", "t", routing("asker", "lead")).await;
    let mut worker = at_work(&hub, "worker", "child", on_behalf("t", "lead", "worker")).await;
    lead.report("t", TaskState::Completed).await;
    // The children of a task that ends later would have been cancelled after it.
    let mut other = at_work(&hub, "other", "o", routing("asker", "other")).await;
    let behind = on_behalf("o", "other", "nobody");
    hub.publish(work("behind", "go"), behind).await;
    other.report("o", TaskState::Failed).await;
    hub.until_state("behind", TaskState::Cancelled).await;
    assert_eq!(hub.task("child").await.state(), TaskState::Working);
    worker.report("child", TaskState::Completed).await;
    hub.until_state("child", TaskState::Completed).await;
}
