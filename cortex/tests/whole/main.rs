//! Cortex on a real hub, with agents and users.

mod calling;
mod cancelling;
mod crashes;
mod discovery;
mod failures;
mod flow;
mod frames;
mod harness;
mod hostile;
mod http;
mod http_app;
mod http_errors;
mod isolation;
mod orchestrating;
mod order;
mod restart;
mod runs;
mod spans;
mod web;
