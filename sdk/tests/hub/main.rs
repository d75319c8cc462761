//! Agents and clients with a real hub, over real sockets.

mod agent_types;
mod agents;
mod answers;
mod asking;
mod breaks;
mod budgets;
mod cancelling;
mod clients;
mod clocks;
mod conducting;
mod damaged;
mod displays;
mod draining;
mod harness;
mod in_process;
mod instances;
mod journals;
mod keeping;
mod lost;
mod order;
mod own_runs;
#[cfg(unix)]
#[path = "../../../tests/harness/ports.rs"]
mod ports;
mod presence;
#[cfg(unix)]
mod processes;
mod recording;
mod recovery;
mod replacing;
mod runs;
#[cfg(unix)]
mod signals;
mod skills;
mod slow_journals;
mod stopping;
#[cfg(unix)]
mod subscriptions;
mod tasks;
