//! The hub: registry, event log, task store and mailboxes.
//!
//! A message comes in through `grpc`, is checked ([`access`], [`limits`]), finds its recipients (`routing`), changes its
//! task (`task` decides, `tasks` keeps), goes into the log (`log`) and from there into the mailboxes (`mailboxes`, `mailbox`), from
//! which sessions (`hub::sessions`) take it. What the hub knows is the fold of its log (`state`); who is connected is not
//! (`presence`).

// A test's disk is beneath SQLite, which takes it as C has it.
#![cfg_attr(not(test), forbid(unsafe_code))]

mod routing;
mod task;

pub mod access;
#[cfg(test)]
mod allocated;
mod binding;
mod bodies;
mod caller;
mod connections;
mod current_card;
mod dead_letters;
mod deadline;
mod dedupe;
mod error;
mod event_id;
mod fields;
mod filter;
mod grpc;
mod head;
mod http;
mod hub;
mod id;
pub mod limits;
mod log;
mod mailbox;
mod mailboxes;
pub mod maintenance;
mod metrics;
mod others;
mod plain;
mod presence;
mod reflection;
mod registry;
mod remains;
mod sealed;
mod segment;
mod server;
mod settings;
mod snapshot;
mod state;
mod steps;
mod superseded;
mod table;
mod tasks;
mod traits;
mod unclaimed;
mod upkeep;

pub use binding::bind;
pub use caller::{Caller, DEFAULT_NAMESPACE};
pub use error::Error;
pub use http::router as http_router;
pub use hub::{Failure, Hub};
pub use log::{KeptLog, OpenError};
pub use others::Others;
pub use server::{Server, StartError};
pub use settings::{Settings, Storage};
