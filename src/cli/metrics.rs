//! Metrics of processes without a hub, on the command line.

use agenthub_terminal::Listen;
use clap::Args;

/// Address of a process's metrics.
#[derive(Debug, Args)]
pub(crate) struct Metrics {
    /// Serves the metrics of this process for Prometheus here, at /metrics; port 0 is any free one
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics: Option<Listen>,
}
