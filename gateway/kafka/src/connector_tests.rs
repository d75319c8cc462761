//! A connector between a hub and a Kafka that are in the test's process: the mock cluster of librdkafka, with a topic for each use.

use std::{collections::BTreeMap, time::Duration};

use agenthub_broker::{Server, Settings as HubSettings};
use agenthub_bus::{
    Header, KafkaBus, NewRecord, Record,
    kafka::{MockKafka, Settings as KafkaSettings, Topics},
    messages::events::{Gap, MESSAGE, MirroredMessage},
};
use agenthub_sdk::{
    Client, Message, Role,
    proto::agenthub::{AgentEventMetadata, SubscribeToAgentEventsRequest, agent_event::Payload},
};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

use crate::{
    Connector, Error,
    incoming::{Fate, fate},
    positions,
    settings::{In, Out, Rules, Settings},
};

const PATIENCE: Duration = Duration::from_secs(30);

/// Time for which the hub of a test knows a repeated message.
const WINDOW: Duration = Duration::from_millis(200);

struct Stage {
    hub: Server,
    bus: KafkaBus,
    _kafka: MockKafka,
    rules: Rules,
}

/// A connector at work.
struct Running {
    stop: CancellationToken,
    task: JoinHandle<Result<(), Error>>,
}

impl Running {
    async fn stop(self) {
        self.stop.cancel();
        let ended = timeout(PATIENCE, self.task).await.expect("in time");
        ended.expect("no panic").expect("it ends well");
    }
}

fn inward(from: &str, topic: &str) -> In {
    In {
        from: vec![from.to_owned()],
        topic: Some(topic.to_owned()),
        ..In::default()
    }
}

fn out(topic: &str, to: &str) -> Out {
    Out {
        messages: vec![topic.to_owned()],
        to: to.to_owned(),
        ..Out::default()
    }
}

fn record(topic: &str, body: &str, headers: Vec<Header>) -> NewRecord {
    NewRecord {
        topic: topic.to_owned(),
        key: Some("k".into()),
        headers,
        body: Some(body.to_owned().into()),
    }
}

impl Stage {
    async fn new(settings: Settings) -> Self {
        let hub = HubSettings {
            dedupe_window: WINDOW,
            ..HubSettings::default()
        };
        let hub = Server::start(hub, ([127, 0, 0, 1], 0).into(), Routes::default());
        let kafka = MockKafka::start();
        let rules = settings.rules().expect("right");
        kafka.make_topic(&rules.positions_topic(), 1);
        let bus = KafkaBus::connect(KafkaSettings {
            topics: Topics {
                make: false,
                ..Topics::default()
            },
            ..KafkaSettings::new(kafka.servers())
        });
        Self {
            hub: hub.await.expect("a free port"),
            bus: bus.await.expect("it is there"),
            _kafka: kafka,
            rules,
        }
    }

    async fn client(&self, id: &str) -> Client {
        let url = format!("http://{}", self.hub.address());
        let client = Client::builder(url).agent_id(id).connect().await;
        client.expect("the hub is there")
    }

    async fn start(&self) -> Running {
        let client = self.client(&self.rules.agent_id()).await;
        let connector = Connector::start(self.bus.clone(), client, self.rules.clone());
        let connector = connector.await.expect("it starts");
        let stop = CancellationToken::new();
        let told = stop.clone();
        Running {
            stop,
            task: tokio::spawn(async move { connector.run(&told).await }),
        }
    }

    /// Writes records as somebody else does.
    async fn write(&self, records: impl Into<std::sync::Arc<[NewRecord]>>) {
        let writer = self.bus.transactions("somebody").await.expect("a writer");
        writer.write(records).await.expect("it is written");
    }

    /// The first records of a topic.
    async fn records(&self, topic: &str, count: usize) -> Vec<Record> {
        let extents = self.bus.extents(topic).await.expect("it is there");
        let from = extents
            .into_iter()
            .map(|extent| (extent.partition, extent.first));
        let mut reader = self.bus.read(from).expect("a reader");
        let mut records = Vec::new();
        while records.len() < count {
            let next = timeout(PATIENCE, reader.next()).await.expect("in time");
            records.push(next.expect("a record"));
        }
        records
    }

    async fn count(&self, topic: &str) -> i64 {
        let extents = self.bus.extents(topic).await.expect("it is there");
        extents.iter().map(|extent| extent.end - extent.first).sum()
    }

    /// The number of times that the hub has each text, until it has this one.
    async fn texts(&self, after: &str, last: &str) -> BTreeMap<String, usize> {
        let watcher = self.client("watcher").await;
        let request = SubscribeToAgentEventsRequest {
            agent_id: "watcher".to_owned(),
            event_types: vec!["message".to_owned()],
            after: after.to_owned(),
            observe: true,
            ..Default::default()
        };
        let mut events = watcher.agent_events(request).await.expect("a stream");
        let mut texts = BTreeMap::new();
        while !texts.contains_key(last) {
            let next = timeout(PATIENCE, events.next()).await.expect("in time");
            let event = next.expect("a stream").expect("an event");
            if let Some(Payload::Message(message)) = event.payload
                && !message.text().is_empty()
            {
                *texts.entry(message.text()).or_default() += 1;
            }
        }
        texts
    }

