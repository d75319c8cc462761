//! Executors: each run of a workflow in a task or a process of its own.
//!
//! The agent that takes requests writes their runs down and does nothing else with them ([`recorder`]). A [`Supervisor`] looks in the journal for runs
//! that nobody drives, has each executed, and again if its executor dies. An executor ([`execute`]) takes the run's lease, drives it and ends with it.
//! The lease alone decides who drives a run, so executors, and supervisors, need not know of each other.
//!
//! Which runs begin is decided in `admission.rs`, and what happens after a death in `restarts.rs`.

mod admission;
mod claiming;
mod execution;
mod process;
mod restarts;
mod supervisor;

pub use execution::{Place, execute};
pub use process::{NO_JOURNAL, Program};
pub use supervisor::{Spawn, Supervisor};

use std::sync::Arc;

use agenthub_sdk::{AgentBuilder, durable::Journal, runs::RunId};
use tokio::sync::mpsc;

use crate::executor::{SecretSource, agent};

/// Runs that are recorded and not taken in by the supervisor yet. Where there are more, the supervisor finds them by itself.
const RECORDED: usize = 1_024;

/// The agent that takes requests for runs and leaves them to executors, and the names of those runs, for the [`Supervisor`]. The journal must
/// survive the process.
pub fn recorder(hub: &str, journal: Arc<dyn Journal>) -> (AgentBuilder, mpsc::Receiver<RunId>) {
    let (recorded, runs) = mpsc::channel(RECORDED);
    (
        agent(hub, journal, None, SecretSource::Variables).record_runs(recorded),
        runs,
    )
}
