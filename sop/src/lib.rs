//! Agents and orchestrators written in Markdown.
//!
//! A standard operating procedure (SOP) is a Markdown file. Its front matter says who the agent is and what it takes, its body how it
//! works. [`load`] reads one, [`discover`] a folder of them; what is wrong is a [`Fault`] with its place.

mod definition;
mod fault;
mod rule;

pub use definition::{Definition, ErrorMode, Format, Kind, ToolName};
pub use fault::{Fault, Place, Severity};
pub use rule::{Level, Rule};
