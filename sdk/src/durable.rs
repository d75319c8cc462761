//! Runs of one's own that survive crashes: what makes them of messages, keeps them and tells of them.
//!
//! Agents with a model need none of this: [`AgentBuilder::journal`](crate::AgentBuilder::journal) is enough for them. A
//! [`Conductor`] drives an agent's messages with another [`Strategy`](crate::runs::Strategy).

#[cfg(feature = "otlp")]
pub use crate::spans::{Telemetry, TelemetryError};
pub use crate::{
    agent::{BeginError, ExecuteError, Executed, ExecutedRun, RunStarter},
    conductor::{Beginning, Conductor, Identity},
    forks::{ForkChanges, ForkRequest},
    handing_over::HandedOver,
    spans::{SpanSink, Spans},
};
pub use agenthub_runs::{Journal, journal};
