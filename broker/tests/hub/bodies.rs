//! Bodies that are only in the log.

use std::collections::BTreeMap;

use agenthub_broker::{Settings, Storage, maintenance};
use agenthub_proto::{
    a2a::{Message, TaskState},
    agenthub::{
        AgentEvent, EventKind, Filter, GetMailboxRequest, Hello, ListDeadLettersRequest,
        agent_event::Payload,
    },
};

use crate::{
    harness::{TestHub, in_context, routing, until, user, work},
    peer::{Peer, agent, durable, filtered, hello},
};

const KIB: usize = 1024;

/// Data folder of a hub.
struct Data(tempfile::TempDir);

impl Data {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join(maintenance::FILE)
    }

    /// A hub with this memory limit on bodies.
    async fn hub(&self, bodies_bytes: usize) -> TestHub {
        self.hub_with(Settings {
            bodies_bytes,
            ..Settings::default()
        })
        .await
    }

    async fn hub_with(&self, settings: Settings) -> TestHub {
        TestHub::with(Settings {
            storage: Storage::Folder(self.0.path().to_owned()),
            ..settings
        })
        .await
    }

    /// A copy of the folder, as after a crash at this moment.
    fn crashed(&self) -> Self {
        let copy = Self::new();
        maintenance::backup(self.0.path(), &copy.file()).expect("it is copied");
        copy
    }
}

fn message(event: &AgentEvent) -> &Message {
    match &event.payload {
        Some(Payload::Message(message)) => message,
        other => panic!("no message: {other:?}"),
    }
}

/// Receives and acknowledges the next messages.
async fn handle(peer: &mut Peer, count: usize) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    for _ in 0..count {
        let (note, event) = peer.delivery().await;
        assert_eq!(note.attempt, 1);
        peer.acknowledge(&note).await;
        events.push(event);
    }
    events
}

/// Registers an agent with a durable mailbox, and disconnects it.
async fn leave_mailbox(hub: &TestHub, name: &str) {
    hub.connect(agent(name, "i", 0)).await.say_goodbye().await;
}

/// An agent with a durable mailbox of messages.
fn of_messages(credit: u32) -> Hello {
    let messages = Filter {
        kinds: vec![EventKind::Message.into()],
        ..Filter::default()
    };
    let work = filtered(durable("work", credit), messages);
    Hello {
        subscription: vec![work],
        ..agent("worker", "i", credit)
    }
}

fn by_context<'a>(
    messages: impl Iterator<Item = &'a Message>,
) -> BTreeMap<String, Vec<&'a Message>> {
    let mut found: BTreeMap<String, Vec<&Message>> = BTreeMap::new();
    for message in messages {
        found
            .entry(message.context_id.clone())
            .or_default()
            .push(message);
    }
    found
}

/// promises 1, 3, 6
#[tokio::test]
async fn what_only_the_log_has_comes_as_it_was_published_also_after_crashes() {
    const EVENTS: usize = 240;
    for bodies in [0, 200 * KIB] {
        let mut data = Data::new();
        let hub = data.hub(bodies).await;
        leave_mailbox(&hub, "worker").await;
        leave_mailbox(&hub, "other").await;
        let mut asker = hub.connect(hello("asker", "i", vec![])).await;
        let mut published = Vec::new();
        for n in 0..EVENTS {
            let text = format!("{n} {}", "x".repeat((n * 97) % (9 * KIB)));
            let message = in_context(&format!("c{}", n % 3), &text).with_metadata("n", n);
            // A broadcast, or for the worker.
            let to = if n % 4 == 0 { "" } else { "worker" };
            let result = asker.publish(message.clone(), routing("", to)).await;
            assert_eq!(result.code, 0, "{}", result.error);
            published.push(message);
        }
        let mut came = Vec::new();
        for _ in 0..3 {
            data = data.crashed();
            let hub = data.hub(bodies).await;
            let mut worker = hub.connect(agent("worker", "i", 80)).await;
            came.extend(handle(&mut worker, EVENTS / 3).await);
            // After the acknowledgements, which the copy must include.
            worker.settle().await;
            worker.publish(user("done"), routing("", "nobody")).await;
        }
        let came: Vec<&Message> = came.iter().map(message).collect();
        assert_eq!(came.len(), EVENTS);
        let expected = by_context(published.iter());
        assert_eq!(by_context(came.into_iter()), expected, "bodies: {bodies}");

        let data = data.crashed();
        let hub = data.hub(bodies).await;
        let mut other = hub.connect(agent("other", "i", 1000)).await;
        let came = handle(&mut other, EVENTS / 4).await;
        let everyones = published.iter().step_by(4);
        let came = by_context(came.iter().map(message));
        assert_eq!(came, by_context(everyones), "bodies: {bodies}");
    }
}

