//! Agents and clients with a real hub, over real sockets.

mod agents;
mod breaks;
mod clients;
mod harness;
mod instances;
mod order;
mod presence;
#[cfg(unix)]
mod signals;
mod stopping;
mod tasks;
