//! Files that people write: YAML with the place of everything, and faults that show their line.
//!
//! [`yaml`] reads a document (JSON is YAML, too), [`explain`] says in plain words why one can't be read, and a [`Fault`] is something wrong
//! with a file: where, what, and what to do. [`json`] says why a file of JSON is none. [`watching`] notices that the files of a folder have changed.

mod fault;
pub mod json;
mod rendered;
mod unread;
pub mod watching;
mod words;
pub mod yaml;

pub use fault::{Fault, Place, Severity};
pub use unread::{explain, quoted};
pub use words::{choice, meant};
