//! One measurement: a fresh server, subscribers, one publisher, a fixed time.

use std::{process, sync::Arc, time::Duration};

use anyhow::bail;
use tokio::time::{Instant, sleep, timeout};

use super::{
    machine::Cpus,
    pacer::Pacer,
    programs::Programs,
    server::{Server, cpu_of},
    system::System,
    tally::Tally,
    wire::{BATCH, Client, Publisher, Readers, subscribe},
};

/// Maximum warm-up: a shorter measurement warms up for as long as it counts.
pub(super) const WARM_UP: Duration = Duration::from_millis(500);

/// Time that a publisher may wait for room before the measurement fails.
pub(super) const STUCK: Duration = Duration::from_secs(10);

/// Publish credit of the hub's `Welcome`.
pub(super) const UNANSWERED: u64 = 1024;

/// Load on a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) system: System,
    pub(super) client: Client,
    pub(super) subscribers: usize,
    /// Bytes of a message's text.
    pub(super) text_bytes: usize,
    pub(super) pace: Pace,
}

/// Rate of publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// As fast as deliveries arrive, with this many in flight to each subscriber.
    Delivered(u64),
    /// As fast as acknowledgements arrive, with this many unanswered.
    Acknowledged(u64),
    /// A number per second, one at a time.
    Rate(u32),
}

/// Result of a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    pub(super) deliveries_per_s: f64,
    pub(super) acknowledged_per_s: f64,
    /// The server's CPU time per delivery, or per acknowledgement if nothing is delivered, in microseconds.
    pub(super) cpu_us: f64,
    /// The same of the clients, this process.
    pub(super) client_cpu_us: f64,
    /// The server's memory at the end, in bytes.
    pub(super) memory: u64,
    /// Share of the machine that others used meanwhile, from 0 to 1.
    pub(super) on_others: f64,
    /// Latencies from publish to delivery, sorted; only with [`Pace::Rate`].
    pub(super) latencies: Vec<Duration>,
}

impl Measured {
    /// The latency at this percentile, in milliseconds.
    pub(super) fn percentile_ms(&self, percent: usize) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let at = self.latencies.get(last * percent / 100);
        at.map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
    }
}

/// Measures a load for this time.
///
/// # Errors
///
/// The server does not start, or messages do not arrive.
pub(super) async fn measure(
    load: Load,
    programs: &Programs,
    length: Duration,
) -> anyhow::Result<Measured> {
    let folder = tempfile::Builder::new()
        .prefix("agenthub-compare-")
        .tempdir()?;
    let server = load.system.start(programs, folder.path()).await?;
    let tally = Arc::new(Tally::new(matches!(load.pace, Pace::Rate(_))));
    let mut readers = Readers::new();
    let (spoken, address) = ((load.system, load.client), server.address());
    let publisher =
        Publisher::connect(spoken, address, load.text_bytes, &tally, &mut readers).await?;
    subscribe(spoken, address, load.subscribers, &tally, &mut readers).await?;
    let mut driving = tokio::spawn(drive(load, publisher, Arc::clone(&tally)));
    let watched = watch(&server, &tally, length);
    let measured = tokio::select! {
        measured = watched => measured,
        failed = &mut driving => match failed {
            Ok(Err(error)) => Err(error),
            _ => bail!("the publisher ended by itself"),
        },
    };
    driving.abort();
    let measured = measured?;
    let came = match load.subscribers {
        0 => measured.acknowledged_per_s,
        _ => measured.deliveries_per_s,
    };
    if came == 0.0 {
        bail!("{}: nothing of what was published came", load.system.name());
    }
    Ok(measured)
}

/// Counts while the load runs.
pub(super) async fn watch(
    server: &Server,
    tally: &Tally,
    length: Duration,
) -> anyhow::Result<Measured> {
    sleep(WARM_UP.min(length)).await;
    tally.take_latencies();
    let began = Instant::now();
    let (cpus, own) = (Cpus::now()?, cpu_of(process::id())?);
    let (cpu, deliveries, acknowledgements) =
        (server.cpu()?, tally.deliveries(), tally.acknowledgements());
    sleep(length).await;
    let seconds = began.elapsed().as_secs_f64();
    let deliveries = (tally.deliveries() - deliveries) as f64;
    let acknowledgements = (tally.acknowledgements() - acknowledgements) as f64;
    let cpu = server.cpu()?.saturating_sub(cpu).as_secs_f64();
    let own = cpu_of(process::id())?.saturating_sub(own).as_secs_f64();
    let on_others = Cpus::now()?.on_others(cpus, cpu + own);
    let per = if deliveries > 0.0 {
        deliveries
    } else {
        acknowledgements
    };
    let mut latencies = tally.take_latencies();
    latencies.sort_unstable();
    Ok(Measured {
        deliveries_per_s: deliveries / seconds,
        acknowledged_per_s: acknowledgements / seconds,
        cpu_us: cpu * 1e6 / per.max(1.0),
        client_cpu_us: own * 1e6 / per.max(1.0),
        memory: server.memory()?,
        on_others,
        latencies,
    })
}

/// Publishes until cancelled.
async fn drive(load: Load, mut publisher: Publisher, tally: Arc<Tally>) -> anyhow::Result<()> {
    if let Pace::Rate(per_second) = load.pace {
        let mut ticks = Pacer::start(per_second);
        while ticks.tick().await {
            publisher.publish(1, Some(&tally.now())).await?;
        }
        return Ok(());
    }
    let is_hub = matches!(load.system.plain(), System::HubMemory | System::HubSynced);
    loop {
        let published = publisher.published();
        let unanswered = published.saturating_sub(tally.acknowledgements());
        let mut room = match load.pace {
            Pace::Delivered(most) => {
                let subscribers = load.subscribers.max(1) as u64;
                most.saturating_sub(published.saturating_sub(tally.deliveries() / subscribers))
            }
            Pace::Acknowledged(most) => most.saturating_sub(unanswered),
            Pace::Rate(_) => 0,
        };
        if is_hub {
            room = room.min(UNANSWERED.saturating_sub(unanswered));
        }
        if room > 0 {
            publisher.publish(room.min(BATCH), None).await?;
        } else if timeout(STUCK, tally.moved()).await.is_err() {
            bail!(
                "{}: of {published} publishes, {} deliveries and {} acknowledgements came, and nothing more",
                load.system.name(),
                tally.deliveries(),
                tally.acknowledgements()
            );
        }
    }
}