/// promise 3: a stream gets bodies from memory and from the log in the order of its contexts
#[tokio::test]
async fn order_holds_where_some_bodies_are_in_memory() {
    const EVENTS: usize = 300;
    let data = Data::new();
    // Memory for the mail of streams, and for a few other events.
    let hub = data.hub(64 * KIB).await;
    leave_mailbox(&hub, "worker").await;
    let mut asker = hub.connect(hello("asker", "i", vec![])).await;
    let mut worker = None;
    let mut came = Vec::new();
    for n in 0..EVENTS {
        let text = format!("{n} {}", "x".repeat(2 * KIB));
        asker
            .publish(in_context("c", &text), routing("", "worker"))
            .await;
        if n == EVENTS / 3 {
            worker = Some(hub.connect(agent("worker", "i", 20)).await);
        }
        if let Some(worker) = worker.as_mut().filter(|_| n % 2 == 0) {
            came.extend(handle(worker, 1).await);
            worker.give_credit(0, 1).await;
        }
    }
    let mut worker = worker.expect("it is there");
    worker.give_credit(0, 1000).await;
    let left = EVENTS - came.len();
    came.extend(handle(&mut worker, left).await);
    let first = |event| message(event).text().split(' ').next().map(str::to_owned);
    let numbers: Vec<_> = came.iter().filter_map(first).collect();
    let expected: Vec<String> = (0..EVENTS).map(|n| n.to_string()).collect();
    assert_eq!(numbers, expected);
}

/// promise 6
#[tokio::test]
async fn a_log_that_cannot_be_read_loses_no_mail() {
    let data = Data::new();
    let hub = data.hub(0).await;
    leave_mailbox(&hub, "worker").await;
    for n in 0..5 {
        hub.publish(user(&n.to_string()), routing("asker", "worker"))
            .await;
    }
    let aside = data.0.path().join("aside");
    std::fs::rename(data.file(), &aside).expect("it is there");
    let mut worker = hub.connect(agent("worker", "i", 5)).await;
    let words = worker.words_so_far().await;
    assert_eq!(words, Vec::<String>::new());
    std::fs::rename(&aside, data.file()).expect("it is there");
    let came = handle(&mut worker, 5).await;
    let texts: Vec<String> = came.iter().map(|e| message(e).text()).collect();
    assert_eq!(
        texts,
        ["0", "1", "2", "3", "4"],
        "and its credit is as it was"
    );
}

/// A missing record loses its event, and nothing else.
#[tokio::test]
async fn an_event_that_the_log_has_lost_holds_up_nothing() {
    let data = Data::new();
    let hub = data.hub(0).await;
    hub.connect(of_messages(0)).await.say_goodbye().await;
    for n in 0..3 {
        hub.publish(
            work(&n.to_string(), &n.to_string()),
            routing("asker", "worker"),
        )
        .await;
    }
    let peek = GetMailboxRequest {
        agent_id: "worker".to_owned(),
        name: "work".to_owned(),
        peek: 2,
    };
    let mailbox = hub.client.clone().get_mailbox(peek).await;
    let lost = mailbox.expect("it is there").into_inner().events.remove(1);
    let (_, position) = lost.position.split_once('-').expect("a position");
    let position: i64 = position.parse().expect("a number");
    let file = rusqlite::Connection::open(data.file()).expect("it is there");
    let gone = file.execute("DELETE FROM events WHERE position = ?", [position]);
    assert_eq!(gone.expect("it is not locked"), 1);
    let mut worker = hub.connect(of_messages(9)).await;
    let came = handle(&mut worker, 2).await;
    let texts: Vec<String> = came.iter().map(|e| message(e).text()).collect();
    assert_eq!(texts, ["0", "2"]);
    hub.until_state("1", TaskState::Failed).await;
}

