//! The messages of workflows, and how they are written and read.
//!
//! Bodies are what EXE-10 says, and nothing else is in them; the rest is in the headers ([`Envelope`]). What is read is checked against the body's JSON
//! Schema first; what does not fit goes to another topic, with the reason, and the reading goes on ([`Inbox`]). Bodies of what is mirrored of
//! the hub are in [`events`].

mod bodies;
mod envelope;
pub mod events;
mod inbox;
mod reading;

#[cfg(test)]
mod asyncapi;
#[cfg(test)]
mod tests;

pub use bodies::{
    Body, MonitoringUpdate, Outcome, StepStatus, StreamChunk, TaskRequest, TaskResult,
};
pub use envelope::{Envelope, SCHEMA_VERSION, TASK_ID, VERSION, message};
pub use inbox::{Inbox, REASON, dead_letters};
pub use reading::read;

use agenthub_sdk::proto::slug::slug;

/// Topic of [`TaskRequest`].
pub const TASKS: &str = "orchestrator.tasks.http";

/// Topic of [`TaskResult`].
pub const RESULTS: &str = "results.topic";

/// Topic of [`MonitoringUpdate`].
pub const MONITORING: &str = "workflow.monitoring.updates";

/// Topic of the [`StreamChunk`]s of an agent: `stream.` and the agent's slug.
///
/// spec: EXE-6.2
pub fn stream_topic(agent_name: &str) -> String {
    format!("stream.{}", slug(agent_name))
}
