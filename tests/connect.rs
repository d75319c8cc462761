//! A connector between a hub and a real Kafka, with real processes that are killed.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

use agenthub_bus::{
    Bus, KafkaBus, Message, Record,
    kafka::Settings,
    messages::events::{MirroredMessage, MirroredState},
};
use agenthub_sdk::{
    Agent, Card, Client, Message as HubMessage, Reply, Role, TaskContext,
    proto::agenthub::{AgentEventMetadata, SubscribeToAgentEventsRequest, agent_event::Payload},
};
use tokio::{runtime::Runtime, time::timeout};
use uuid::Uuid;

use crate::{
    harness::{Process, System, alone_with_kafka, eventually},
    metrics::scraped,
};

/// Messages each way.
const COUNT: usize = 300;

/// Conversations that they are in, each with an order.
const CONVERSATIONS: usize = 7;

/// Kills of the connector; with every third one the hub is killed, too.
const KILLS: usize = 9;

const PATIENCE: Duration = Duration::from_secs(90);

/// A hub, a real Kafka, and topics that nobody else has.
struct Stage {
    system: System,
    servers: String,
    prefix: String,
    bus: KafkaBus,
    runtime: Runtime,
    _alone: MutexGuard<'static, ()>,
}

impl Stage {
    /// `None` without a real Kafka: the mock cluster neither fences writers nor keeps what is not committed from readers.
    fn start() -> Option<(Self, Process)> {
        let Ok(servers) = env::var("AGENTHUB_TEST_KAFKA") else {
            eprintln!("skipped: AGENTHUB_TEST_KAFKA names no Kafka");
            return None;
        };
        let alone = alone_with_kafka();
        let runtime = Runtime::new().expect("threads");
        let bus = runtime.block_on(KafkaBus::connect(Settings::new(&*servers)));
        let (system, hub) = System::durable_broker();
        let stage = Self {
            system,
            servers,
            prefix: format!("t{}", &Uuid::new_v4().simple().to_string()[..12]),
            bus: bus.expect("it is there"),
            runtime,
            _alone: alone,
        };
        Some((stage, hub))
    }

    /// Kills Kafka and starts it again, if its folder is known.
    fn restart_kafka(&self) {
        let Ok(folder) = env::var("AGENTHUB_TEST_KAFKA_FOLDER") else {
            return;
        };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/services");
        let restarted = Command::new(script).args(["restart", &folder]).output();
        let restarted = restarted.expect("it runs");
        assert!(restarted.status.success(), "{restarted:?}");
    }

    fn topic(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix)
    }

    /// A connector under the stage's name, from its start on.
    fn connector_later(&self) -> Process {
        let args = [
            "connect",
            "kafka",
            "--json",
            "--kafka",
            &self.servers,
            "--name",
            &self.prefix,
            "--messages",
            &format!("orders.*={}", self.topic("messages")),
            "--tasks",
            &format!("*={}", self.topic("tasks")),
            "--to-agent",
            &format!("{}=counting", self.topic("in")),
            "--metrics",
            "127.0.0.1:0",
        ];
        self.system.start(&args)
    }

    fn connector(&self) -> Process {
        let connector = self.connector_later();
        connector.line("that it carries");
        connector
    }

    fn client(&self, id: &str) -> Client {
        let client = Client::builder(self.system.hub()).agent_id(id).connect();
        self.runtime.block_on(client).expect("the hub is there")
    }

    /// Committed records of a topic, until `is_all` says that these are all.
    fn records(&self, topic: &str, mut is_all: impl FnMut(&[Record]) -> bool) -> Vec<Record> {
        let reading = async {
            let until = Instant::now() + PATIENCE;
            // Kafka may be about to start again.
            let extents = loop {
                match self.bus.extents(topic).await {
                    Ok(extents) => break extents,
                    Err(error) => assert!(Instant::now() < until, "{error}"),
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            };
            let from = extents
                .into_iter()
                .map(|extent| (extent.partition, extent.first));
            let mut reader = self.bus.read(from).expect("a reader");
            let mut records = Vec::new();
            while !is_all(&records) && Instant::now() < until {
                if let Ok(next) = timeout(Duration::from_secs(1), reader.next()).await {
                    records.extend(next);
                }
            }
            // Whatever is doubled is there by now.
            while let Ok(Ok(record)) = timeout(Duration::from_secs(1), reader.next()).await {
                records.push(record);
            }
            records
        };
        self.runtime.block_on(reading)
    }

    /// The texts of the messages that the hub has of the connector, in their order, each as often as the hub has it.
    fn taken_in(&self, after: &str, mut is_all: impl FnMut(&[String]) -> bool) -> Vec<String> {
        let watcher = self.client("watcher");
        let request = SubscribeToAgentEventsRequest {
            agent_id: "watcher".to_owned(),
            event_types: vec!["message".to_owned()],
            after: after.to_owned(),
            observe: true,
            ..Default::default()
        };
        let sender = format!("connect-{}", self.prefix);
        self.runtime.block_on(async {
            let mut events = watcher.agent_events(request).await.expect("a stream");
            let mut texts = Vec::new();
            let until = Instant::now() + PATIENCE;
            loop {
                match timeout(Duration::from_secs(1), events.next()).await {
                    Ok(next) => {
                        let event = next.expect("a stream").expect("an event");
                        if event.sender() == sender
                            && let Some(Payload::Message(message)) = event.payload
                            && !message.text().is_empty()
                        {
                            texts.push(message.text());
                        }
                    }
                    Err(_) if is_all(&texts) || Instant::now() > until => return texts,
                    Err(_) => {}
                }
            }
        })
    }
}

