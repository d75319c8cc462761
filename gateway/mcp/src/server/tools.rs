//! Tools that a client sees, and the request to an agent when one is called.

use std::{collections::BTreeMap, sync::Arc};

use agenthub_sdk::{Delegation, internal::AgentTool};
use rmcp::{
    ErrorData,
    model::{JsonObject, ListToolsResult, Tool, ToolAnnotations},
};
use serde_json::{Value, json};

/// The tools in one answer.
const PAGE: usize = 100;

/// The agents that are named where a tool is unknown.
const NAMED: usize = 20;

/// The argument by which a conversation goes on.
pub(super) const CONTEXT: &str = "context_id";

/// The longest id of a conversation, in bytes.
const MAX_CONTEXT: usize = 256;

/// A page of the tools: one for each agent that can be reached and that the caller may send to, by name. The cursor is the name of the last one before, so that a page
/// stays where it is when agents come and go.
///
/// # Errors
///
/// The cursor is none of ours.
pub(super) fn page(all: &[AgentTool], cursor: Option<&str>) -> Result<ListToolsResult, ErrorData> {
    if cursor.is_some_and(|cursor| !is_name(cursor)) {
        return Err(ErrorData::invalid_params(
            "the cursor is none: use `nextCursor` of the page before, or none for the first page",
            None,
        ));
    }
    let sorted: BTreeMap<&str, &AgentTool> = all
        .iter()
        .filter(|tool| tool.online && tool.allowed)
        .map(|tool| (&*tool.name, tool))
        .collect();
    let mut after = sorted
        .into_iter()
        .filter(|(name, _)| cursor.is_none_or(|cursor| *name > cursor))
        .map(|(_, tool)| shown(tool));
    let tools: Vec<Tool> = after.by_ref().take(PAGE).collect();
    let last = after.next().and(tools.last());
    let next_cursor = last.map(|tool| tool.name.to_string());
    let mut page = ListToolsResult::with_all_items(tools);
    page.next_cursor = next_cursor;
    Ok(page)
}

fn is_name(text: &str) -> bool {
    let fits = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"_-".contains(&c);
    text.starts_with("agent_") && text.len() <= 64 && text.bytes().all(fits)
}

/// An agent as a tool. What it does to the world nobody knows, so clients are told to expect anything.
fn shown(tool: &AgentTool) -> Tool {
    let mut schema = match &tool.parameters {
        Value::Object(schema) => schema.clone(),
        _ => JsonObject::new(),
    };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let description = "To go on in a conversation with this agent: the context_id that an earlier result gave; none begins one";
        properties.insert(
            CONTEXT.to_owned(),
            json!({"type": "string", "minLength": 1, "maxLength": MAX_CONTEXT, "description": description}),
        );
    }
    let annotations = ToolAnnotations::with_title(&tool.agent)
        .read_only(false)
        .idempotent(false)
        .open_world(true);
    Tool::new(
        tool.name.clone(),
        tool.description.clone(),
        Arc::new(schema),
    )
    .with_title(&tool.agent)
    .with_annotations(annotations)
}

/// The tool with this name, of an agent that may be away.
///
/// # Errors
///
/// No agent to which the caller may send has that name.
pub(super) fn named<'a>(all: &'a [AgentTool], name: &str) -> Result<&'a AgentTool, ErrorData> {
    let allowed = || all.iter().filter(|tool| tool.allowed);
    let found = allowed().find(|tool| tool.name == name);
    found.ok_or_else(|| {
        let online = allowed().filter(|tool| tool.online);
        let mut names: Vec<&str> = online.map(|tool| &*tool.name).collect();
        names.sort_unstable();
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        let there = match (names.as_slice(), more) {
            ([], _) => "no agent is here".to_owned(),
            (names, 0) => format!("here are {}", names.join(", ")),
            (names, more) => format!("here are {} and {more} more", names.join(", ")),
        };
        ErrorData::invalid_params(format!("unknown tool: {name:?}; {there}"), None)
    })
}

