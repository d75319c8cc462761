//! Tools of MCP servers, for agents.
//!
//! A [`Connection`] stands for one server: it is opened at the first need, comes back by itself when the server has gone, and is closed once.
//! An offer of the server becomes [`Offered`] tools, whose descriptions and schemas are bounded and fit for a model. An agent that runs
//! keeps the tools that it began with; when a server says that it has others, those who ask next get the others.
//!
//! A server that is a program ends with the connection. Where this process is killed instead, the program's stdin is closed, which is how
//! MCP tells a server to end.

mod call;
mod connection;
mod error;
mod handler;
mod http;
mod offer;
mod process;
mod result;
mod schema;
mod session;
mod settings;
mod text;
mod why;

pub use connection::Connection;
pub use error::Error;
pub use offer::{LeftOut, Offer, Offered, tool_name};
pub use settings::{DEFAULT_TIMEOUT, Reach, ServerSettings};
