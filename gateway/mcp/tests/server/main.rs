//! The agents of a real hub, served to MCP clients over pipes and real sockets.

mod asking;
mod callers;
mod calling;
mod harness;
mod http;
mod listing;
mod watching;
