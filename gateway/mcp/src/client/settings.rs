//! Settings of a server's connection.

use std::{path::PathBuf, time::Duration};

/// The time that a call has if nothing else is said.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// An MCP server and how it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Its name, with which those of its tools begin.
    pub name: String,
    /// Its address or command.
    pub reach: Reach,
    /// Deadline of one call of a tool, with what it takes to come back to a server that has gone.
    pub timeout: Duration,
}

/// Address or command of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A program of this machine, spoken to over its stdin and stdout.
    Command {
        /// The program and its arguments; at least the program.
        line: Vec<String>,
        /// Working folder, in which a relative path of the program begins; `None` for that of this process.
        folder: Option<PathBuf>,
        /// The variables of the environment that it sees, besides `PATH`, `HOME` and the like.
        environment: Vec<String>,
    },
    /// A server that is reached over streamable HTTP.
    Http {
        /// Its endpoint, such as `https://example.com/mcp`.
        url: String,
        /// The variable of the environment with the bearer token, if it wants one. It is read whenever a session begins.
        token_env: Option<String>,
    },
}
