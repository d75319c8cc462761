//! Cortex on a real hub, with agents and users.

mod asking;
mod cancelling;
mod crashes;
mod discovery;
mod failures;
mod flow;
// The tests of `agenthub-api` use the rest of it.
#[allow(dead_code)]
mod harness;
mod isolation;
mod order;
mod restart;
