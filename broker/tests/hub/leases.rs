//! Leases when instances come and go.

use std::time::Duration;

use agenthub_broker::{Settings, Storage};
use agenthub_proto::{
    a2a::TaskState,
    agenthub::{Ack, AgentEvent, AgentFrame, Delivery, Publish, publish},
};
use tonic::Code;

use crate::{
    harness::{TestHub, artifact, routing, status, word, work},
    peer::{Peer, agent},
};

/// The next message, skipping task events.
pub(crate) async fn message(peer: &mut Peer) -> (Delivery, AgentEvent) {
    loop {
        let (note, event) = peer.delivery().await;
        if word(&event).starts_with("message") {
            return (note, event);
        }
        peer.acknowledge(&note).await;
    }
}

fn aborted() -> i32 {
    Code::Aborted.into()
}

/// promise 5
#[tokio::test]
async fn the_results_of_an_instance_that_lost_its_lease_are_refused() {
    let hub = TestHub::with(Settings {
        ack_deadline: Duration::from_millis(300),
        ..Settings::default()
    })
    .await;
    // Credit for the message and for the task event, and no more.
    let mut slow = hub.connect(agent("worker", "slow", 2)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    let (old, _) = message(&mut slow).await;
    let accepted = slow.report("t", TaskState::Working).await;
    assert_eq!(accepted.code, 0, "{}", accepted.error);

    let mut quick = hub.connect(agent("worker", "quick", 99)).await;
    let (note, _) = slow.beat_while(message(&mut quick)).await;
    assert!(note.attempt > 1);
    let refused = slow.report("t", TaskState::Completed).await;
    assert_eq!(refused.code, aborted(), "{}", refused.error);
    assert!(refused.error.contains("superseded"), "{}", refused.error);
    let payload = publish::Payload::ArtifactUpdate(artifact("t", "late"));
    slow.publish_only(payload, routing("", "")).await;
    assert_eq!(slow.result().await.code, aborted());
    // Nor does its acknowledgement end the other's lease.
    slow.acknowledge(&old).await;
    slow.settle().await;

    let accepted = quick.report("t", TaskState::Completed).await;
    assert_eq!(accepted.code, 0, "{}", accepted.error);
    let task = hub.task("t").await;
    assert_eq!(task.state(), TaskState::Completed);
    assert!(task.artifacts.is_empty(), "{:?}", task.artifacts);
}

/// promise 5
#[tokio::test]
async fn a_claim_that_comes_too_late_is_superseded() {
    let hub = TestHub::with(Settings {
        presence_lease: Duration::from_secs(1),
        ..Settings::default()
    })
    .await;
    let mut first = hub.connect(agent("worker", "first", 9)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    let (note, _) = message(&mut first).await;
    drop(first);
    let mut second = hub.connect(agent("worker", "second", 9)).await;
    second.beat_until_delivered().await;
    let (again, _) = message(&mut second).await;
    assert_eq!(again.attempt, 2);
    let mut first = hub.reconnect(agent("worker", "first", 9), &[&note]).await;
    let refused = first.report("t", TaskState::Completed).await;
    assert_eq!(refused.code, aborted(), "{}", refused.error);
    let accepted = second.report("t", TaskState::Completed).await;
    assert_eq!(accepted.code, 0, "{}", accepted.error);
}

/// promise 5
#[tokio::test]
async fn an_instance_that_gets_its_task_again_may_report_again() {
    let hub = TestHub::start().await;
    let mut a = hub.connect(agent("worker", "a", 9)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    let (note, _) = message(&mut a).await;
    let mut b = hub.connect(agent("worker", "b", 0)).await;
    a.say_goodbye().await;
    b.give_credit(0, 9).await;
    let (again, _) = message(&mut b).await;
    assert_eq!((&again.position, again.attempt), (&note.position, 2));
    let mut a = hub.connect(agent("worker", "a", 0)).await;
    assert_eq!(a.report("t", TaskState::Working).await.code, aborted());
    b.say_goodbye().await;
    a.give_credit(0, 9).await;
    message(&mut a).await;
    let accepted = a.report("t", TaskState::Completed).await;
    assert_eq!(accepted.code, 0, "{}", accepted.error);
}

/// promise 5
#[tokio::test]
async fn late_artifacts_are_taken_of_the_instance_that_ended_the_task() {
    let hub = TestHub::start().await;
    let mut quick = hub.connect(agent("worker", "quick", 9)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    message(&mut quick).await;
    let ended = quick.report("t", TaskState::Completed).await;
    assert_eq!(ended.code, 0, "{}", ended.error);
    // It had the task before a crash, which the hub's log does not know.
    let mut slow = hub.connect(agent("worker", "slow", 9)).await;
    let late = |text| publish::Payload::ArtifactUpdate(artifact("t", text));
    slow.publish_only(late("of slow"), routing("", "")).await;
    let refused = slow.result().await;
    assert_eq!(refused.code, aborted(), "{}", refused.error);
    assert!(refused.error.contains("superseded"), "{}", refused.error);
    quick.publish_only(late("of quick"), routing("", "")).await;
    let accepted = quick.result().await;
    assert_eq!(accepted.code, 0, "{}", accepted.error);
    let artifacts = hub.task("t").await.artifacts;
    assert_eq!(artifacts.len(), 1);
    assert_eq!(artifacts[0].parts[0].as_text(), Some("of quick"));
}

/// promise 4
#[tokio::test]
async fn a_message_that_made_a_task_is_known_as_long_as_the_task() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = || Settings {
        storage: Storage::Folder(folder.path().to_owned()),
        dedupe_window: Duration::ZERO,
        ..Settings::default()
    };
    let hub = TestHub::with(settings()).await;
    let making = work("t", "go");
    let first = hub
        .publish(making.clone(), routing("asker", "worker"))
        .await;
    let again = hub
        .publish(making.clone(), routing("asker", "worker"))
        .await;
    assert_eq!(again, first);
    hub.report("worker", "t", TaskState::Completed).await;
    hub.server.shutdown().await;

    let hub = TestHub::with(settings()).await;
    let again = hub
        .publish(making.clone(), routing("asker", "worker"))
        .await;
    assert_eq!(again, first, "also when it has ended, after a restart");
    assert_eq!(hub.task("t").await.history.len(), 1);
    let mut asker = hub
        .connect(crate::peer::hello("asker", "i", Vec::new()))
        .await;
    let other = agenthub_proto::a2a::Message {
        message_id: making.message_id,
        ..work("t", "something else")
    };
    let refused = asker.publish(other, routing("", "worker")).await;
    assert_eq!(
        refused.code,
        i32::from(Code::AlreadyExists),
        "{}",
        refused.error
    );
}

/// Several deliveries are settled in one frame, each by its own publishes. promise 2
#[tokio::test]
async fn an_acknowledgement_of_a_publish_depends_on_what_settles_it_alone() {
    let hub = TestHub::start().await;
    let mut peer = hub.connect(agent("worker", "i", 99)).await;
    let mut notes = Vec::new();
    for task in ["a", "b", "c"] {
        hub.publish(work(task, task), routing("asker", "worker"))
            .await;
        notes.push(message(&mut peer).await.0);
    }
    let publish = |sequence, task, state| Publish {
        sequence,
        payload: Some(publish::Payload::StatusUpdate(status(task, state))),
        routing: Some(routing("", "")),
        ..Publish::default()
    };
    let settling = |note: &Delivery, since, publish| Publish {
        ack: Some(Ack {
            subscription: note.subscription,
            position: vec![note.position.clone()],
        }),
        ack_since: since,
        ..publish
    };
    let (working, refused) = (TaskState::Working, TaskState::Unspecified);
    peer.send(AgentFrame {
        publish: vec![
            publish(1, "a", refused),
            settling(&notes[0], 1, publish(2, "a", working)),
            settling(&notes[1], 3, publish(3, "b", working)),
            publish(4, "c", working),
            settling(&notes[2], 4, publish(5, "c", refused)),
        ],
        ..AgentFrame::default()
    })
    .await;
    let mut accepted = Vec::new();
    for _ in 0..5 {
        accepted.push(peer.result().await.code == 0);
    }
    assert_eq!(accepted, [false, true, true, true, false]);
    for note in &notes {
        peer.refuse(note, Duration::ZERO).await;
    }
    let again = peer.words_so_far().await;
    let again: Vec<_> = again.iter().filter(|w| w.contains("attempt 2")).collect();
    assert_eq!(again, ["message a (attempt 2)", "message c (attempt 2)"]);
}