/// promise 5
#[tokio::test]
async fn a_dead_letter_has_its_body_and_a_peek_too() {
    const EVENTS: usize = 30;
    const ROOM: usize = 10;
    let data = Data::new();
    let settings = Settings {
        bodies_bytes: 0,
        mailbox_events: ROOM,
        ..Settings::default()
    };
    let hub = data.hub_with(settings).await;
    leave_mailbox(&hub, "worker").await;
    for n in 0..EVENTS {
        hub.publish(user(&n.to_string()), routing("asker", "worker"))
            .await;
    }
    let text = |event: &AgentEvent| message(event).text();
    let peek = GetMailboxRequest {
        agent_id: "worker".to_owned(),
        name: "work".to_owned(),
        peek: 3,
    };
    let mailbox = hub
        .client
        .clone()
        .get_mailbox(peek)
        .await
        .expect("it is there");
    let mailbox = mailbox.into_inner();
    let waiting: Vec<String> = mailbox.events.iter().map(text).collect();
    assert_eq!(waiting, ["20", "21", "22"]);
    let seen = mailbox.mailbox.expect("it is there");
    assert!(seen.oldest.is_some());
    assert_eq!(seen.waiting, 10);
    let letters = until("they are dead letters", async || {
        let letters = hub
            .client
            .clone()
            .list_dead_letters(ListDeadLettersRequest::default())
            .await;
        let letters = letters.expect("they are listed").into_inner().dead_letters;
        (letters.len() == EVENTS - ROOM).then_some(letters)
    })
    .await;
    let mut texts: Vec<String> = letters
        .iter()
        .filter_map(|l| l.event.as_ref())
        .map(text)
        .collect();
    texts.sort_by_key(|text| text.parse::<usize>().expect("a number"));
    let expected: Vec<String> = (0..EVENTS - ROOM).map(|n| n.to_string()).collect();
    assert_eq!(texts, expected);
}

/// promise 2: work on a task that has ended is neither read nor delivered
#[tokio::test]
async fn work_that_only_the_log_has_is_void_once_its_task_has_ended() {
    let data = Data::new();
    let hub = data.hub(0).await;
    hub.connect(of_messages(0)).await.say_goodbye().await;
    for task in ["over", "open"] {
        hub.publish(work(task, task), routing("asker", "worker"))
            .await;
    }
    hub.report("asker", "over", TaskState::Cancelled).await;
    hub.until_state("over", TaskState::Cancelled).await;
    let mut worker = hub.connect(of_messages(9)).await;
    let word = worker.word().await;
    assert_eq!(word, "message open");
}

/// Mail without a subscription, and server streams of older clients.
#[tokio::test]
async fn mail_for_an_agent_that_subscribes_to_nothing_comes_whole() {
    const EVENTS: usize = 100;
    let data = Data::new();
    let hub = data.hub(0).await;
    let text = |n: usize| format!("{n} {}", "x".repeat(4 * KIB));
    for n in 0..EVENTS {
        for to in ["old", "new"] {
            hub.publish(user(&text(n)), routing("asker", to)).await;
        }
    }
    let data = data.crashed();
    let hub = data.hub(0).await;
    let mut stream = hub.messages("old").await;
    let mut new = hub.connect(agent("new", "i", 1000)).await;
    for n in 0..EVENTS {
        assert_eq!(stream.text().await, text(n));
    }
    let came = handle(&mut new, EVENTS).await;
    for (n, event) in came.iter().enumerate() {
        assert_eq!(message(event).text(), text(n));
    }
}
