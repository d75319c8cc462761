//! The agents of a hub, as MCP tools.
