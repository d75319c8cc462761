//! The Model Context Protocol, both ways.
//!
//! [`client`] makes tools of an agent out of what an MCP server offers; [`server`] serves the agents of a hub as tools, to any MCP client.
//! [`toolshed`] says what the names of settings stand for that define servers and tools.

pub mod client;
mod group;
pub mod server;
pub mod toolshed;

pub use group::{Group, guard, guarded_by};
