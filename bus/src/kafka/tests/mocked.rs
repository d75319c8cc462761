//! The contract on the mock cluster alone, and failures that it makes.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kafka_keeps_the_promises_of_a_bus() {
    let (_cluster, bus) = mocked().await;
    contract::keeps_its_promises(&bus, &bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_whose_partition_stands_still_gives_itself_up_and_the_next_one_goes_on() {
    let (cluster, bus) = mocked().await;
    let shared = Shared::new(&bus);
    let watch = Watch {
        look: Duration::from_millis(300),
        patience: Duration::from_secs(1),
        ..Watch::default()
    };
    let group = shared.group(4);
    let mut config = bus.settings.member(&group).expect("settings");
    config.set("statistics.interval.ms", "100");
    let mut patient = member::join(&config, group.clone(), Watch::default()).expect("it joins");
    let sent = shared.publish("before").await;
    take(sent, &mut patient, None).await;
    patient.leave().await;
    // Nothing waits while this one comes to read.
    let mut stands = member::join(&config, group.clone(), watch.clone()).expect("it joins");
    cluster.refuse_reading(true);
    let sent = shared.publish("after").await;
    let over = timeout(PATIENCE, stands.next()).await.expect("it is said");
    let Err(BusError::Unavailable(why)) = over else {
        panic!("{over:?}");
    };
    let expected = format!(" of {} stands still at offset ", shared.name);
    assert!(why.contains(&expected), "{why}");
    stands.leave().await;
    cluster.refuse_reading(false);
    let mut next = member::join(&config, group, watch).expect("it joins");
    take(sent, &mut next, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_that_ends_is_made_anew() {
    let (cluster, bus) = mocked().await;
    let shared = Shared::new(&bus);
    shared.publish("before").await;
    cluster.miss_once();
    let message = [Message::json("m", "key", &json!({}))];
    let refused = bus.publish(&shared.name, &message).await;
    assert!(
        matches!(refused, Err(BusError::Unavailable(_))),
        "{refused:?}"
    );
    let published = timeout(PATIENCE, bus.publish(&shared.name, &message)).await;
    published.expect("in time").expect("it is taken");
}

/// Partitions go and come back, and nobody says where they begin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_whose_partitions_never_begin_gives_itself_up_and_the_next_one_has_what_was_out() {
    let (cluster, bus) = mocked().await;
    let shared = Shared::new(&bus);
    let sent = shared.publish("all").await;
    let mut one = shared.join(64).await;
    let mut out = Vec::new();
    while out.len() < sent.len() {
        out.push(next(&mut one).await);
    }
    cluster.refuse_offsets(true);
    // Some of them go, and come back with the second member's end.
    let mut two = shared.join(64).await;
    let over = timeout(PATIENCE, two.next()).await.expect("it is said");
    assert!(matches!(over, Err(BusError::Unavailable(_))), "{over:?}");
    two.leave().await;
    let over = timeout(PATIENCE, one.next()).await.expect("it is said");
    assert!(matches!(over, Err(BusError::Unavailable(_))), "{over:?}");
    drop(out);
    one.leave().await;
    cluster.refuse_offsets(false);
    let mut next = shared.join(64).await;
    take(sent, &mut next, None).await;
}
