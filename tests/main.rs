//! Whole-system tests: the real binary, in its own processes, over real sockets.

mod harness;

mod a2a;
mod a2a_push;
mod absences;
mod agent_files;
mod agents;
mod approving_tools;
mod chat;
mod command_line;
mod completing;
mod crashes;
mod disk;
mod executors;
mod failures;
mod http;
mod listing;
mod log;
mod mailboxes;
mod mcp;
mod monitoring;
mod older_clients;
mod orchestrating;
mod other_languages;
mod outside;
#[cfg(feature = "kafka")]
mod over_kafka;
mod recordings;
mod restarts;
mod runs_cli;
mod served_workflows;
mod sessions;
mod shutdown;
mod slow_links;
mod sops;
mod stopping;
mod supervisors;
mod telemetry;
mod terminal;
mod tools;
mod turns;
mod undone;
mod workflows;
