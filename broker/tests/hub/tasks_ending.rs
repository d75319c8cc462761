//! Ends of tasks: deadlines, cancellation, agents that leave, and late updates.

use std::time::{Duration, SystemTime};

use agenthub_broker::Settings;
use agenthub_proto::{
    a2a::{Message, TaskState},
    agenthub::{AgentEventMetadata, CancelTaskRequest, UnregisterAgentRequest},
    event::timestamp,
};

use crate::{
    harness::{TestHub, card, routing, until, within, work},
    peer::{agent, durable, hello},
};

fn due_in(delay: Duration, from: &str, to: &str) -> AgentEventMetadata {
    AgentEventMetadata {
        deadline: Some(timestamp(SystemTime::now() + delay)),
        ..routing(from, to)
    }
}

#[tokio::test]
async fn a_task_that_misses_its_deadline_fails_and_both_parties_are_told() {
    let hub = TestHub::start().await;
    let mut asker = hub.agent_events("asker", &["status_update"]).await;
    let mut worker = hub.connect(agent("worker", "i", 9)).await;
    hub.publish(
        work("t", "go"),
        due_in(Duration::from_millis(200), "asker", "worker"),
    )
    .await;
    assert_eq!(asker.word().await, "status failed t");
    let cancel = worker.cancel().await;
    assert_eq!(cancel.task_id, "t");
    assert!(cancel.reason.contains("deadline"), "{}", cancel.reason);
    let task = hub.task("t").await;
    let said = task.status.expect("it has one").text();
    assert!(said.contains("deadline"), "{said}");

    let late = hub
        .try_publish(work("t2", "go"), due_in(Duration::ZERO, "asker", "worker"))
        .await;
    assert_eq!(
        late.expect_err("refused").code(),
        tonic::Code::FailedPrecondition
    );
}

#[tokio::test]
async fn a_task_that_ends_in_time_does_not_fail_later() {
    let hub = TestHub::start().await;
    let both = due_in(Duration::from_secs(1), "asker", "worker");
    hub.publish(work("done", "go"), both.clone()).await;
    hub.report("worker", "done", TaskState::Completed).await;
    hub.publish(work("late", "go"), both).await;
    hub.until_state("late", TaskState::Failed).await;
    assert_eq!(hub.task("done").await.state(), TaskState::Completed);
}

/// Older agents send their artifacts after the terminal status.
#[tokio::test]
async fn artifacts_are_taken_for_a_while_after_the_end() {
    let hub = TestHub::with(Settings {
        late_artifacts: Duration::from_secs(1),
        ..Settings::default()
    })
    .await;
    let mut asker = hub.agent_events("asker", &["artifact"]).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    hub.report("worker", "t", TaskState::Completed).await;
    hub.try_artifact("worker", "t").await.expect("still taken");
    assert_eq!(asker.word().await, "artifact t");
    let refused = until("artifacts are refused", async || {
        hub.try_artifact("worker", "t").await.err()
    })
    .await;
    assert_eq!(refused.code(), tonic::Code::FailedPrecondition);
    assert_eq!(hub.task("t").await.artifacts.len(), 1);
}

