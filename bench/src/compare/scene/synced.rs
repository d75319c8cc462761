//! How long a message takes through the hub that syncs each, against how long the disk takes for a sync.

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

/// What may come on top of the disk's time, in milliseconds.
const BESIDE_MS: f64 = 0.3;

/// What is written before each sync, in bytes, and how often.
const PAGE: usize = 4096;
const SYNCS: usize = 200;

/// From one of them to the next, as under the load: a disk that was idle takes longer than one that is kept busy.
const EVERY: Duration = Duration::from_millis(1);

/// The p50 from publish to delivery at a steady load, against the disk's p50 and a little, in milliseconds. The disk is asked before and
/// after.
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

/// Duration of a sync of the disk, in milliseconds.
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

/// What each sync takes of one page in a file that has it already: the least that safety costs on this disk at such a rate.
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
