//! Executors as processes.

use std::{ffi::OsString, path::PathBuf, process::Stdio, time::Duration};

use agenthub_sdk::runs::RunId;
use tokio::{process::Command, time::timeout};
use tokio_util::sync::CancellationToken;

use super::supervisor::Departure;

/// Exit code of an executor whose journal does not answer: EX_TEMPFAIL of sysexits.h.
pub const NO_JOURNAL: u8 = 75;

/// Time for an executor to let its run go.
const LET_GO: Duration = Duration::from_secs(6);

/// A program that executes a run: it is called with `--run ID --driver NAME --attached` behind its arguments, lets the run go when its standard
/// input ends, and ends with the run; with [`NO_JOURNAL`] if the journal does not answer.
#[derive(Clone, Debug)]
pub struct Program {
    /// Path of the program.
    pub path: PathBuf,
    /// Arguments before those of the run.
    pub args: Vec<OsString>,
}

impl Program {
    /// Executes a run in a process of its own, which ends with it, with this future, and with this process. No departure if it was told to stop.
    pub(super) async fn execute(
        &self,
        run: &RunId,
        driver: &str,
        stop: &CancellationToken,
    ) -> Option<Departure> {
        let spawned = Command::new(&self.path)
            .args(&self.args)
            .args(["--run", run.as_str(), "--driver", driver, "--attached"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => return Some(Departure::Died(format!("cannot be started: {error}"))),
        };
        let stdin = child.stdin.take();
        tokio::select! {
            ended = child.wait() => Some(match ended {
                Ok(status) if status.code() == Some(NO_JOURNAL.into()) => {
                    Departure::NoJournal(status.to_string())
                }
                Ok(status) => Departure::Died(status.to_string()),
                Err(error) => Departure::Died(format!("cannot be waited for: {error}")),
            }),
            () = stop.cancelled() => {
                drop(stdin);
                if timeout(LET_GO, child.wait()).await.is_err() {
                    tracing::warn!(%run, "an executor did not let its run go in time and is killed");
                    if let Err(error) = child.kill().await {
                        tracing::warn!(%run, %error, "an executor could not be killed");
                    }
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn departure(script: &str) -> Option<Departure> {
        let program = Program {
            path: "/bin/sh".into(),
            args: ["-c", script].map(OsString::from).into(),
        };
        let stop = CancellationToken::new();
        program.execute(&RunId::new("r"), "d", &stop).await
    }

    #[tokio::test]
    async fn an_executor_that_ends_without_its_journal_has_not_died() {
        let without = departure("exit 75").await;
        assert!(
            matches!(without, Some(Departure::NoJournal(_))),
            "{without:?}"
        );
        for script in ["exit 70", "kill -9 $$"] {
            let died = departure(script).await;
            assert!(matches!(died, Some(Departure::Died(_))), "{died:?}");
        }
    }
}
