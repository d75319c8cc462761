//! Operator calls for mailboxes and dead letters.

use std::time::{Duration, SystemTime};

use agenthub_broker::{Settings, Storage};
use agenthub_proto::{
    a2a::TaskState,
    agenthub::{
        AgentEventMetadata, DeadLetter, DropDeadLetterRequest, GetMailboxRequest, Hello,
        ListDeadLettersRequest, ListMailboxesRequest, Mailbox, PurgeMailboxRequest,
        RetryDeadLetterRequest, SeekMailboxRequest, SeekMailboxResponse, Subscription,
        seek_mailbox_request::To,
    },
    event::timestamp,
};
use tonic::Code;

use crate::{
    harness::{TestHub, in_context, routing, user, within, word, work},
    peer::{Peer, agent, durable},
};

impl TestHub {
    async fn mailboxes(&self) -> Vec<Mailbox> {
        let request = ListMailboxesRequest::default();
        let answer = within(self.client.clone().list_mailboxes(request)).await;
        answer.expect("an answer").into_inner().mailboxes
    }

    /// Waiting events of the mailbox `work`, in words.
    async fn peek(&self, agent: &str, name: &str) -> Vec<String> {
        let request = GetMailboxRequest {
            agent_id: agent.to_owned(),
            name: name.to_owned(),
            peek: 100,
        };
        let answer = within(self.client.clone().get_mailbox(request)).await;
        let events = answer.expect("it is there").into_inner().events;
        events.iter().map(word).collect()
    }

    async fn seek(&self, agent: &str, to: To) -> SeekMailboxResponse {
        let request = SeekMailboxRequest {
            agent_id: agent.to_owned(),
            name: "work".to_owned(),
            to: Some(to),
        };
        let answer = within(self.client.clone().seek_mailbox(request)).await;
        answer.expect("it is there").into_inner()
    }

    async fn purge(&self, agent: &str) -> u64 {
        let request = PurgeMailboxRequest {
            agent_id: agent.to_owned(),
            name: "work".to_owned(),
        };
        let answer = within(self.client.clone().purge_mailbox(request)).await;
        answer.expect("it is there").into_inner().purged
    }

    async fn dead_letters(&self) -> Vec<DeadLetter> {
        let request = ListDeadLettersRequest::default();
        let answer = within(self.client.clone().list_dead_letters(request)).await;
        answer.expect("an answer").into_inner().dead_letters
    }

    async fn until_dead_letter(&self) -> DeadLetter {
        crate::harness::until("there is a dead letter", async || {
            self.dead_letters().await.pop()
        })
        .await
    }

    async fn retry(&self, id: &str) -> Result<String, tonic::Status> {
        let request = RetryDeadLetterRequest { id: id.to_owned() };
        let answer = within(self.client.clone().retry_dead_letter(request)).await;
        answer.map(|a| a.into_inner().task_id)
    }

    async fn drop_letter(&self, id: &str) -> Result<(), tonic::Status> {
        let request = DropDeadLetterRequest { id: id.to_owned() };
        let answer = within(self.client.clone().drop_dead_letter(request)).await;
        answer.map(|_| ())
    }
}

/// Refuses its next delivery and its redeliveries, `times` at most.
async fn refuse_all(peer: &mut Peer, times: usize) {
    for _ in 0..times {
        let (note, _) = peer.delivery().await;
        peer.refuse(&note, Duration::ZERO).await;
    }
}

/// Letters without their time, which the log stores in microseconds.
fn known(letters: &[DeadLetter]) -> Vec<DeadLetter> {
    let untimed = |letter: &DeadLetter| DeadLetter {
        given_up_at: None,
        ..letter.clone()
    };
    letters.iter().map(untimed).collect()
}

fn ordered(name: &str, credit: u32) -> Subscription {
    Subscription {
        ordered: true,
        ..durable(name, credit)
    }
}

fn in_folder(folder: &tempfile::TempDir) -> Settings {
    Settings {
        storage: Storage::Folder(folder.path().to_owned()),
        ..Settings::default()
    }
}

