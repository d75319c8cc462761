//! The older calls, with a typical client: in Go, with grpc-go and generated messages.

mod building;

use std::{process::Stdio, time::Duration};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
    time::timeout,
};

use self::building::client;
use super::Stage;
use crate::compare::{
    report::{Ratio, Sample},
    system::System,
};

/// Goal.
const PUBLISHES_PER_S: f64 = 25_000.0;
const DELIVERIES_PER_S: f64 = 200_000.0;

/// Time of the client besides its measurement.
const LONGEST: Duration = Duration::from_secs(20);

/// Line that the client prints when it begins to count.
const COUNTING: &str = "counting";

/// Counts of the client.
#[derive(Clone, Copy, Debug, Deserialize)]
struct ClientCounts {
    publishes: u64,
    deliveries: u64,
    seconds: f64,
}

/// Publishes per second, with 64 unanswered. `None` without Go.
pub(super) async fn publishes(stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
    let counted = run(stage, &["--in-flight", "64"]).await?;
    Ok(counted.map(|(c, cpu)| vec![ratio(c.publishes, c.seconds, cpu, PUBLISHES_PER_S)]))
}

/// Deliveries per second to a hundred server streams. `None` without Go.
pub(super) async fn streams(stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
    let counted = run(stage, &["--subscribers", "100", "--in-flight", "64"]).await?;
    Ok(counted.map(|(c, cpu)| vec![ratio(c.deliveries, c.seconds, cpu, DELIVERIES_PER_S)]))
}

fn ratio(count: u64, seconds: f64, cpu: Duration, goal: f64) -> Ratio {
    let count = count as f64;
    Ratio {
        hub: Sample {
            figure: count / seconds,
            cpu_us: Some(cpu.as_secs_f64() * 1e6 / count.max(1.0)),
        },
        other: goal.into(),
    }
}

/// Runs the client against its own hub. Returns the counts, and the hub's CPU time.
async fn run(stage: &Stage, settings: &[&str]) -> anyhow::Result<Option<(ClientCounts, Duration)>> {
    let built = stage.go_client.get_or_try_init(|| client(stage));
    let Some(program) = built.await? else {
        return Ok(None);
    };
    let (server, folder) = stage.hub(System::HubMemory).await?;
    let said = folder.path().join("client.log");
    let mut client = Command::new(program)
        .args(["--address", &server.address().to_string()])
        .args(["--length", &format!("{}ms", stage.length.as_millis())])
        .args(settings)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&said)?)
        .kill_on_drop(true)
        .spawn()?;
    let output = client.stdout.take().context("its output is a pipe")?;
    let mut lines = BufReader::new(output).lines();
    let counted = async {
        let first = lines.next_line().await?;
        if first.as_deref() != Some(COUNTING) {
            bail!("it ended before it counted");
        }
        let before = server.cpu()?;
        let last = lines
            .next_line()
            .await?
            .context("it ended while it counted")?;
        let cpu = server.cpu()?.saturating_sub(before);
        Ok((serde_json::from_str(&last)?, cpu))
    };
    let counted = timeout(LONGEST + stage.length, counted).await;
    let counted = counted.context("it does not end").flatten();
    counted.map(Some).with_context(|| {
        let said = std::fs::read_to_string(said).unwrap_or_default();
        format!("the Go client: {}", said.trim())
    })
}
