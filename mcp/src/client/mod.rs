//! Tools of MCP servers, for agents.
