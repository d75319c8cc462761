//! The hub: registry, event log, task store and mailboxes.
//!
//! A message arrives through `grpc`, is checked ([`access`], [`limits`]), routed (`routing`), applied to its task
//! (`task` decides, `tasks` stores), logged (`log`) and put into the mailboxes (`mailboxes`, `mailbox`), from which
//! sessions (`hub::sessions`) take it. The hub's state is the fold of its log (`state`), except for connected peers
//! (`presence`).

// The simulated disk of the tests implements SQLite's C interface.
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
mod extra_services;
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

pub use binding::{bind, listen};
pub use caller::{Caller, DEFAULT_NAMESPACE};
pub use error::Error;
pub use extra_services::ExtraServices;
pub use http::{router as http_router, serve as serve_http};
pub use hub::{Failure, Hub};
pub use log::{OpenError, RetainedLog};
pub use server::{Server, StartError};
pub use settings::{Settings, Storage};