fn body<T: serde::de::DeserializeOwned>(record: &Record) -> T {
    let body = record.body.as_deref().expect("a body");
    serde_json::from_slice(body).expect("it fits the type that its schema is of")
}

/// `conversation:number`, which are in order within a conversation.
fn text(number: usize) -> String {
    format!("{}:{number:04}", number % CONVERSATIONS)
}

/// Checks that each text is there once, those of a conversation in their order.
fn assert_each_once_and_in_order(texts: &[String]) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    for number in 0..COUNT {
        let text = text(number);
        assert_eq!(counts.get(&*text), Some(&1), "{text}, of {}", texts.len());
    }
    for conversation in 0..CONVERSATIONS {
        let own = format!("{conversation}:");
        let own: Vec<&String> = texts.iter().filter(|text| text.starts_with(&own)).collect();
        assert!(own.is_sorted(), "{own:?}");
    }
}

#[test]
fn events_and_records_pass_once_and_in_order_while_connector_and_hub_are_killed() {
    let Some((stage, mut hub)) = Stage::start() else {
        return;
    };
    let handled = Arc::<Mutex<BTreeSet<String>>>::default();
    let seen = Arc::clone(&handled);
    let agent = Agent::worker(Card::new("counting", "Counts")).on_any(move |task: TaskContext| {
        let seen = Arc::clone(&seen);
        async move {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert(task.message().text());
            Reply::text("counted")
        }
    });
    let agent = stage.runtime.block_on(agent.start(stage.system.hub()));
    let _agent = agent.expect("it is there");
    let sender = stage.client("sender");
    let mut connector = stage.connector();
    let before = stage.runtime.block_on(sender.publish(
        HubMessage::new(Role::User, "before"),
        AgentEventMetadata::of_event("start"),
    ));
    let before = before.expect("it is taken").position;

    let publishing = stage.runtime.spawn(async move {
        for number in 0..COUNT {
            let message = HubMessage {
                context_id: format!("conversation-{}", number % CONVERSATIONS),
                ..HubMessage::new(Role::User, text(number))
            };
            let routing = AgentEventMetadata {
                event_type: "orders.new".to_owned(),
                subscriptions: vec!["orders.new".to_owned()],
                matching_only: true,
                ..AgentEventMetadata::default()
            };
            while let Err(error) = sender.publish(message.clone(), routing.clone()).await {
                assert!(error.is_retryable(), "{error}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    // A record that is written while Kafka starts again may time out, and be there all the same.
    let kafka_is_up = Arc::new(tokio::sync::Mutex::new(()));
    let is_up = Arc::clone(&kafka_is_up);
    let (bus, topic) = (stage.bus.clone(), stage.topic("in"));
    let writing = stage.runtime.spawn(async move {
        for number in 0..COUNT {
            let _up = is_up.lock().await;
            let key = format!("conversation-{}", number % CONVERSATIONS);
            let record = Message {
                body: text(number).into(),
                ..Message::json(format!("r{number}"), key, &serde_json::Value::Null)
            };
            bus.publish(&topic, &[record]).await.expect("it is written");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    for kill in 0..KILLS {
        sleep(Duration::from_millis(250 + 170 * (kill as u64 % 4)));
        connector.kill();
        if kill % 3 == 2 {
            hub.kill();
            hub = stage.system.start_durable_broker();
        }
        if kill == KILLS / 2 {
            let _down = stage.runtime.block_on(kafka_is_up.lock());
            stage.restart_kafka();
        }
        connector = match kill % 2 {
            // Killed again soon, perhaps before it carries anything.
            0 => stage.connector_later(),
            _ => stage.connector(),
        };
    }
    stage.runtime.block_on(publishing).expect("it publishes");
    stage.runtime.block_on(writing).expect("it writes");

    let mirrored = stage.records(&stage.topic("messages"), |records| records.len() >= COUNT);
    let said = connector.said();
    assert!(
        mirrored.len() >= COUNT,
        "{} are there\n{said}",
        mirrored.len()
    );
    let mut order: Vec<(i32, i64, String)> = mirrored
        .iter()
        .map(|record| {
            let message: MirroredMessage = body(record);
            let text = message.parts[0].text.clone().expect("a text");
            (record.partition.number, record.offset, text)
        })
        .collect();
    order.sort();
    let texts: Vec<String> = order.into_iter().map(|(.., text)| text).collect();
    assert_each_once_and_in_order(&texts);
    let ids: BTreeSet<&str> = mirrored.iter().filter_map(|r| r.header("ce_id")).collect();
    assert_eq!(ids.len(), COUNT, "each is an event of its own");

    let taken = stage.taken_in(&before, |texts| texts.len() >= COUNT);
    assert_each_once_and_in_order(&taken);
    let handled = handled.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(handled.len(), COUNT, "the agent has them all");

    let is_last = |record: &&Record| body::<MirroredState>(record).is_final;
    let states = stage.records(&stage.topic("tasks"), |records| {
        records.iter().filter(is_last).count() >= COUNT
    });
    let ended: Vec<String> = states
        .iter()
        .filter(is_last)
        .map(|record| body::<MirroredState>(record).task_id)
        .collect();
    assert_eq!(ended.len(), COUNT, "one end for each record");
    assert_eq!(ended.iter().collect::<BTreeSet<_>>().len(), COUNT);
    connector.kill();
}

#[test]
fn a_later_connector_takes_the_place_of_one_of_its_name_and_nothing_is_doubled() {
    let Some((stage, _hub)) = Stage::start() else {
        return;
    };
    let earlier = stage.connector();
    let later = stage.connector();
    let sender = stage.client("sender");
    for number in 0..COUNT {
        let message = HubMessage {
            context_id: format!("conversation-{}", number % CONVERSATIONS),
            ..HubMessage::new(Role::User, text(number))
        };
        let routing = AgentEventMetadata {
            event_type: "orders.new".to_owned(),
            subscriptions: vec!["orders.new".to_owned()],
            matching_only: true,
            ..AgentEventMetadata::default()
        };
        let published = stage.runtime.block_on(sender.publish(message, routing));
        published.expect("it is taken");
    }
    let ended = earlier.wait();
    assert_eq!(ended.code, Some(1));
    let words = "One connector of a name works at a time";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
    let mirrored = stage.records(&stage.topic("messages"), |records| records.len() >= COUNT);
    assert_eq!(mirrored.len(), COUNT);
    // Its metrics say what it has carried, and that nothing waits.
    let written = format!(
        "agenthub_connect_records_written_total{{topic=\"{}\"}} ",
        stage.topic("messages")
    );
    eventually("its metrics say what it has written", || {
        let text = scraped(&later);
        let line = text.lines().find_map(|line| line.strip_prefix(&written))?;
        let count: usize = line.parse().expect("a number");
        let is_idle = text.contains("agenthub_connect_pending_seconds{way=\"out\"} 0\n");
        (count > 0 && count <= COUNT && is_idle).then_some(())
    });
    later.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(later.wait().code, Some(0));
}

#[test]
fn wrong_settings_are_refused_with_what_to_do() {
    let system = System::bare(crate::harness::free_address());
    for (args, words) in [
        (&["connect", "kafka"][..], "nothing is to be carried"),
        (&["connect", "kafka", "--tasks", "a=b"], "--kafka HOST:PORT"),
        (
            &["connect", "kafka", "--messages", "a*b=c"],
            "at the end alone",
        ),
        (
            &["connect", "kafka", "--to-agent", "a b=c"],
            "no topic of Kafka",
        ),
    ] {
        let finished = system.run(args, "");
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert!(finished.stderr.contains(words), "{}", finished.stderr);
    }
}