/// promise 5
#[tokio::test]
async fn five_tries_make_a_dead_letter_and_fail_the_task() {
    let hub = TestHub::start().await;
    let mut worker = hub.connect(agent("worker", "i", 99)).await;
    let mut asker = hub.tasks("asker").await;
    hub.publish(work("t", "hard"), routing("asker", "worker"))
        .await;
    // The message comes with the task event, which is no work.
    let (mut note, mut event) = worker.delivery().await;
    for attempt in 1..=5 {
        while !word(&event).starts_with("message") {
            worker.acknowledge(&note).await;
            (note, event) = worker.delivery().await;
        }
        assert_eq!(note.attempt, attempt);
        worker.refuse(&note, Duration::ZERO).await;
        if attempt < 5 {
            (note, event) = worker.delivery().await;
        }
    }
    assert_eq!(asker.word().await, "status failed t");
    hub.until_state("t", TaskState::Failed).await;
    let letter = hub.until_dead_letter().await;
    assert_eq!((letter.agent_id.as_str(), letter.attempts), ("worker", 5));
    assert_eq!(letter.mailbox, "work");
    assert!(letter.reason.contains("5 deliveries"), "{}", letter.reason);
    assert!(letter.given_up_at.is_some());
    assert_eq!(
        letter.event.as_ref().map(word).as_deref(),
        Some("message hard")
    );
}

/// promise 5
#[tokio::test]
async fn a_dead_letter_can_be_delivered_again_once() {
    let hub = TestHub::start().await;
    let mut worker = hub.connect(agent("worker", "i", 99)).await;
    hub.publish(user("hi"), routing("asker", "worker")).await;
    refuse_all(&mut worker, 5).await;
    let letter = hub.until_dead_letter().await;
    assert_eq!(hub.retry(&letter.id).await.expect("it is there"), "");
    assert_eq!(worker.word().await, "message hi");
    assert!(hub.dead_letters().await.is_empty());
    let gone = hub.retry(&letter.id).await.expect_err("it is none now");
    assert_eq!(gone.code(), Code::NotFound);
}

/// promise 5
#[tokio::test]
async fn a_retried_letter_whose_task_has_failed_makes_another_task() {
    let hub = TestHub::start().await;
    hub.connect(agent("worker", "i", 0))
        .await
        .say_goodbye()
        .await;
    hub.publish(work("t", "hard"), routing("asker", "nobody"))
        .await;
    hub.client
        .clone()
        .purge_mailbox(PurgeMailboxRequest {
            agent_id: "nobody".to_owned(),
            name: String::new(),
        })
        .await
        .expect("it waits there");
    hub.until_state("t", TaskState::Failed).await;
    assert!(
        hub.dead_letters().await.is_empty(),
        "what is purged is no dead letter"
    );

    let mut worker = hub.connect(agent("worker", "i", 99)).await;
    hub.publish(work("u", "hard"), routing("asker", "worker"))
        .await;
    let mut refused = 0;
    while refused < 5 {
        let (note, event) = worker.delivery().await;
        if word(&event).starts_with("message") {
            worker.refuse(&note, Duration::ZERO).await;
            refused += 1;
        } else {
            worker.acknowledge(&note).await;
        }
    }
    hub.until_state("u", TaskState::Failed).await;
    let letter = hub.until_dead_letter().await;
    let task = hub.retry(&letter.id).await.expect("it is there");
    assert_ne!(task, "u");
    assert_eq!(worker.word().await, "message hard");
    let again = hub.task(&task).await;
    assert_eq!(again.state(), TaskState::Submitted);
    assert_eq!(again.requester(), "asker");
    assert!(hub.dead_letters().await.is_empty());
}

/// promise 10
#[tokio::test]
async fn what_a_full_mailbox_loses_is_a_dead_letter() {
    let hub = TestHub::with(Settings {
        mailbox_events: 2,
        ..Settings::default()
    })
    .await;
    hub.connect(agent("worker", "i", 0))
        .await
        .say_goodbye()
        .await;
    for text in ["1", "2", "3"] {
        hub.publish(user(text), routing("asker", "worker")).await;
    }
    assert_eq!(hub.peek("worker", "work").await, ["message 2", "message 3"]);
    let letter = hub.until_dead_letter().await;
    assert!(letter.reason.contains("full"), "{}", letter.reason);
    hub.drop_letter(&letter.id).await.expect("it is there");
    assert!(hub.dead_letters().await.is_empty());
    let gone = hub.drop_letter(&letter.id).await.expect_err("it is gone");
    assert_eq!(gone.code(), Code::NotFound);
}

