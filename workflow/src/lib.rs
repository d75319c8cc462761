//! Workflows: plans that people write.
//!
//! A workflow is a file of YAML or JSON: steps for agents, and how they follow one another. `loading.rs` reads one and says all that is wrong
//! with it at once, each fault with its place. Whichever form a file has, in which steps name those before
//! them (`graph.rs`) or the one behind them (`linear.rs`), one `Workflow` comes of it (`model.rs`). The next step of a run of one is decided
//! in `strategy/`, and carried out in `executor/`, where `over_bus/` may take steps to their agents; `executors/` has each run executed in a task or a
//! process of its own;
//! `serving/` has the workflows of a folder as agents, while its files change.

mod building;
pub mod cli;
mod connecting;
mod drawing;
mod empty_fields;
mod executor;
pub mod executors;
mod expression;
mod file;
mod finding;
mod graph;
mod input;
mod input_fields;
mod input_presence;
mod input_schema;
mod linear;
mod loading;
mod mending;
mod model;
mod monitoring;
mod nested_files;
mod output_schema;
pub mod over_bus;
mod reading;
mod reference;
mod scope;
mod serving;
mod shape;
#[cfg(test)]
mod strangers_tests;
mod strategy;
mod template;
mod uses;

pub use agenthub_sdk::runs::workflow_step::RUN;
pub use executor::{NAME, SecretSource, agent};
pub use serving::{Lasting, Member, News, Origin, ServeError, Serving, checked_folder};
