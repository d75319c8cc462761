//! The contract on Kafka: on the mock cluster of librdkafka, and on the real one that `AGENTHUB_TEST_KAFKA` names. Transactions on the real one
//! alone, as the mock cluster fences no writer and shows readers what is not committed.

mod mocked;
mod transactions;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    sync::{Mutex, mpsc},
    thread,
    time::Duration,
};

use bytes::Bytes;
use rdkafka::{
    ClientContext, Offset, TopicPartitionList,
    admin::{AdminClient, AdminOptions},
    client::DefaultClientContext,
    consumer::{BaseConsumer, Consumer as _, ConsumerContext, Rebalance},
    error::KafkaResult,
    producer::{BaseProducer, BaseRecord, Producer as _},
};
use serde_json::json;
use tokio::{
    sync::oneshot,
    time::{sleep, timeout},
};
use uuid::Uuid;

use super::{settings::ANSWER, *};
use crate::{Delivery, Header, NewRecord, Partition, Record, contract};

/// Longest time until messages come. The mock cluster takes 9 s for each rebalance.
const PATIENCE: Duration = Duration::from_secs(60);

/// A mock cluster, and the bus that it is.
async fn mocked() -> (MockKafka, KafkaBus) {
    let cluster = MockKafka::start();
    let settings = Settings {
        // It knows nothing of making topics, and has each that is asked for.
        topics: Topics {
            make: false,
            partitions: 2,
            ..Topics::default()
        },
        ..Settings::new(cluster.servers())
    };
    let bus = KafkaBus::connect(settings).await.expect("it is there");
    (cluster, bus)
}

/// The Kafka that `AGENTHUB_TEST_KAFKA` names, or a mock cluster.
async fn any_kafka() -> (Option<MockKafka>, KafkaBus) {
    let Ok(servers) = env::var("AGENTHUB_TEST_KAFKA") else {
        let (cluster, bus) = mocked().await;
        return (Some(cluster), bus);
    };
    let bus = KafkaBus::connect(Settings::new(servers)).await;
    (None, bus.expect("it is there"))
}

/// A topic with a group, whose names were never used.
struct Shared<'a> {
    bus: &'a KafkaBus,
    name: String,
}

impl<'a> Shared<'a> {
    fn new(bus: &'a KafkaBus) -> Self {
        let name = Uuid::new_v4().simple().to_string();
        Self { bus, name }
    }

    fn group(&self, in_flight: usize) -> Group {
        Group {
            in_flight,
            ..Group::new(&*self.name, [&*self.name])
        }
    }

    async fn join(&self, in_flight: usize) -> Consumer {
        let joined = self.bus.join(self.group(in_flight)).await;
        joined.expect("it joins")
    }

    /// Publishes messages, some for each partition.
    async fn publish(&self, wave: &str) -> BTreeSet<String> {
        let ids: Vec<String> = (0..24).map(|n| format!("{wave}-{n}")).collect();
        let messages = ids.iter().enumerate();
        let messages = messages.map(|(n, id)| Message::json(id, format!("key-{n}"), &json!({})));
        let messages: Vec<Message> = messages.collect();
        let published = self.bus.publish(&self.name, &messages).await;
        published.expect("it is taken");
        ids.into_iter().collect()
    }
}

async fn next(member: &mut Consumer) -> Delivery {
    let next = timeout(PATIENCE, member.next()).await;
    next.expect("a message comes").expect("it is a member")
}

