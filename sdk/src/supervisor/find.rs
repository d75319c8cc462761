//! Finds agents among more than a model can be offered.

use agenthub_runs::{
    ToolOutput,
    model::ToolSpec,
    tool_loop::{AvailableTool, FIND_AGENTS},
};
use serde_json::{Value, json};

use super::peers;
use crate::{DirectoryEntry, relevance};

/// The agents that are found if nothing else is asked for, and at most.
const FOUND: u64 = 8;
const MOST_FOUND: u64 = 16;

/// The tool, when so many agents are not offered.
pub(super) fn tool(left_out: usize) -> AvailableTool {
    let tool = ToolSpec {
        name: FIND_AGENTS.to_owned(),
        description: format!(
            "Finds agents by what they can do. {left_out} agents are here that you do not see as tools; those that are found become \
             tools in your next turn."
        ),
        parameters: json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What is to be done, in a few words"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND, "description": "How many agents at most"},
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
        agent: None,
    };
    AvailableTool {
        tool,
        agent: None,
        needs_approval: false,
    }
}

/// The agents that are here and match best, best first.
pub(super) fn find(all: &[DirectoryEntry], excluded: &[String], arguments: &Value) -> ToolOutput {
    let Some(query) = arguments["query"].as_str().filter(|q| !q.trim().is_empty()) else {
        return ToolOutput::error("`query` is missing: say in a few words what is to be done");
    };
    let limit = arguments["limit"].as_u64().unwrap_or(FOUND);
    let limit = usize::try_from(limit.clamp(1, MOST_FOUND)).unwrap_or(1);
    let here: Vec<_> = peers::here(all, excluded).collect();
    let cards: Vec<relevance::Card<'_>> = here.iter().map(|card| (&***card).into()).collect();
    let found: Vec<Value> = relevance::rank(query, &cards)
        .into_iter()
        .filter(|(_, score)| *score > 0)
        .take(limit)
        .map(|(at, _)| peers::told(here[at]))
        .collect();
    json!({ "agents": found }).into()
}
