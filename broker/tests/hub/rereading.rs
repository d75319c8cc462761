//! Rereading of the log.

use agenthub_broker::{Settings, Storage, maintenance};
use agenthub_proto::{
    a2a::TaskState,
    agenthub::{
        AgentEventMetadata, Durability, SeekMailboxRequest, SubscribeToMessagesRequest,
        SubscribeToTasksRequest, publish, seek_mailbox_request::To,
    },
};

use crate::{
    harness::{TestHub, routing, until, user, within, word, work},
    peer::{agent, hello},
};

fn in_folder(folder: &tempfile::TempDir) -> Settings {
    Settings {
        storage: Storage::Folder(folder.path().to_owned()),
        ..Settings::default()
    }
}

/// promise 6
#[tokio::test]
async fn a_stream_rereads_all_that_the_disk_has_also_after_a_restart() {
    const EVENTS: usize = 2500;
    let folder = tempfile::tempdir().expect("a folder");
    let hub = TestHub::with(in_folder(&folder)).await;
    let mut stream = hub.messages("echo").await;
    hub.publish(user("first"), routing("asker", "echo")).await;
    let position = stream.next().await.position;
    drop(stream);
    let mut asker = hub.connect(hello("asker", "i", vec![])).await;
    for n in 0..EVENTS {
        let payload = publish::Payload::Message(user(&n.to_string()));
        asker.publish_only(payload, routing("", "echo")).await;
        if n % 500 == 499 {
            for _ in 0..500 {
                assert_eq!(asker.result().await.code, 0);
            }
        }
    }
    hub.server.shutdown().await;

    let hub = TestHub::with(in_folder(&folder)).await;
    let reread = |after: String| SubscribeToMessagesRequest {
        agent_id: "echo".into(),
        after,
        ..Default::default()
    };
    // The waiting mail of the agent is part of it, and comes once.
    let mut stream = hub.messages_with(reread(position.clone())).await;
    for n in 0..EVENTS {
        assert_eq!(stream.text().await, n.to_string());
    }
    hub.publish(user("last"), routing("asker", "echo")).await;
    assert_eq!(stream.text().await, "last");
    drop(stream);
    let mut again = hub.messages_with(reread(position)).await;
    for n in 0..EVENTS {
        assert_eq!(again.text().await, n.to_string());
    }
    assert_eq!(again.text().await, "last");
}

/// Also if the stream is not read meanwhile.
#[tokio::test]
async fn what_is_in_no_log_comes_after_what_is_reread() {
    const REREAD: usize = 400;
    const PASSING: usize = 5;
    let hub = TestHub::start().await;
    let mut stream = hub.messages("echo").await;
    hub.publish(user("first"), routing("asker", "echo")).await;
    let after = stream.next().await.position;
    drop(stream);
    // More than the windows of HTTP/2 hold.
    let long = |n: usize| format!("{n} {}", "x".repeat(10_000));
    for n in 0..REREAD {
        hub.publish(user(&long(n)), routing("asker", "echo")).await;
    }
    let request = SubscribeToMessagesRequest {
        agent_id: "echo".into(),
        after,
        ..Default::default()
    };
    let mut stream = hub.messages_with(request).await;
    for n in REREAD..REREAD + PASSING {
        let memory = AgentEventMetadata {
            durability: Durability::Memory.into(),
            ..routing("asker", "echo")
        };
        hub.publish(user(&long(n)), memory).await;
    }
    for n in 0..REREAD + PASSING {
        assert_eq!(stream.text().await, long(n));
    }
}

/// promise 6
#[tokio::test]
async fn a_position_that_is_gone_from_the_disk_is_out_of_range() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = TestHub::with(in_folder(&folder)).await;
    let mut stream = hub.messages("echo").await;
    hub.publish(user("first"), routing("asker", "echo")).await;
    let gone = stream.next().await.position;
    hub.publish(user("second"), routing("asker", "echo")).await;
    stream.next().await;
    drop(stream);
    hub.server.shutdown().await;
    let nothing_stays = Settings {
        log_disk_bytes: 0,
        ..in_folder(&folder)
    };
    maintenance::compact(folder.path(), &nothing_stays).expect("it is compacted");

    let hub = TestHub::with(in_folder(&folder)).await;
    let request = SubscribeToMessagesRequest {
        agent_id: "echo".into(),
        after: gone.clone(),
        ..Default::default()
    };
    let refused = hub.client.clone().subscribe_to_messages(request).await;
    let refused = refused.expect_err("it is gone");
    assert_eq!(refused.code(), tonic::Code::OutOfRange);
    let said = refused.message();
    let oldest = said.rsplit(' ').next().expect("a position").to_owned();
    assert!(said.contains(&gone) && oldest != gone, "{said}");
    let mut stream = hub
        .messages_with(SubscribeToMessagesRequest {
            agent_id: "echo".into(),
            after: oldest,
            ..Default::default()
        })
        .await;
    hub.publish(user("third"), routing("asker", "echo")).await;
    assert_eq!(stream.text().await, "third");
}

