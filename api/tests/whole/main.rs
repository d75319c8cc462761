//! Runs and chat turns of Cortex on a real hub, over gRPC and HTTP.

mod calling;
mod frames;
// The tests of Cortex use the rest of it.
#[allow(dead_code)]
#[path = "../../../cortex/tests/whole/harness.rs"]
mod harness;
mod hostile;
mod http;
mod http_app;
mod http_errors;
mod injections;
mod orchestrating;
mod runs;
mod spans;
mod web;
