//! Agents with a model, over a hub in this process: tools, supervisors, limits, and what those who watch see.

mod approvals;
mod asking;
mod away;
mod conversations;
mod follow_ups;
mod forms;
mod functions;
mod harness;
mod hooks;
#[path = "../hub/journals.rs"]
mod journals;
mod kinds;
mod limits;
mod providers;
mod restarts;
mod spans;
mod streams;
mod supervisors;
mod team;
mod teams;
mod tools;
