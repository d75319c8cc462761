//! Errors of a server.

use std::time::Duration;

/// Failure of a server. Each says in one line which server, and what is known of the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not there, or not able to get along with MCP. Trying again later can help.
    #[error("the MCP server {server} cannot be used: {why}")]
    Unavailable {
        /// The server.
        server: String,
        /// The event.
        why: String,
    },
    /// No answer in time. What was asked for was called off at the server.
    #[error("the MCP server {server} did not answer within {} s", limit.as_secs_f64())]
    TimedOut {
        /// The server.
        server: String,
        /// Its deadline.
        limit: Duration,
    },
    /// The server ended, or the connection did, while it worked: whether it has done its work is not known.
    #[error(
        "the MCP server {server} broke off before it answered; what was asked for may have been done or not: {why}"
    )]
    Lost {
        /// The server.
        server: String,
        /// The event.
        why: String,
    },
    /// An error instead of a result.
    #[error("the MCP server {server} answered with an error: {message}")]
    Refused {
        /// The server.
        server: String,
        /// Its message, bounded.
        message: String,
    },
    /// Called off at the server, as nobody wants the result any more.
    #[error("it was cancelled")]
    Cancelled,
    /// [`close`](super::Connection::close) was called.
    #[error("the connection to the MCP server {server} is closed")]
    Closed {
        /// The server.
        server: String,
    },
}