#[tokio::test]
async fn cancelling_reaches_the_one_at_work_and_the_one_who_asked() {
    let hub = TestHub::start().await;
    let mut asker = hub.agent_events("asker", &["status_update"]).await;
    let mut worker = hub.connect(agent("worker", "i", 9)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    assert_eq!(worker.word().await, "message go");
    worker.report("t", TaskState::Working).await;
    assert_eq!(asker.word().await, "status working t");
    let request = CancelTaskRequest {
        task_id: "t".into(),
        reason: "changed my mind".into(),
    };
    let mut client = hub.client.clone();
    let worker_stops = async {
        let cancel = worker.cancel().await;
        assert_eq!(
            (&*cancel.task_id, &*cancel.reason),
            ("t", "changed my mind")
        );
        assert_eq!(hub.task("t").await.state(), TaskState::Working);
        worker.report("t", TaskState::Cancelled).await;
    };
    let (answer, ()) = tokio::join!(within(client.cancel_task(request)), worker_stops);
    let task = answer.expect("cancelled").into_inner();
    assert_eq!(task.state(), TaskState::Cancelled);
    assert_eq!(asker.word().await, "status cancelled t");
    let result = worker.report("t", TaskState::Completed).await;
    assert_eq!(result.code, tonic::Code::FailedPrecondition as i32);
}

/// spec: design 8
#[tokio::test]
async fn an_agent_that_does_not_confirm_does_not_keep_a_task_from_being_cancelled() {
    let settings = Settings {
        cancel_grace: Duration::from_millis(200),
        ..Settings::default()
    };
    let hub = TestHub::with(settings).await;
    let mut worker = hub.connect(agent("worker", "i", 9)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    assert_eq!(worker.word().await, "message go");
    worker.report("t", TaskState::Working).await;
    let request = CancelTaskRequest {
        task_id: "t".into(),
        reason: "changed my mind".into(),
    };
    let answer = within(hub.client.clone().cancel_task(request)).await;
    let task = answer.expect("cancelled").into_inner();
    assert_eq!(task.state(), TaskState::Cancelled);
    assert_eq!(worker.cancel().await.reason, "changed my mind");
    let late = worker.report("t", TaskState::Completed).await;
    assert_eq!(late.code, tonic::Code::FailedPrecondition as i32);
}

/// A result that was ready before the agent heard of the cancellation is kept.
#[tokio::test]
async fn an_agent_may_end_a_task_otherwise_while_it_is_cancelled() {
    let hub = TestHub::start().await;
    let mut worker = hub.connect(agent("worker", "i", 9)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    assert_eq!(worker.word().await, "message go");
    worker.report("t", TaskState::Working).await;
    let mut client = hub.client.clone();
    let request = CancelTaskRequest {
        task_id: "t".into(),
        ..Default::default()
    };
    let worker_ends = async {
        worker.cancel().await;
        worker.report("t", TaskState::Completed).await;
    };
    let (answer, ()) = tokio::join!(within(client.cancel_task(request)), worker_ends);
    let task = answer.expect("it has ended").into_inner();
    assert_eq!(task.state(), TaskState::Completed);
}

/// The requester may also cancel with its own status, as older clients do.
#[tokio::test]
async fn the_requesters_cancelling_status_stops_the_work() {
    let hub = TestHub::start().await;
    let mut worker = hub.connect(agent("worker", "i", 9)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    hub.report("asker", "t", TaskState::Cancelled).await;
    assert_eq!(worker.cancel().await.task_id, "t");
}

/// spec: HUB-8
#[tokio::test]
async fn unregistering_fails_the_open_tasks_and_ends_the_streams() {
    let hub = TestHub::start().await;
    let mut asker = hub.agent_events("asker", &["status_update"]).await;
    let mut worker = hub
        .connect(agenthub_proto::agenthub::Hello {
            subscription: vec![durable("work", 9), crate::peer::of_instance("own", 9)],
            ..agent("worker", "i", 9)
        })
        .await;
    let mut older = hub.messages("worker").await;
    hub.publish(work("open", "go"), routing("asker", "worker"))
        .await;
    hub.publish(work("done", "go"), routing("asker", "worker"))
        .await;
    hub.report("worker", "done", TaskState::Completed).await;
    assert_eq!(asker.word().await, "status completed done");
    let request = UnregisterAgentRequest {
        agent_id: "worker".into(),
        reason: "retired".into(),
    };
    within(hub.client.clone().unregister_agent(request))
        .await
        .expect("removed");
    assert_eq!(asker.word().await, "status failed open");
    let said = hub.task("open").await.status.expect("it has one").text();
    assert!(said.contains("retired"), "{said}");
    assert_eq!(hub.task("done").await.state(), TaskState::Completed);
    assert!(worker.until_ended().await.is_ok());
    assert!(!worker.goodbye.expect("said").reconnect);
    let ended = older.end().await.expect("with a status");
    assert_eq!(ended.code(), tonic::Code::Aborted);
    // Only the asker's subscription is left.
    until("its mailboxes are gone", async || {
        let metrics = agenthub_broker::http_router(hub.server.hub().clone());
        crate::operations::gauge(metrics, "agenthub_mailboxes")
            .await
            .filter(|n| *n == 1)
    })
    .await;
}

#[tokio::test]
async fn mail_for_an_id_never_seen_fails_its_task_after_the_wait() {
    let hub = TestHub::with(Settings {
        unknown_recipient: Duration::from_millis(150),
        ..Settings::default()
    })
    .await;
    let mut asker = hub.agent_events("asker", &["status_update"]).await;
    hub.register(card("known"), &[]).await;
    hub.publish(work("waits", "go"), routing("asker", "known"))
        .await;
    hub.publish(work("t", "go"), routing("asker", "nobody"))
        .await;
    assert_eq!(asker.word().await, "status failed t");
    let said = hub.task("t").await.status.expect("it has one").text();
    assert!(said.contains("nobody"), "{said}");
    assert_eq!(hub.task("waits").await.state(), TaskState::Submitted);
}

/// Undelivered mail to a third agent does not affect the task.
#[tokio::test]
async fn a_strangers_undelivered_mail_leaves_the_task_alone() {
    let hub = TestHub::with(Settings {
        unknown_recipient: Duration::from_millis(100),
        ..Settings::default()
    })
    .await;
    let _worker = hub.messages("worker").await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    hub.publish(work("t", "look at this"), routing("stranger", "nobody"))
        .await;
    hub.publish(work("mark", "go"), routing("asker", "nobody either"))
        .await;
    hub.until_state("mark", TaskState::Failed).await;
    assert_eq!(hub.task("t").await.state(), TaskState::Submitted);
}

#[tokio::test]
async fn a_task_that_cannot_be_handled_fails_after_so_many_tries() {
    let hub = TestHub::with(Settings {
        max_attempts: 2,
        ..Settings::default()
    })
    .await;
    let mut asker = hub.agent_events("asker", &["status_update"]).await;
    let mut worker = hub.connect(agent("worker", "i", 9)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    for attempt in 1..=2 {
        let (note, event) = loop {
            let (note, event) = worker.delivery().await;
            if crate::harness::word(&event) == "message go" {
                break (note, event);
            }
        };
        assert_eq!(note.attempt, attempt, "{event:?}");
        worker.refuse(&note, Duration::ZERO).await;
    }
    assert_eq!(asker.word().await, "status failed t");
    let said = hub.task("t").await.status.expect("it has one").text();
    assert!(said.contains("2 deliveries: not now"), "{said}");
}

#[tokio::test]
async fn work_on_a_task_that_has_ended_is_never_delivered() {
    let hub = TestHub::start().await;
    hub.register(card("worker"), &[]).await;
    for task in ["dead", "live"] {
        hub.publish(work(task, task), routing("asker", "worker"))
            .await;
    }
    let request = CancelTaskRequest {
        task_id: "dead".into(),
        ..Default::default()
    };
    within(hub.client.clone().cancel_task(request))
        .await
        .expect("cancelled");
    let mut messages = hub.messages("worker").await;
    assert_eq!(messages.text().await, "live");

    // Nor is it redelivered to an agent that had it before.
    let hub = TestHub::start().await;
    let mut worker = hub
        .connect(hello("worker", "i", vec![durable("work", 9)]))
        .await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    let (note, _) = worker.delivery().await;
    worker.report("t", TaskState::Completed).await;
    worker.refuse(&note, Duration::ZERO).await;
    assert_eq!(worker.words_so_far().await, ["task submitted t 1"]);
}

/// Older agents send their answer after the terminal status.
#[tokio::test]
async fn late_messages_of_the_assignee_join_the_history() {
    let hub = TestHub::start().await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    hub.report("worker", "t", TaskState::Completed).await;
    let late = Message {
        role: agenthub_proto::a2a::Role::Agent.into(),
        ..work("t", "by the way")
    };
    hub.publish(late, routing("worker", "")).await;
    let task = hub.task("t").await;
    assert_eq!(
        (task.history.len(), task.state()),
        (2, TaskState::Completed)
    );
}