/// promise 10
#[tokio::test]
async fn mail_that_waits_too_long_is_a_dead_letter() {
    let hub = TestHub::with(Settings {
        mailbox_age: Duration::from_millis(200),
        ..Settings::default()
    })
    .await;
    hub.connect(agent("worker", "i", 0))
        .await
        .say_goodbye()
        .await;
    hub.publish(work("t", "old"), routing("asker", "worker"))
        .await;
    hub.until_state("t", TaskState::Failed).await;
    let letters = hub.dead_letters().await;
    assert!(
        letters.iter().all(|l| l.reason.contains("too long")),
        "{letters:?}"
    );
    crate::harness::until("the mailbox is empty", async || {
        (hub.mailboxes().await[0].waiting == 0).then_some(())
    })
    .await;
}

/// promise 10
#[tokio::test]
async fn dead_letters_come_back_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = TestHub::with(in_folder(&folder)).await;
    let mut worker = hub.connect(agent("worker", "i", 99)).await;
    for text in ["a", "b"] {
        hub.publish(user(text), routing("asker", "worker")).await;
        refuse_all(&mut worker, 5).await;
        hub.until_dead_letter().await;
    }
    let before = crate::harness::until("both", async || {
        let letters = hub.dead_letters().await;
        (letters.len() == 2).then_some(letters)
    })
    .await;
    drop(worker);
    hub.server.shutdown().await;

    let hub = TestHub::with(in_folder(&folder)).await;
    assert_eq!(known(&hub.dead_letters().await), known(&before));
    assert_eq!(hub.retry(&before[0].id).await.expect("it is there"), "");
    hub.server.shutdown().await;

    let hub = TestHub::with(in_folder(&folder)).await;
    assert_eq!(known(&hub.dead_letters().await), known(&before[1..]));
    let mut worker = hub.connect(agent("worker", "i", 99)).await;
    assert_eq!(worker.words_so_far().await, ["message b"]);
}

/// promise 9
#[tokio::test]
async fn an_operator_sees_what_waits_and_what_is_out() {
    let hub = TestHub::start().await;
    let mut worker = hub.connect(agent("worker", "i", 1)).await;
    for text in ["1", "2", "3"] {
        hub.publish(user(text), routing("asker", "worker")).await;
    }
    hub.publish(user("later"), routing("asker", "nobody")).await;
    assert_eq!(worker.word().await, "message 1");
    let all = hub.mailboxes().await;
    let names: Vec<_> = all
        .iter()
        .map(|m| (m.agent_id.as_str(), m.name.as_str(), m.waiting, m.leased))
        .collect();
    assert_eq!(names, [("nobody", "", 1, 0), ("worker", "work", 2, 1)]);
    assert!(all[1].bytes > 0 && all[1].oldest.is_some());
    assert_eq!(hub.peek("worker", "work").await, ["message 2", "message 3"]);
    assert_eq!(hub.peek("nobody", "").await, ["message later"]);

    let page = |token: String| ListMailboxesRequest {
        page_size: 1,
        page_token: token,
        ..Default::default()
    };
    let first = within(hub.client.clone().list_mailboxes(page(String::new()))).await;
    let first = first.expect("an answer").into_inner();
    let second = within(
        hub.client
            .clone()
            .list_mailboxes(page(first.next_page_token)),
    )
    .await;
    let second = second.expect("an answer").into_inner();
    assert_eq!([first.mailboxes, second.mailboxes].concat(), all);
    assert_eq!(second.next_page_token, "");
}

