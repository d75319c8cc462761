//! Agents and clients with a real hub, over real sockets.

mod agents;
mod breaks;
mod clients;
mod conducting;
mod harness;
mod instances;
mod order;
mod presence;
mod runs;
#[cfg(unix)]
mod signals;
mod stopping;
mod tasks;
