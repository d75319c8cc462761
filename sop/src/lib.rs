//! Agents and orchestrators written in Markdown.
//!
//! A standard operating procedure (SOP) is a Markdown file. Its front matter says who the agent is and what it takes, its body how it
//! works. [`load`] reads one, [`discover`] a folder of them; what is wrong is a [`Fault`] with its place.
//! [`Team`] runs the agents of a folder while its files change, [`compliance`] reports on their runs, and [`cli`] is `agenthub sop`.

mod agent;
pub mod cli;
pub mod compliance;
mod definition;
mod discover;
mod loader;
mod overlooked;
mod rule;
mod starter;
mod team;

pub use agent::{Named, Roster, agent, limits, peers};
pub use agenthub_documents::{Fault, Place, Severity};
pub use definition::{Definition, ErrorMode, Format, Kind, ToolName};
pub use discover::{DEFAULT_DIR, Discovered, discover};
pub(crate) use loader::asked;
pub use loader::{Loaded, load, parse, quoted, rules, tools};
pub use rule::{Level, Rule};
pub use starter::starter;
pub use team::{Fit, Member, News, Origin, StartError, Team, is_same};
