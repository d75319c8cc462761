//! First use after an installation: size of the program, time until `agenthub up` is ready, and its idle memory.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, bail};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
    time::{Instant, sleep, timeout},
};

use super::{MIB, Stage, ratio};
use crate::{
    compare::{report::Ratio, server::memory_of},
    program::unset,
};

/// Maximum time until ready, in milliseconds; maximum idle memory and maximum file size, in MiB.
const READY_MS: f64 = 300.0;
const IDLE_MIB: f64 = 30.0;
const BINARY_MIB: f64 = 40.0;

/// Timeout of the start.
const LONGEST: Duration = Duration::from_secs(20);

/// Idle time before the memory is read.
const IDLE: Duration = Duration::from_secs(3);

/// Path of the shipped program, relative to the folder of this one.
const SHIPPED: &str = "../dist/agenthub";

/// Time from the start until ready, in a new folder; and memory some seconds later. Uses the shipped program, if it was
/// built.
pub(super) async fn up(stage: &Stage) -> anyhow::Result<Vec<Ratio>> {
    let program = shipped(&stage.programs.own).unwrap_or_else(|| stage.programs.hub.clone());
    let folder = tempfile::tempdir_in(stage.folder.path())?;
    let mut command = Command::from(unset(&program));
    command
        .args(["up", "--json", "--no-chat"])
        .args(["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let began = Instant::now();
    let mut up = command.spawn()?;
    let output = up.stdout.take().context("its output is a pipe")?;
    let mut lines = BufReader::new(output).lines();
    let ready = timeout(LONGEST, lines.next_line()).await;
    let ready = ready.context("`up` is not ready")??;
    let took = began.elapsed();
    if ready.is_none() {
        bail!("`up` ends by itself");
    }
    sleep(IDLE).await;
    let idle = memory_of(up.id().context("`up` has ended by itself")?)?;
    up.kill().await?;
    Ok(vec![
        ratio(took.as_secs_f64() * 1e3, READY_MS),
        ratio(idle as f64 / MIB, IDLE_MIB),
    ])
}

/// Size of the shipped program; `None` if it was not built.
pub(super) fn binary(stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
    let Some(shipped) = shipped(&stage.programs.own) else {
        eprintln!(
            "there is no program to be shipped: its row is left out (build it with `cargo build --profile dist`)"
        );
        return Ok(None);
    };
    let bytes = shipped.metadata()?.len();
    Ok(Some(vec![ratio(bytes as f64 / MIB, BINARY_MIB)]))
}

fn shipped(own: &Path) -> Option<PathBuf> {
    let path = own.parent()?.join(SHIPPED);
    path.is_file().then_some(path)
}
