//! Tools of MCP servers, for agents.
//!
//! A [`Connection`] stands for one server: it is opened at the first need, comes back by itself when the server has gone, and is closed once.
//! What the server offers becomes [`Offered`] tools, whose descriptions and schemas are bounded and fit for a model.

mod connection;
mod error;
mod offer;
mod settings;

pub use connection::Connection;
pub use error::Error;
pub use offer::{LeftOut, Offer, Offered, tool_name};
pub use settings::{DEFAULT_TIMEOUT, Reach, ServerSettings};
