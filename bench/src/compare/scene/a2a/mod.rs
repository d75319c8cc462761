//! A2A calls of an agent that answers at once: the hub's cost beside a direct call, calls per second, and many streams
//! at once.
//!
//! `place.rs` has the hub and the agent behind it, `direct.rs` an equal agent that is called without a hub, `binding.rs`
//! the clients.

mod binding;
mod calls;
mod direct;
mod place;
mod streams;

pub(super) use self::{
    calls::{added, per_second},
    streams::play as streams,
};

/// Skill, and name, of the agent.
const AGENT: &str = "bench";
