//! Latency of messages through the synced hub, relative to the disk's sync time.

use std::{
    fs::File,
    io::{Seek as _, SeekFrom, Write as _},
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use tokio::task::spawn_blocking;

use super::{Stage, ratio};
use crate::compare::{
    figures::middle,
    measure::{Load, Pace, measure},
    report::Ratio,
    system::System,
    wire::Client,
};

/// Allowance on top of the disk's time, in milliseconds.
const BESIDE_MS: f64 = 0.3;

/// Bytes written before each sync, and number of syncs.
const PAGE: usize = 4096;
const SYNCS: usize = 200;

/// Interval of syncs, as under the load: an idle disk takes longer than a busy one.
const EVERY: Duration = Duration::from_millis(1);

/// p50 from publish to delivery at a steady load, relative to the disk's p50 plus an allowance, in milliseconds. The
/// disk is measured before and after.
pub(super) async fn play(stage: &Stage) -> anyhow::Result<Vec<Ratio>> {
    let load = Load {
        system: System::HubSynced,
        client: Client::Real,
        subscribers: 1,
        text_bytes: 256,
        pace: Pace::Rate(1000),
    };
    let mut syncs = syncs(stage).await?;
    let measured = measure(load, &stage.programs, stage.length).await?;
    syncs.extend(self::syncs(stage).await?);
    let disk = middle_ms(&syncs);
    Ok(vec![ratio(measured.percentile_ms(50), disk + BESIDE_MS)])
}

/// Time of a sync, in milliseconds.
///
/// # Errors
///
/// The disk cannot be written.
pub(in crate::compare) async fn disk_sync_ms(stage: &Stage) -> anyhow::Result<f64> {
    Ok(middle_ms(&syncs(stage).await?))
}

fn middle_ms(syncs: &[Duration]) -> f64 {
    middle(syncs.iter().map(Duration::as_secs_f64)) * 1e3
}

async fn syncs(stage: &Stage) -> anyhow::Result<Vec<Duration>> {
    let path = stage.folder.path().join("pages");
    Ok(spawn_blocking(move || syncs_of(&path)).await??)
}

/// Times of syncs of one existing page in a file: the minimum cost of durability on this disk at this rate.
fn syncs_of(path: &Path) -> std::io::Result<Vec<Duration>> {
    let mut file = File::create(path)?;
    file.write_all(&vec![0; PAGE * SYNCS])?;
    file.sync_all()?;
    file.seek(SeekFrom::Start(0))?;
    let page = [1; PAGE];
    let mut due = Instant::now();
    let syncs = (0..SYNCS).map(|_| {
        sleep(due.saturating_duration_since(Instant::now()));
        due += EVERY;
        let began = Instant::now();
        file.write_all(&page)?;
        file.sync_data()?;
        Ok(began.elapsed())
    });
    syncs.collect()
}