/// Takes and acknowledges what comes to either member until all of these have come.
async fn take(mut left: BTreeSet<String>, one: &mut Consumer, mut two: Option<&mut Consumer>) {
    let taking = async {
        while !left.is_empty() {
            let got = match &mut two {
                None => one.next().await,
                Some(two) => tokio::select! {
                    got = one.next() => got,
                    got = two.next() => got,
                },
            };
            let got = got.expect("it is a member");
            left.remove(&got.message.id);
            got.acknowledge();
        }
    };
    let taken = timeout(PATIENCE, taking).await;
    assert!(taken.is_ok(), "these do not come: {left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_went_while_there_was_no_room_is_read_when_it_is_back() {
    let (_cluster, bus) = any_kafka().await;
    let shared = Shared::new(&bus);
    let mut one = shared.join(1).await;
    let mut sent = shared.publish("first").await;
    let out = next(&mut one).await;
    // It is full for long enough to be paused.
    sleep(member::PATIENCE * 3).await;
    let mut two = shared.join(64).await;
    let first = next(&mut two).await;
    for got in [out, first] {
        sent.remove(&got.message.id);
        got.acknowledge();
    }
    take(sent, &mut one, Some(&mut two)).await;
    two.leave().await;
    let sent = shared.publish("second").await;
    take(sent, &mut one, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_to_be_taken_from_a_member_is_not_lost_when_partitions_go() {
    let (_cluster, bus) = any_kafka().await;
    let shared = Shared::new(&bus);
    let mut one = shared.join(24).await;
    let mut sent = shared.publish("first").await;
    // All are out, and nobody has taken them yet, when the second member gets some of the partitions.
    sleep(member::PATIENCE * 3).await;
    let mut two = shared.join(64).await;
    let first = next(&mut two).await;
    sent.remove(&first.message.id);
    first.acknowledge();
    sent.extend(shared.publish("second").await);
    // There is room for some of these, by what is out.
    sleep(member::PATIENCE * 3).await;
    take(sent, &mut one, Some(&mut two)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_kafka_keeps_the_promises_of_a_bus() {
    let Ok(servers) = env::var("AGENTHUB_TEST_KAFKA") else {
        return;
    };
    let bus = KafkaBus::connect(Settings::new(servers))
        .await
        .expect("it is there");
    contract::keeps_its_promises(&bus, &bus).await;
}

/// A member whose connection was cut off may be taken for dead, and come back under its name beside what Kafka still has of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_joins_again_under_its_name_has_what_was_out_and_the_earlier_one_has_ended() {
    let Ok(servers) = env::var("AGENTHUB_TEST_KAFKA") else {
        return;
    };
    let bus = KafkaBus::connect(Settings::new(servers)).await;
    let bus = bus.expect("it is there");
    let (topic, group) = (Uuid::new_v4().to_string(), Uuid::new_v4().to_string());
    let group = Group {
        member: Some("one".to_owned()),
        ..Group::new(group, [&*topic])
    };
    let mut earlier = bus.join(group.clone()).await.expect("it joins");
    let message = Message::json("m", "key", &json!({}));
    bus.publish(&topic, &[message]).await.expect("it is taken");
    let patience = Duration::from_secs(20);
    let _out = timeout(patience, earlier.next()).await.expect("it comes");
    let mut later = bus.join(group).await.expect("it joins");
    let again = timeout(patience, later.next()).await.expect("it comes");
    assert_eq!(again.expect("a member").message.id, "m");
    let ended = timeout(patience, earlier.next()).await.expect("it is said");
    assert!(matches!(ended, Err(BusError::Unavailable(_))), "{ended:?}");
}

/// Markers of transactions are no messages, an open transaction is not read, and records may be gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_of_a_real_kafka_in_which_nothing_is_to_be_read_does_not_stand_still() {
    let Ok(servers) = env::var("AGENTHUB_TEST_KAFKA") else {
        return;
    };
    let bus = KafkaBus::connect(Settings::new(servers)).await;
    let bus = bus.expect("it is there");
    let shared = Shared::new(&bus);
    bus.ensure_there(&shared.name).await.expect("it is made");
    let watch = Watch {
        look: Duration::from_millis(300),
        patience: Duration::from_secs(1),
        ..Watch::default()
    };
    let group = shared.group(64);
    let mut config = bus.settings.member(&group).expect("settings");
    config.set("statistics.interval.ms", "100");
    let mut member = member::join(&config, group, watch).expect("it joins");
    let id = format!("{}.writer", shared.name);
    let writer = bus.settings.transactional_producer(&id).expect("settings");
    let writer: BaseProducer = writer.create().expect("a producer");
    let writer = Arc::new(writer);
    let write = async |key: &'static str, ends: fn(&BaseProducer) -> KafkaResult<()>| {
        let (writer, topic) = (Arc::clone(&writer), shared.name.clone());
        let written = tokio::task::spawn_blocking(move || {
            if key == "committed" {
                writer.init_transactions(ANSWER)?;
            }
            writer.begin_transaction()?;
            let record = BaseRecord::to(&topic).key("k").payload(key);
            writer.send(record).map_err(|(error, _)| error)?;
            writer.flush(ANSWER)?;
            ends(&writer)
        });
        written.await.expect("no panic").expect("it is written");
    };
    let quiet = async |member: &mut Consumer, after: &str| {
        // Longer than its patience.
        let next = timeout(Duration::from_secs(4), member.next()).await;
        assert!(next.is_err(), "{after}: {next:?}");
    };
    write("committed", |writer| writer.commit_transaction(ANSWER)).await;
    next(&mut member).await.acknowledge();
    quiet(&mut member, "a committed transaction").await;
    write("aborted", |writer| writer.abort_transaction(ANSWER)).await;
    quiet(&mut member, "an aborted transaction").await;
    let admin: AdminClient<DefaultClientContext> = bus
        .settings
        .producer()
        .and_then(|config| config.create().map_err(failure))
        .expect("a client");
    let mut before = TopicPartitionList::new();
    for extent in bus.extents(&shared.name).await.expect("it is there") {
        let end = Offset::Offset(extent.end);
        let added = before.add_partition_offset(&shared.name, extent.partition.number, end);
        added.expect("a partition");
    }
    let deleted = admin.delete_records(&before, &AdminOptions::new()).await;
    deleted.expect("they are deleted");
    quiet(&mut member, "records that are gone").await;
    write("open", |_| Ok(())).await;
    quiet(&mut member, "an open transaction").await;
    let sent = shared.publish("others").await;
    let ended = tokio::task::spawn_blocking(move || writer.commit_transaction(ANSWER)).await;
    ended.expect("no panic").expect("it ends");
    take(sent, &mut member, None).await;
}

/// Stops for good where it is to give partitions up, as one does that dies there.
struct Dying {
    is_there: Mutex<mpsc::Sender<()>>,
    goes_on: Mutex<mpsc::Receiver<()>>,
}

impl ClientContext for Dying {}

impl ConsumerContext for Dying {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(_) = rebalance {
            let _ = self.is_there.lock().expect("no panic").send(());
            let _ = self.goes_on.lock().expect("no panic").recv();
        }
    }
}

/// A member gives partitions up in one rebalance, and another one gets them in the next. In between, nobody has them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_dies_between_two_rebalances_and_is_back_under_its_name_leaves_no_partition_to_nobody()
 {
    let Ok(servers) = env::var("AGENTHUB_TEST_KAFKA") else {
        return;
    };
    let bus = KafkaBus::connect(Settings::new(servers)).await;
    let bus = bus.expect("it is there");
    let shared = Shared::new(&bus);
    let named = Group {
        member: Some("one".to_owned()),
        ..shared.group(64)
    };
    shared.publish("before").await;
    let (is_there, there) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel();
    let config = bus.settings.member(&named).expect("settings");
    let topic = shared.name.clone();
    let (has_some, some) = oneshot::channel();
    let dying = thread::spawn(move || {
        let (is_there, goes_on) = (Mutex::new(is_there), Mutex::new(goes_on));
        let dying = Dying { is_there, goes_on };
        let dying: BaseConsumer<_> = config.create_with_context(dying).expect("a client");
        dying.subscribe(&[&topic]).expect("it joins");
        while !matches!(dying.poll(ANSWER), Some(Ok(_))) {}
        let _ = has_some.send(());
        // Until it is to give some up, and then until it is let go, when the other one of its name is there.
        while !matches!(dying.poll(ANSWER), Some(Err(_))) {}
    });
    timeout(PATIENCE, some)
        .await
        .expect("in time")
        .expect("it reads");
    let mut two = shared.join(64).await;
    let waited = tokio::task::spawn_blocking(move || there.recv_timeout(PATIENCE)).await;
    waited.expect("no panic").expect("it is to give some up");
    let watch = Watch {
        look: Duration::from_secs(1),
        ..Watch::default()
    };
    let config = bus.settings.member(&named).expect("settings");
    let mut one = member::join(&config, named, watch).expect("it joins");
    let sent = shared.publish("after").await;
    take(sent, &mut one, Some(&mut two)).await;
    drop(go_on);
    dying.join().expect("no panic");
}
