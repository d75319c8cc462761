//! Agents elsewhere as agents of the hub: each has a card there, takes messages like any other, and hands them on over A2A.
//!
//! [`OutsideAgents`] keeps the list (`list`), which outlives the process. `watching` keeps one of them up to date: on the hub while it answers,
//! away while it does not. `proxy` is its handler: a task of the hub becomes a task there, known by `tasks` over restarts, and its messages, questions and
//! answers go back and forth in a `conversation`; what comes of it is decided in `outcome`. `service` is how it is told to.

mod conversation;
mod list;
mod manager;
mod outcome;
mod proxy;
mod replace_file;
mod service;
mod tasks;
mod telling;
mod watching;

pub use manager::{OpenError, OutsideAgents, Settings};
pub use service::OutsideService;

/// The messages of `outside.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub mod wire {
    tonic::include_proto!("agenthub");
}
