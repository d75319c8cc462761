//! What a server offers.

use agenthub_sdk::{Tool, ToolContext};
use serde_json::Value;

use super::Connection;

/// The tools of a server.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// Those that an agent can use, in the order of the server.
    pub tools: Vec<Offered>,
    /// Those that no agent can use.
    pub left_out: Vec<LeftOut>,
}

/// A tool of a server that no agent can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name at the server, bounded; empty if it has none.
    pub name: String,
    /// Why, in words for people.
    pub why: String,
}

/// A tool of a server.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Its name at the server.
    pub name: String,
    /// The name that models see unless another is chosen: `SERVER_TOOL`.
    pub full_name: String,
    pub(super) description: String,
    pub(super) schema: Value,
    pub(super) connection: Connection,
}

impl Offered {
    /// The tool for an agent, under its full name.
    pub fn tool(&self) -> Tool {
        self.named(&self.full_name)
    }

    /// The tool for an agent, under another name.
    pub fn named(&self, name: &str) -> Tool {
        let (connection, tool) = (self.connection.clone(), self.name.clone());
        let call = move |context: ToolContext, input: Value| {
            let (connection, tool) = (connection.clone(), tool.clone());
            async move { connection.call_for(&context, &tool, input).await }
        };
        Tool::new(name, &*self.description, self.schema.clone(), call)
    }
}

/// The name under which a model sees a tool of a server: `SERVER_TOOL`, with `_` for what names may not contain, at most 64 bytes.
pub fn tool_name(server: &str, tool: &str) -> String {
    let allowed = |c: char| match c {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' => c,
        _ => '_',
    };
    format!("{server}_{tool}")
        .chars()
        .map(allowed)
        .take(64)
        .collect()
}
