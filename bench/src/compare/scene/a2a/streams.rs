//! Many streams of tasks at once, each over a connection of its own.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{
    binding::{Binding, Caller},
    place::Place,
};
use crate::compare::{
    report::Ratio,
    scene::{Stage, arrivals::allow_files, ratio},
    system::System,
    tasks::text,
};

const STREAMS: usize = 1_000;

/// Streams with `--quick`.
const QUICK_STREAMS: usize = 100;

/// Files of a process besides the streams' connections.
const OTHER_FILES: u64 = 200;

/// Maximum memory of the hub for each, in KiB; maximum p99 to the first event, from the request, and to the last, from
/// when all agents may answer, in seconds.
const EACH_KIB: f64 = 128.0;
const FIRST_S: f64 = 1.0;
const LAST_S: f64 = 1.0;

/// Timeout of an event.
const LONGEST: Duration = Duration::from_secs(30);

/// The hub's memory for each stream, and the time to its first and to its last event. `None` if the system does not
/// allow so many connections.
pub(in crate::compare::scene) async fn play(stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
    let count = match stage.is_quick() {
        true => QUICK_STREAMS,
        false => STREAMS,
    };
    if !allow_files(count as u64 + OTHER_FILES) {
        eprintln!("a process may not have {count} connections here: streams are left out");
        return Ok(None);
    }
    let gate = Arc::new(Semaphore::new(0));
    let concurrency = u32::try_from(count)?;
    let memory = System::HubMemory;
    let place = Place::start(memory, stage, concurrency, text('a'), Some(gate.clone())).await?;
    let caller = Caller::connect(Binding::HttpJson, &place.address, text('q')).await?;
    gate.add_permits(1);
    caller.call().await.context("a call before the streams")?;
    let before = place.server.memory()?;
    let (began, mut firsts) = mpsc::channel(count);
    let mut streams = JoinSet::new();
    for _ in 0..count {
        streams.spawn(follow(caller.clone(), began.clone()));
    }
    drop(began);
    let mut to_first = Vec::with_capacity(count);
    while let Some(took) = firsts.recv().await {
        to_first.push(took.as_secs_f64());
    }
    let held = place.server.memory()?.saturating_sub(before);
    let released = Instant::now();
    gate.add_permits(count);
    let mut to_last = Vec::with_capacity(count);
    while let Some(ended) = streams.join_next().await {
        let ended = ended?.context("a stream fails")?;
        to_last.push(ended.saturating_duration_since(released).as_secs_f64());
    }
    place.stop().await;
    ensure!(to_first.len() == count, "not every stream began");
    Ok(Some(vec![
        ratio(held as f64 / 1024.0 / count as f64, EACH_KIB),
        ratio(p99(&mut to_first), FIRST_S),
        ratio(p99(&mut to_last), LAST_S),
    ]))
}

/// Follows a task to its end. Reports the time to the first event, and returns the moment of the last one.
async fn follow(caller: Caller, began: mpsc::Sender<Duration>) -> anyhow::Result<Instant> {
    let asked = Instant::now();
    let mut answer = timeout(LONGEST, caller.stream())
        .await
        .context("no answer")??;
    let first = timeout(LONGEST, answer.chunk())
        .await
        .context("no event")??;
    ensure!(first.is_some(), "the stream has no event");
    // The receiver counts all streams.
    began.send(asked.elapsed()).await?;
    drop(began);
    let mut last = Vec::new();
    while let Some(chunk) = timeout(LONGEST, answer.chunk()).await.context("no end")?? {
        last = chunk.to_vec();
    }
    let last = String::from_utf8_lossy(&last);
    ensure!(
        last.contains("TASK_STATE_COMPLETED"),
        "the last event is {last}"
    );
    Ok(Instant::now())
}

fn p99(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    let last = seconds.len().saturating_sub(1);
    seconds.get(last * 99 / 100).copied().unwrap_or(f64::NAN)
}