/// promise 9
#[tokio::test]
async fn a_mailbox_moves_forward_and_back() {
    let hub = TestHub::start().await;
    let mut worker = hub.connect(agent("worker", "i", 9)).await;
    let mut positions = Vec::new();
    for text in ["1", "2", "3"] {
        hub.publish(user(text), routing("asker", "worker")).await;
        let (note, _) = worker.delivery().await;
        worker.acknowledge(&note).await;
        positions.push(note.position);
    }
    worker.settle().await;
    let back = hub.seek("worker", To::After(positions[0].clone())).await;
    assert_eq!((back.skipped, back.reread), (0, 2));
    assert_eq!(worker.word().await, "message 2");
    assert_eq!(worker.word().await, "message 3");

    worker.say_goodbye().await;
    for text in ["4", "5"] {
        hub.publish(user(text), routing("asker", "worker")).await;
    }
    assert_eq!(hub.peek("worker", "work").await.len(), 4);
    let forward = hub.seek("worker", To::After(positions[2].clone())).await;
    assert_eq!((forward.skipped, forward.reread), (2, 0));
    assert_eq!(hub.peek("worker", "work").await, ["message 4", "message 5"]);
    let all = hub.seek("worker", To::Latest(true)).await;
    assert_eq!((all.skipped, all.reread), (2, 0));
    assert_eq!(hub.peek("worker", "work").await, [""; 0]);
}

/// promise 8
#[tokio::test]
async fn what_is_purged_fails_its_tasks() {
    let hub = TestHub::start().await;
    let mut asker = hub.tasks("asker").await;
    hub.connect(agent("worker", "i", 0))
        .await
        .say_goodbye()
        .await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    assert_eq!(
        hub.purge("worker").await,
        2,
        "the message, and the task as an event"
    );
    assert_eq!(asker.word().await, "status failed t");
    assert_eq!(hub.peek("worker", "work").await, [""; 0]);
}

/// promise 3
#[tokio::test]
async fn an_ordered_subscription_waits_for_acknowledgements() {
    let hub = TestHub::start().await;
    let hello = || Hello {
        subscription: vec![ordered("work", 9)],
        ..agent("worker", "i", 9)
    };
    let mut worker = hub.connect(hello()).await;
    for (context, text) in [("x", "x1"), ("x", "x2"), ("y", "y1")] {
        hub.publish(in_context(context, text), routing("asker", "worker"))
            .await;
    }
    let (x1, _) = worker.delivery().await;
    let (y1, event) = worker.delivery().await;
    assert_eq!(word(&event), "message y1", "another context does not wait");
    worker.acknowledge(&y1).await;
    worker.refuse(&x1, Duration::from_secs(1)).await;
    assert_eq!(
        worker.words_so_far().await,
        [""; 0],
        "x1 comes first, however late"
    );
    let (x1, event) = worker.delivery().await;
    assert_eq!((word(&event).as_str(), x1.attempt), ("message x1", 2));
    assert_eq!(worker.words_so_far().await, [""; 0]);
    worker.acknowledge(&x1).await;
    assert_eq!(worker.word().await, "message x2");
}

/// promise 3
#[tokio::test]
async fn an_event_is_delivered_not_before_its_time_also_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = TestHub::with(in_folder(&folder)).await;
    let mut worker = hub.connect(agent("worker", "i", 9)).await;
    let at = SystemTime::now() + Duration::from_millis(1500);
    let later = AgentEventMetadata {
        deliver_at: Some(timestamp(at)),
        ..routing("asker", "worker")
    };
    hub.publish(in_context("c", "later"), later).await;
    hub.publish(in_context("c", "now"), routing("asker", "worker"))
        .await;
    let (note, event) = worker.delivery().await;
    assert_eq!(word(&event), "message now");
    // Its context would be reserved for this instance as long as it may reconnect.
    worker.acknowledge(&note).await;
    assert_eq!(worker.words_so_far().await, [""; 0]);
    drop(worker);
    hub.server.shutdown().await;

    let hub = TestHub::with(in_folder(&folder)).await;
    let mut worker = hub.connect(agent("worker", "j", 9)).await;
    assert_eq!(worker.word().await, "message later");
    assert!(SystemTime::now() >= at, "too early");
}
