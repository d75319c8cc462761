//! Transactions on a real Kafka.

use rdkafka::producer::{FutureProducer, Producer as _};

use super::*;

fn record(topic: &str, key: &str, body: &str) -> NewRecord {
    NewRecord {
        topic: topic.to_owned(),
        key: Some(Bytes::copy_from_slice(key.as_bytes())),
        headers: vec![Header::text("h", "of a test, zwölf")],
        body: Some(Bytes::copy_from_slice(body.as_bytes())),
    }
}

/// The committed records of a topic, by partition.
async fn committed(bus: &KafkaBus, topic: &str, count: usize) -> Vec<Record> {
    let extents = bus.extents(topic).await.expect("it is there");
    let from = extents
        .into_iter()
        .map(|extent| (extent.partition, extent.first));
    let mut reader = bus.read(from).expect("a reader");
    let mut records = Vec::new();
    while records.len() < count {
        let next = timeout(ANSWER, reader.next()).await.expect("in time");
        records.push(next.expect("a record"));
    }
    records
}

async fn a_later_writer_takes_over(bus: &KafkaBus) {
    let prefix = Uuid::new_v4().simple().to_string();
    let (data, places) = (format!("{prefix}.data"), format!("{prefix}.places"));
    bus.ensure_there(&data).await.expect("it is made");
    bus.ensure_there(&places).await.expect("it is made");
    let id = format!("{prefix}.writer");
    let first = bus.transactions(&id).await.expect("a writer");
    first
        .write([record(&data, "k", "one"), record(&places, "p", "1")])
        .await
        .expect("it is written");
    let second = bus.transactions(&id).await.expect("another");
    let refused = first.write([record(&data, "k", "lost")]).await;
    let error = refused.expect_err("its place is taken").to_string();
    assert!(error.contains("taken over"), "{error}");
    second
        .write([
            record(&data, "k", "two"),
            record(&places, "p", "2"),
            record(&places, "q", "1"),
        ])
        .await
        .expect("it is written");

    let got = committed(bus, &data, 2).await;
    let bodies: Vec<&[u8]> = got.iter().flat_map(|r| r.body.as_deref()).collect();
    assert_eq!(bodies, [b"one", b"two"], "each once and in order");
    assert_eq!(got[0].header("h"), Some("of a test, zwölf"));
    assert_eq!(got[0].key.as_deref(), Some(&b"k"[..]));
    let latest = bus.latest(&places).await.expect("it is read");
    let expected: BTreeMap<String, Bytes> = [("p", "2"), ("q", "1")]
        .map(|(key, body)| (key.to_owned(), body.into()))
        .into();
    assert_eq!(latest, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_kafka_has_one_writer_of_transactions_under_an_id() {
    let Ok(servers) = env::var("AGENTHUB_TEST_KAFKA") else {
        return;
    };
    let bus = KafkaBus::connect(Settings::new(servers))
        .await
        .expect("it is there");
    for name in ["compacted", "again"] {
        let topic = format!("{}.{name}", Uuid::new_v4().simple());
        for _ in 0..2 {
            bus.ensure_compacted(&topic).await.expect("it fits");
        }
        let extents = bus.extents(&topic).await.expect("it is there");
        assert_eq!(extents.len(), 1);
    }
    let lossy = Uuid::new_v4().simple().to_string();
    let one = KafkaBus::connect(Settings {
        topics: Topics {
            partitions: 1,
            ..Topics::default()
        },
        ..bus.settings.clone()
    });
    let one = one.await.expect("it is there");
    one.ensure_there(&lossy).await.expect("it is made");
    let refused = bus.ensure_compacted(&lossy).await.expect_err("it deletes");
    assert!(refused.to_string().contains("cleanup.policy"), "{refused}");
    a_later_writer_takes_over(&bus).await;
}

/// A part of a transaction is not seen before its end, nor once its writer is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_kafka_takes_back_what_a_dead_writer_had_not_committed() {
    let Ok(servers) = env::var("AGENTHUB_TEST_KAFKA") else {
        return;
    };
    let bus = KafkaBus::connect(Settings::new(servers))
        .await
        .expect("it is there");
    let topic = format!("{}.torn", Uuid::new_v4().simple());
    bus.ensure_there(&topic).await.expect("it is made");
    let id = format!("{topic}.writer");
    let torn: FutureProducer = bus
        .settings
        .transactional_producer(&id)
        .expect("settings")
        .create()
        .expect("a producer");
    let sending = topic.clone();
    tokio::task::spawn_blocking(move || {
        torn.init_transactions(ANSWER).expect("it begins");
        torn.begin_transaction().expect("it begins");
        let record = FutureRecord::to(&sending).key("k").payload("torn");
        torn.send_result(record).expect("there is room");
        torn.flush(ANSWER).expect("it is there, not committed");
    })
    .await
    .expect("it runs");
    let next = bus.transactions(&id).await.expect("another");
    next.write([record(&topic, "k", "whole")])
        .await
        .expect("it is written");
    let got = committed(&bus, &topic, 1).await;
    assert_eq!(got[0].body.as_deref(), Some(&b"whole"[..]));
    let Partition { topic: of, .. } = &got[0].partition;
    assert_eq!(*of, topic);
}
