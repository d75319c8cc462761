//! Many agents that connect at the same moment, as after a network failure: each over its own connection, with a card
//! and a subscription.

use std::{fs, net::SocketAddr, time::Duration};

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
    server::{Server, free},
    system::System,
};

const AGENTS: usize = 10_000;

/// Open files of a process besides its connections.
const OTHER_FILES: u64 = 200;

/// Maximum p99 of the time to the welcome, in seconds, and maximum memory of the hub, in MiB.
const P99_S: f64 = 5.0;
const MOST_MIB: f64 = 300.0;

/// Maximum time until the last agent with a certificate is welcomed, in seconds.
const LAST_S: f64 = 20.0;

/// Timeout of an agent's connection.
const LONGEST: Duration = Duration::from_secs(30);

/// Pause before the hub's memory is read.
const CALM: Duration = Duration::from_secs(1);

/// The hub's settings where each agent shows a certificate. They share one, whose name may be all of them.
const RIGHTS: &str = "[access.principals.client]\nallow = [\"be:*\"]\n";

/// The way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    Plain,
    Certificates,
}

/// Share of welcomed agents, p99 of the time to the welcome in seconds, and the hub's memory with all of them in MiB.
/// `None` if the system does not allow so many connections.
pub(super) async fn play(stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
    if !is_possible() {
        return Ok(None);
    }
    // The hub inherits the limit of this process.
    let (server, _folder) = stage.hub(System::HubSynced).await?;
    let (waited, _agents) = arrivals(server.address(), Door::Plain).await;
    sleep(CALM).await;
    let memory = server.memory()? as f64 / MIB;
    Ok(Some(vec![
        share(&waited, &server)?,
        ratio(p99(waited, AGENTS).as_secs_f64(), P99_S),
        ratio(memory, MOST_MIB),
    ]))
}

/// Share of welcomed agents, and the time until the last one is, in seconds, with TLS and client certificates. `None` if the system does not
/// allow so many connections.
pub(super) async fn secure(stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
    if !is_possible() {
        return Ok(None);
    }
    let folder = stage.folder()?;
    fs::write(folder.path().join("agenthub.toml"), RIGHTS)?;
    let (programs, address) = (&stage.programs, free()?);
    let mut hub = System::HubTls.hub(programs, folder.path(), address, "127.0.0.1:0");
    hub.arg("--client-ca").arg(programs.certificates.ca());
    hub.arg("--require-client-cert");
    let server = Server::start(hub, address, folder.path()).await?;
    let (waited, _agents) = arrivals(server.address(), Door::Certificates).await;
    let last = match waited.len() {
        AGENTS => waited.iter().max().copied().unwrap_or_default(),
        _ => LONGEST,
    };
    Ok(Some(vec![
        share(&waited, &server)?,
        ratio(last.as_secs_f64(), LAST_S),
    ]))
}

/// True if this process may have so many connections; otherwise that is printed.
fn is_possible() -> bool {
    let is_possible = allow_files(AGENTS as u64 + OTHER_FILES);
    if !is_possible {
        eprintln!(
            "a process may not have {AGENTS} connections here: its limit of open files cannot be raised so far"
        );
    }
    is_possible
}

/// Connects all agents at once, and returns the times to the welcomes that came. The agents stay until they are dropped.
async fn arrivals(hub: SocketAddr, door: Door) -> (Vec<Duration>, JoinSet<()>) {
    let (go, start) = watch::channel(None);
    let (welcomed, mut waits) = mpsc::channel(AGENTS);
    let mut agents = JoinSet::new();
    for number in 0..AGENTS {
        let (start, welcomed) = (start.clone(), welcomed.clone());
        agents.spawn(arrive((hub, door), number, start, welcomed));
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
    (waited, agents)
}

/// Share of welcomed agents, with the CPU time of each.
fn share(waited: &[Duration], server: &Server) -> anyhow::Result<Ratio> {
    let cpu = server.cpu()?.as_secs_f64() * 1e6;
    Ok(Ratio {
        hub: Sample {
            figure: waited.len() as f64,
            cpu_us: Some(cpu / AGENTS as f64),
        },
        other: (AGENTS as f64).into(),
    })
}

/// Connects on a signal, reports the time to the welcome, and stays.
async fn arrive(
    (hub, door): (SocketAddr, Door),
    number: usize,
    mut start: watch::Receiver<Option<Instant>>,
    welcomed: mpsc::Sender<anyhow::Result<Duration>>,
) {
    let Ok(began) = start.wait_for(Option::is_some).await.map(|began| *began) else {
        return;
    };
    let hello = peers::agent(number);
    let connecting = async {
        match door {
            Door::Plain => Link::open(hub, hello, Room::Wide).await,
            Door::Certificates => Link::open_secured(hub, hello).await,
        }
    };
    let connecting = timeout(LONGEST, connecting);
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
