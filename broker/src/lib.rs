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
mod behalf;
mod binding;
mod bodies;
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
mod gate;
mod grpc;
mod head;
mod holdings;
mod http;
mod hub;
mod id;
pub mod limits;
mod log;
mod mailbox;
mod mailboxes;
pub mod maintenance;
mod metrics;
mod namespaces;
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
mod space;
mod state;
mod steps;
mod superseded;
mod table;
mod tasks;
mod tls;
mod traits;
mod unclaimed;
mod upkeep;

pub use agenthub_access::{Caller, DEFAULT_NAMESPACE};
pub use binding::{bind, listen};
pub use connections::serve_services;
pub use error::Error;
pub use extra_services::ExtraServices;
pub use gate::{Gated, gated, gated_in_process, watch};
pub use http::{router as http_router, serve as serve_http};
pub use hub::{Failure, Hub};
pub use log::{OpenError, RetainedLog};
pub use metrics::{collect_process, measured};
pub use namespaces::{Namespaces, Served};
pub use server::{Server, StartError};
pub use settings::{Settings, Storage};
pub use space::{Space, Spaces};
pub use tls::{Tls, TlsFiles};