    /// A position behind everything that the hub has.
    async fn position(&self) -> String {
        let somebody = self.client("somebody").await;
        let routing = AgentEventMetadata {
            to_agent_id: "nobody".to_owned(),
            ..AgentEventMetadata::default()
        };
        let published = somebody.publish(Message::new(Role::User, "before"), routing);
        published.await.expect("it is taken").position
    }
}

/// A record that reached the hub before a crash, and is not counted, is not published again, although the hub no longer knows it by its id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connector_that_was_away_for_longer_than_the_hub_remembers_repeats_nothing() {
    let stage = Stage::new(Settings {
        inward: vec![inward("orders", "orders.new")],
        ..Settings::default()
    })
    .await;
    let texts = ["one", "two", "three", "four"];
    let records = texts.map(|text| record("orders", text, Vec::new()));
    stage.write(records).await;
    let before = stage.position().await;
    let recall = positions::recall(&stage.rules.positions_topic(), &before);
    stage.write([recall]).await;
    // As one does that is killed after two of its messages, before it counts any.
    let killed = stage.client(&stage.rules.agent_id()).await;
    for record in stage.records("orders", texts.len()).await.iter().take(2) {
        let Fate::Message(incoming) = fate(record, &stage.rules.inward[0], "/hub") else {
            panic!("it fits");
        };
        let published = killed.publish(incoming.message, incoming.routing).await;
        published.expect("it is taken");
    }
    killed.close().await;
    sleep(WINDOW * 3).await;

    let running = stage.start().await;
    stage.write([record("orders", "last", Vec::new())]).await;
    let got = stage.texts(&before, "last").await;
    for text in texts {
        assert_eq!(got.get(text), Some(&1), "{text}: {got:?}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_from_a_topic_goes_to_others_alone_and_what_does_not_fit_is_put_aside() {
    let stage = Stage::new(Settings {
        inward: vec![inward("orders", "orders.new"), inward("mirrored", "again")],
        out: vec![
            out("*", "orders"),
            out("orders.*", "mirrored"),
            out("again", "onward"),
        ],
        ..Settings::default()
    })
    .await;
    let running = stage.start().await;
    let json = || vec![Header::text("content-type", "application/json")];
    stage
        .write([
            record("orders", "{not JSON", json()),
            record("orders", "good day", Vec::new()),
        ])
        .await;
    let aside = stage.records("orders.dlq", 1).await;
    let reason = aside[0].header("dead_letter_reason").unwrap_or_default();
    assert!(reason.contains("no JSON"), "{reason}");
    assert_eq!(aside[0].body.as_deref(), Some(&b"{not JSON"[..]));
    let mirrored = stage.records("mirrored", 1).await;
    assert_eq!(mirrored[0].header("ce_type"), Some(MESSAGE));
    assert_eq!(mirrored[0].header("agenthub_via"), Some("orders"));
    let body: MirroredMessage =
        serde_json::from_slice(mirrored[0].body.as_deref().expect("a body")).expect("it fits");
    assert_eq!(body.parts[0].text.as_deref(), Some("good day"));
    // A second message shows that the first one has gone as far as it goes.
    stage.write([record("orders", "last", Vec::new())]).await;
    stage.records("mirrored", 2).await;
    running.stop().await;
    assert_eq!(stage.count("orders.dlq").await, 1);
    let onward = stage.count("onward").await;
    assert_eq!(onward, 0, "the hub's own records are not taken in");
    let own = stage.records("orders", 3).await;
    let from_hub = own
        .iter()
        .filter(|record| record.header("ce_type").is_some());
    assert_eq!(from_hub.count(), 0, "what came from it does not go to it");
    assert_eq!(stage.count("orders").await, 3);
}

/// The hub has lost its log, or shortened it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gap_in_the_hubs_log_is_said_on_kafka() {
    let stage = Stage::new(Settings {
        out: vec![out("orders.*", "mirrored")],
        ..Settings::default()
    })
    .await;
    let lost = positions::mirrored(&stage.rules.positions_topic(), "00000000-7");
    stage.write([lost]).await;
    let running = stage.start().await;
    let said = stage.records("mirrored", 1).await;
    assert_eq!(said[0].header("ce_type"), Some("agenthub.events.missed"));
    let gap: Gap =
        serde_json::from_slice(said[0].body.as_deref().expect("a body")).expect("it fits");
    assert_eq!(gap.after, "00000000-7");
    assert!(gap.reason.contains("no longer has"), "{}", gap.reason);
    running.stop().await;
    // It is said once.
    stage.start().await.stop().await;
    assert_eq!(stage.count("mirrored").await, 1);
}