/// The request that a call with these arguments makes of the agent.
///
/// # Errors
///
/// The mismatch, in words for the model that made the arguments.
pub(super) fn asked(tool: &AgentTool, mut arguments: JsonObject) -> Result<Delegation, String> {
    let context = arguments.remove(CONTEXT).unwrap_or_default();
    let delegation = tool.delegation(arguments)?;
    match context {
        Value::Null => Ok(delegation),
        Value::String(context) if (1..=MAX_CONTEXT).contains(&context.len()) => {
            Ok(delegation.context_id(context))
        }
        _ => Err(format!(
            "{CONTEXT} is none: give the one of an earlier result as a text, or leave it out to begin a conversation"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(id: &str, online: bool) -> AgentTool {
        AgentTool {
            agent: id.to_owned(),
            online,
            allowed: true,
            name: format!("agent_{id}"),
            description: format!("Hands work to {id}"),
            parameters: json!({
                "type": "object",
                "properties": {"request": {"type": "string"}, "skill": {"enum": ["do", "undo"]}, "input": {"type": "object"}},
                "required": ["request"],
                "additionalProperties": false,
            }),
            skills: vec!["do".to_owned(), "undo".to_owned()],
        }
    }

    fn object(value: Value) -> JsonObject {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn many_agents_come_in_pages_that_stay_where_they_are() {
        let id = |n: usize| format!("a{n:03}");
        let mut all: Vec<AgentTool> = (0..250).map(|n| tool(&id(n), true)).collect();
        all.reverse();
        all.push(tool("away", false));
        let first = page(&all, None).expect("a page");
        assert_eq!(first.tools.len(), PAGE);
        let cursor = first.next_cursor.expect("there are more");
        // What comes and goes before the cursor moves nothing behind it.
        all.retain(|tool| tool.agent != id(7));
        let second = page(&all, Some(&cursor)).expect("a page");
        let third = page(&all, second.next_cursor.as_deref()).expect("a page");
        assert_eq!(third.next_cursor, None);
        let pages = [first.tools, second.tools, third.tools].concat();
        let names: Vec<String> = pages.iter().map(|tool| tool.name.to_string()).collect();
        let expected: Vec<String> = (0..250).map(|n| format!("agent_{}", id(n))).collect();
        assert_eq!(names, expected);
    }

    /// Issue 25, other doors: a caller sees no agent that it may not send to.
    #[test]
    fn agents_of_others_are_no_tools() {
        let mut all = [tool("a", true), tool("b", true)];
        all[1].allowed = false;
        let page = page(&all, None).expect("a page");
        assert_eq!(page.tools.len(), 1);
        let refused = named(&all, "agent_b").expect_err("it may not be asked");
        assert_eq!(
            refused.message,
            "unknown tool: \"agent_b\"; here are agent_a"
        );
    }

    #[test]
    fn a_page_that_is_just_full_is_the_last() {
        let all: Vec<AgentTool> = (0..PAGE).map(|n| tool(&n.to_string(), true)).collect();
        assert_eq!(page(&all, None).map(|page| page.next_cursor), Ok(None));
    }

    #[test]
    fn cursors_of_others_are_refused() {
        for cursor in ["", "2", "agent_\u{e9}", "Agent_a"] {
            let refused = page(&[], Some(cursor)).expect_err(cursor);
            assert_eq!(refused.code, rmcp::model::ErrorCode::INVALID_PARAMS);
        }
        // The agent may be gone meanwhile.
        assert!(page(&[], Some("agent_gone")).is_ok());
    }

    #[test]
    fn a_tool_says_what_it_takes_and_that_anything_may_happen() {
        let shown = shown(&tool("echo", true));
        assert_eq!(shown.title.as_deref(), Some("echo"));
        let schema = Value::Object((*shown.input_schema).clone());
        assert_eq!(schema["required"], json!(["request"]));
        assert_eq!(schema["properties"][CONTEXT]["type"], "string");
        let annotations = shown.annotations.expect("there are some");
        assert_eq!(annotations.open_world_hint, Some(true));
        assert_eq!(annotations.read_only_hint, Some(false));
        assert_eq!(shown.output_schema, None, "an agent may answer in words");
    }

    #[test]
    fn arguments_become_a_delegation_or_say_what_does_not_fit() {
        let tool = tool("echo", true);
        let whole =
            object(json!({"request": "go", "skill": "undo", "input": {"n": 1}, "context_id": "c"}));
        let delegation = asked(&tool, whole).expect("it fits");
        assert_eq!(delegation.agent, "echo");
        assert_eq!(delegation.text, "go");
        assert_eq!(delegation.capability, "undo");
        assert_eq!(delegation.payload, Some(json!({"n": 1})));
        assert_eq!(delegation.context_id, "c");
        let least = asked(&tool, object(json!({"request": "go"}))).expect("it fits");
        assert_eq!((&*least.capability, &*least.context_id), ("do", ""));

        for (arguments, part) in [
            (json!({}), "\"request\" is a required property"),
            (json!({"request": 1}), "/request"),
            (json!({"request": "  "}), "`request` is empty"),
            (json!({"request": "go", "skill": "fly"}), "/skill"),
            (json!({"request": "go", "inputs": {}}), "inputs"),
            (json!({"request": "go", "context_id": ""}), "context_id"),
            (json!({"request": "go", "context_id": 1}), "context_id"),
        ] {
            let refused = asked(&tool, object(arguments)).expect_err(part);
            assert!(refused.contains(part), "{part} in {refused}");
        }
    }

    #[test]
    fn an_unknown_tool_is_answered_with_those_there_are() {
        let all = [tool("b", true), tool("a", true), tool("away", false)];
        assert!(named(&all, "agent_away").is_ok());
        let refused = named(&all, "agent_x").expect_err("there is none");
        assert_eq!(refused.code, rmcp::model::ErrorCode::INVALID_PARAMS);
        assert_eq!(
            refused.message,
            "unknown tool: \"agent_x\"; here are agent_a, agent_b"
        );
    }
}
