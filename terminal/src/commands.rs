//! The commands that ask a hub and end: `agenthub agents`, `tasks`, `mailboxes` and `publish`.

pub mod agents;
mod args;
pub mod mailboxes;
pub mod publish;
pub mod tasks;
mod watch;

pub use args::{AgentFilter, Agents, LetterAction, Mailboxes, Publish, Query, SeekTo, Tasks};
