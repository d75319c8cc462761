//! The bridge between topics and agents over HTTP.
//!
//! A [`Bridge`] takes tasks of workflows from a topic, looks each one's agent up in a [`Directory`], calls it over A2A, stores its answer as a claim check and
//! publishes the result; only then is the task acknowledged, so that a bridge that dies has its tasks taken up by another. A task
//! that is taken up again asks the agent with the same message id.
//!
//! `content` says what of a claim check an agent gets and what is stored of its answer, `answer` what its events come to,
//! `failing` what a failed task is told to have failed for.

mod answer;
mod bridge;
mod content;
mod directory;
mod failing;
mod metrics;
mod publishing;

#[cfg(test)]
mod bridge_tests;

pub use bridge::{Bridge, Settings};
pub use directory::{Directory, HubDirectory, NotFound};
