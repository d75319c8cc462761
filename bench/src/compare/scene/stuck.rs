//! Stuck subscribers, whose connections live but who read nothing: their cost for the others, and for the hub.

use std::{net::SocketAddr, time::Duration};

use tokio::{task::JoinSet, time::interval};

use super::{
    MIB, Stage,
    crowd::Crowd,
    link::{Link, Room},
    peers, ratio,
};
use crate::compare::{
    measure::Pace, message::TOPIC, report::Ratio, server::Server, system::System,
};

const SUBSCRIBERS: usize = 1000;

/// Fills the buffers of a stuck subscriber: messages in flight to each of the others.
const FILL: Pace = Pace::Delivered(64);
const FILLING: Duration = Duration::from_millis(300);

/// Publishes per second while latencies are measured, and the duration as a multiple of other measurements: one second
/// has few samples.
const STEADY: Pace = Pace::Rate(20);
const LONGER: u32 = 2;

/// Publishes per second while nobody reads, and the duration as a multiple of other measurements: until the hub has
/// disconnected them.
const FLOOD: Pace = Pace::Rate(200);
const FLOODED: u32 = 10;

/// Maximum memory for many stuck subscribers, in MiB.
const MOST_MIB: f64 = 256.0;

/// Interval of memory readings.
const LOOK: Duration = Duration::from_millis(100);

/// p99 of the others with a stuck subscriber, relative to that without: each is measured twice, and the lower one
/// counts, to exclude a slow moment of the machine.
pub(super) async fn one(stage: &Stage) -> anyhow::Result<Vec<Ratio>> {
    let (server, _folder) = stage.hub(System::HubMemory).await?;
    let mut crowd = gather(&server, SUBSCRIBERS, true).await?;
    let (mut with, mut without) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..2 {
        without = without.min(p99(&mut crowd, &server, stage.length).await?);
        let stuck = stuck(server.address(), 1).await?;
        with = with.min(p99(&mut crowd, &server, stage.length).await?);
        drop(stuck);
    }
    Ok(vec![ratio(with, without)])
}

async fn p99(crowd: &mut Crowd, server: &Server, length: Duration) -> anyhow::Result<f64> {
    crowd.measure(server, FILL, FILLING).await?;
    let measured = crowd.measure(server, STEADY, length * LONGER).await?;
    Ok(measured.percentile_ms(99))
}

/// Maximum memory of the hub with all subscribers stuck, minus that with all of them reading.
pub(super) async fn all(stage: &Stage) -> anyhow::Result<Vec<Ratio>> {
    let reading = flooded(stage, SUBSCRIBERS, 0).await?;
    let stuck = flooded(stage, 1, SUBSCRIBERS).await?;
    Ok(vec![ratio((stuck - reading).max(0.0) / MIB, MOST_MIB)])
}

/// Maximum memory of a flooded hub, in bytes.
async fn flooded(stage: &Stage, readers: usize, are_stuck: usize) -> anyhow::Result<f64> {
    let (server, _folder) = stage.hub(System::HubMemory).await?;
    let mut crowd = gather(&server, readers, false).await?;
    let _stuck = stuck(server.address(), are_stuck).await?;
    let flooding = crowd.measure(&server, FLOOD, stage.length * FLOODED);
    tokio::pin!(flooding);
    let mut looks = interval(LOOK);
    let mut most = 0;
    loop {
        tokio::select! {
            flooded = &mut flooding => return flooded.map(|_| most as f64),
            _ = looks.tick() => most = most.max(server.memory()?),
        }
    }
}

async fn gather(server: &Server, readers: usize, with_latencies: bool) -> anyhow::Result<Crowd> {
    let topics = vec![TOPIC.to_owned()];
    let of = |_| topics.clone();
    let fan_out = readers as u64;
    Crowd::gather(server, readers, of, topics.clone(), fan_out, with_latencies).await
}

/// Subscribers that read nothing until dropped, but answer pings and send heartbeats.
async fn stuck(hub: SocketAddr, count: usize) -> anyhow::Result<JoinSet<()>> {
    let mut stuck = JoinSet::new();
    for number in 0..count {
        let hello = peers::subscriber(&format!("stuck-{number}"), vec![TOPIC.to_owned()]);
        let link = Link::open(hub, hello, Room::Narrow).await?;
        stuck.spawn(link.stay());
    }
    Ok(stuck)
}