#[tokio::test]
async fn a_stream_can_reread_from_a_position() {
    let hub = TestHub::start().await;
    let mut first = hub.messages("echo").await;
    for text in ["1", "2", "3"] {
        hub.publish(user(text), routing("asker", "echo")).await;
    }
    let position = first.next().await.position;
    drop(first);
    until("the stream has ended", async || {
        let entry = hub.server.hub().clone();
        let metrics = agenthub_broker::http_router(entry);
        crate::operations::gauge(metrics, "agenthub_streams")
            .await
            .filter(|n| *n == 0)
    })
    .await;
    hub.publish(user("4"), routing("asker", "echo")).await;
    hub.publish(user("not for echo"), routing("asker", "other"))
        .await;
    let mut again = hub
        .messages_with(SubscribeToMessagesRequest {
            agent_id: "echo".into(),
            after: position,
            ..Default::default()
        })
        .await;
    assert_eq!(
        hub.texts_so_far("echo", &mut again).await,
        ["2", "3", "4"],
        "in order, and each once"
    );
}

/// Whole tasks are events while somebody subscribes to tasks: a stream that comes back has those of its absence, too.
///
/// promise 6
#[tokio::test]
async fn a_stream_that_is_resumed_has_the_whole_tasks_of_its_absence() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut hub = TestHub::with(in_folder(&folder)).await;
    let mut after = {
        let mut watching = hub.tasks_with(observed(String::new())).await;
        hub.publish(work("before", "go"), routing("asker", "worker"))
            .await;
        watching.next().await.position
    };
    for absence in ["a break", "a restart"] {
        if absence == "a restart" {
            hub.server.shutdown().await;
            hub = TestHub::with(in_folder(&folder)).await;
        }
        until("nobody watches", async || {
            let metrics = agenthub_broker::http_router(hub.server.hub().clone());
            let streams = crate::operations::gauge(metrics, "agenthub_streams").await;
            streams.filter(|n| *n == 0)
        })
        .await;
        hub.publish(work(absence, "go"), routing("asker", "worker"))
            .await;
        hub.report("worker", absence, TaskState::Working).await;
        let mut resumed = hub.tasks_with(observed(after)).await;
        let first = resumed.next().await;
        assert_eq!(word(&first), format!("task submitted {absence} 1"));
        after = resumed.next().await.position;
    }
}

fn observed(after: String) -> SubscribeToTasksRequest {
    SubscribeToTasksRequest {
        agent_id: "watcher".into(),
        observe: true,
        after,
        ..Default::default()
    }
}

/// promise 10
#[tokio::test]
async fn a_mailbox_gets_again_what_the_disk_has_as_far_as_it_has_room() {
    const EVENTS: usize = 1200;
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        mailbox_events: EVENTS,
        ..in_folder(&folder)
    };
    let hub = TestHub::with(settings.clone()).await;
    let mut worker = hub.connect(agent("worker", "i", 9999)).await;
    hub.publish(user("first"), routing("asker", "worker")).await;
    let (first, _) = worker.delivery().await;
    worker.acknowledge(&first).await;
    for n in 0..EVENTS {
        let payload = publish::Payload::Message(user(&n.to_string()));
        worker.publish_only(payload, routing("", "worker")).await;
        assert_eq!(worker.result().await.code, 0);
        let (note, _) = worker.delivery().await;
        worker.acknowledge(&note).await;
    }
    worker.settle().await;
    worker.say_goodbye().await;
    hub.server.shutdown().await;

    let hub = TestHub::with(settings).await;
    let seek = async |position: String| {
        let request = SeekMailboxRequest {
            agent_id: "worker".to_owned(),
            name: "work".to_owned(),
            to: Some(To::After(position)),
        };
        let sought = hub.client.clone().seek_mailbox(request).await;
        sought.map(|s| s.into_inner().reread)
    };
    let (log, _) = first.position.split_once('-').expect("a position");
    let all = seek(format!("{log}-0")).await.expect_err("one too many");
    assert_eq!(all.code(), tonic::Code::ResourceExhausted);
    assert!(all.message().contains("later"), "{}", all.message());
    assert_eq!(seek(first.position.clone()).await.expect("room"), 1200);
    assert_eq!(seek(first.position).await.expect("it has them"), 0);
    let mut worker = hub.connect(agent("worker", "i", 9999)).await;
    for n in 0..EVENTS {
        assert_eq!(worker.word().await, format!("message {n}"));
    }
}

#[tokio::test]
async fn a_stream_says_after_which_position_its_events_come() {
    let hub = TestHub::start().await;
    hub.publish(work("before", "go"), routing("asker", "worker"))
        .await;
    let request = observed(String::new());
    let mut client = hub.client.clone();
    let answer = within(client.subscribe_to_tasks(request)).await;
    let answer = answer.expect("it is opened");
    let position = answer.metadata().get(agenthub_proto::BEGINS_AFTER);
    let position = position.expect("it is said").to_str().expect("a position");
    let after = observed(position.to_owned());
    drop(answer);
    hub.publish(work("meanwhile", "go"), routing("asker", "worker"))
        .await;
    let mut events = hub.tasks_with(after).await;
    assert_eq!(events.word().await, "task submitted meanwhile 1");
}
