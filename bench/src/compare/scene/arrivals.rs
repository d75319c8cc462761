//! Many agents that connect at the same moment, as after a break of the network: each over a connection of its own, with a card and a
//! subscription.

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
    people, ratio,
};
use crate::compare::{
    report::{Ratio, Sample},
    system::System,
};

const AGENTS: usize = 10_000;

/// What a process has open beside its connections.
const OTHER_FILES: u64 = 200;

/// The longest that 99 of 100 may wait for their welcome, in seconds, and the most memory of the hub, in MiB.
const P99_S: f64 = 5.0;
const MOST_MIB: f64 = 300.0;

/// How long one may take before it does not count.
const LONGEST: Duration = Duration::from_secs(30);

/// How long the hub has to calm down before its memory is looked at.
const CALM: Duration = Duration::from_secs(1);

/// The share of those that were welcomed, the p99 of the time to that in seconds, and the hub's memory with all of them in MiB. `None` where
/// the system does not allow so many connections.
pub(super) async fn play(stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
    if !allow_files(AGENTS as u64 + OTHER_FILES) {
        eprintln!(
            "a process may not have {AGENTS} connections here: its limit of open files cannot be raised so far"
        );
        return Ok(None);
    }
    // The hub has the limit of this process.
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

/// Connects when told to, says how long it took until the welcome, and stays.
async fn arrive(
    hub: SocketAddr,
    number: usize,
    mut start: watch::Receiver<Option<Instant>>,
    welcomed: mpsc::Sender<anyhow::Result<Duration>>,
) {
    let Ok(began) = start.wait_for(Option::is_some).await.map(|began| *began) else {
        return;
    };
    let connecting = timeout(LONGEST, Link::open(hub, people::agent(number), Room::Wide));
    let (wait, link) = match connecting.await.context("it takes too long").flatten() {
        Ok(link) => (
            Ok(began.map_or(Duration::ZERO, |began| began.elapsed())),
            Some(link),
        ),
        Err(error) => (Err(error), None),
    };
    // There is room for every agent.
    let _ = welcomed.try_send(wait);
    drop(welcomed);
    if let Some(link) = link {
        link.stay().await;
    }
}

/// The p99 of what so many waited; those who were not welcomed waited as long as one can.
fn p99(mut waited: Vec<Duration>, count: usize) -> Duration {
    waited.resize(count, LONGEST);
    waited.sort_unstable();
    waited[count.saturating_sub(1) * 99 / 100]
}

/// Whether this process, and those that it starts, may have so many files open; as far as possible that is made so.
fn allow_files(count: u64) -> bool {
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
