//! Many agents that connect at the same moment, as after a network failure: each over its own connection, with a card
//! and a subscription.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context as _;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{
    MIB, Stage,
    link::{Link, Room},
    peers, ratio,
};
use crate::compare::{
    report::{Ratio, Sample},
    system::System,
};

const AGENTS: usize = 10_000;

/// Open files of a process besides its connections.
const OTHER_FILES: u64 = 200;

/// Maximum p99 of the time to the welcome, in seconds, and maximum memory of the hub, in MiB.
const P99_S: f64 = 5.0;
const MOST_MIB: f64 = 300.0;

/// Timeout of an agent's connection.
const LONGEST: Duration = Duration::from_secs(30);

/// Pause before the hub's memory is read.
const CALM: Duration = Duration::from_secs(1);

/// Share of welcomed agents, p99 of the time to the welcome in seconds, and the hub's memory with all of them in MiB.
/// `None` if the system does not allow so many connections.
pub(super) async fn play(stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
    if !allow_files(AGENTS as u64 + OTHER_FILES) {
        eprintln!(
            "a process may not have {AGENTS} connections here: its limit of open files cannot be raised so far"
        );
        return Ok(None);
    }
    // The hub inherits the limit of this process.
    let (server, _folder) = stage.hub(System::HubSynced).await?;
    let (go, start) = watch::channel(None);
    let (welcomed, mut waits) = mpsc::channel(AGENTS);
    let mut agents = JoinSet::new();
    for number in 0..AGENTS {
        let (hub, start, welcomed) = (server.address(), start.clone(), welcomed.clone());
        agents.spawn(arrive(hub, number, start, welcomed));
    }
    drop(welcomed);
    go.send_replace(Some(Instant::now()));
    let mut waited = Vec::with_capacity(AGENTS);
    let mut failed = Vec::new();
    while let Some(wait) = waits.recv().await {
        match wait {
            Ok(wait) => waited.push(wait),
            Err(error) => failed.push(error),
        }
    }
    if let Some(error) = failed.first() {
        let count = failed.len();
        eprintln!("{count} of {AGENTS} agents were not welcomed, one of them: {error:#}");
    }
    sleep(CALM).await;
    let cpu = server.cpu()?.as_secs_f64() * 1e6;
    let memory = server.memory()? as f64 / MIB;
    Ok(Some(vec![
        Ratio {
            hub: Sample {
                figure: waited.len() as f64,
                cpu_us: Some(cpu / AGENTS as f64),
            },
            other: (AGENTS as f64).into(),
        },
        ratio(p99(waited, AGENTS).as_secs_f64(), P99_S),
        ratio(memory, MOST_MIB),
    ]))
}

/// Connects on a signal, reports the time to the welcome, and stays.
async fn arrive(
    hub: SocketAddr,
    number: usize,
    mut start: watch::Receiver<Option<Instant>>,
    welcomed: mpsc::Sender<anyhow::Result<Duration>>,
) {
    let Ok(began) = start.wait_for(Option::is_some).await.map(|began| *began) else {
        return;
    };
    let connecting = timeout(LONGEST, Link::open(hub, peers::agent(number), Room::Wide));
    let (wait, link) = match connecting.await.context("it takes too long").flatten() {
        Ok(link) => (
            Ok(began.map_or(Duration::ZERO, |began| began.elapsed())),
            Some(link),
        ),
        Err(error) => (Err(error), None),
    };
    // The channel has room for every agent.
    let _ = welcomed.try_send(wait);
    drop(welcomed);
    if let Some(link) = link {
        link.stay().await;
    }
}

/// The p99 of these times; agents without a welcome count with the timeout.
fn p99(mut waited: Vec<Duration>, count: usize) -> Duration {
    waited.resize(count, LONGEST);
    waited.sort_unstable();
    waited[count.saturating_sub(1) * 99 / 100]
}

/// Raises the limit of open files of this process and its children, as far as possible; true if it suffices.
pub(super) fn allow_files(count: u64) -> bool {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= count) {
        return true;
    }
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).is_ok() && limit.maximum.is_none_or(|most| most >= count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_never_came_waited_longest() {
        let waited = |count| vec![Duration::from_secs(1); count];
        assert_eq!(p99(waited(99), 100), Duration::from_secs(1));
        assert_eq!(p99(waited(98), 100), LONGEST);
        assert_eq!(p99(waited(100), 100), Duration::from_secs(1));
    }
}
