//! Agents that TOML files describe: a model, instructions, and programs as tools.
//!
//! [`Definition::of_file`] reads a file; errors name its line and column. `file` has its tables, `values` the values with a form of their own,
//! `named` the tools that it takes from the settings. A tool that is a program is run in `command`.

mod command;
mod definition;
mod file;
mod named;
mod tools;
mod values;

pub use definition::{Definition, Outline};
