//! Decisions of the model, read from its answers and checked.
//!
//! A model that calls tools answers in words and hands tasks over by calling [`tool`]; another one answers with one JSON object that holds both.

mod refusal;

use std::{collections::HashSet, sync::LazyLock};

use agenthub_sdk::model::{Completion, ToolCall, ToolSpec};
use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub(crate) use refusal::{Refusal, without_words};

use super::answer;

/// The most actions of one decision.
pub(crate) const MAX_ACTIONS: usize = 16;

/// The tool by which a task is handed over.
const TOOL: &str = "task_request";

/// The JSON Schema of a decision, which is also what the model gets.
pub(crate) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../prompts/decision.schema.json"))
        .expect("the schema in the source tree is JSON")
});

static WHOLE: LazyLock<Validator> = LazyLock::new(|| validator(""));
static RESPONSE: LazyLock<Validator> =
    LazyLock::new(|| validator("/properties/actions/items/anyOf/0"));
static REQUEST: LazyLock<Validator> = LazyLock::new(|| validator(REQUEST_AT));

/// JSON pointer to a task in the schema.
const REQUEST_AT: &str = "/properties/actions/items/anyOf/1";

fn validator(pointer: &str) -> Validator {
    let schema = SCHEMA
        .pointer(pointer)
        .expect("the schema in the source tree has this part");
    jsonschema::validator_for(schema).expect("the schema in the source tree is valid")
}

/// Actions in the order in which the model said them: at least one, at most [`MAX_ACTIONS`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    /// The actions.
    pub(crate) actions: Vec<Action>,
}

impl Decision {
    /// To say this, and nothing else.
    pub(crate) fn words(text: &str) -> Self {
        Self {
            actions: vec![Action::Respond(text.trim().to_owned())],
        }
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// `chat.response`: say this to the user. Not blank.
    Respond(String),
    /// `task.request`: hand this to an agent.
    Delegate(TaskRequest),
}

/// A task for one agent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TaskRequest {
    /// One of the agent's skills or topics, as far as these are known.
    pub(crate) task_type: String,
    /// A present agent.
    pub(crate) target: String,
    /// The part of the user's words that the agent gets; all of them if `None`.
    pub(crate) words: Option<String>,
    /// Input of the agent beside the user's words.
    pub(crate) payload: Option<Map<String, Value>>,
    /// Unique in the decision.
    pub(crate) correlation_id: String,
}

/// An agent that may be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Candidate {
    /// Its id.
    pub(crate) id: String,
    /// Its skills under their names.
    pub(crate) skills: Vec<Skill>,
    /// The task types it registered for; `None` if they are not known, so that nothing can be said against a task type.
    pub(crate) topics: Option<Vec<String>>,
}

/// A skill under its names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Skill {
    /// Id by which the model calls it.
    pub(crate) id: String,
    /// Name that people read; models mistake it for the id.
    pub(crate) name: String,
    /// Task type that a task for it has; empty if that is the id.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) task_type: String,
}

impl Skill {
    fn task_type(&self) -> &str {
        match self.task_type.is_empty() {
            true => &self.id,
            false => &self.task_type,
        }
    }
}

/// Reads a model's answer and checks it against the schema and the agents at hand.
///
/// # Errors
/// The reason, for the model.
pub(crate) fn parse(answer: &str, agents: &[Candidate]) -> Result<Decision, Refusal> {
    let value = answer::find(answer)
        .ok_or_else(|| Refusal::new("the answer holds no JSON object with a list \"actions\""))?;
    let actions = value["actions"].as_array().map_or(&[][..], Vec::as_slice);
    if actions.is_empty() {
        return Err(Refusal::new(
            "\"actions\" is empty; give at least one action",
        ));
    }
    if actions.len() > MAX_ACTIONS {
        return Err(Refusal::too_many(actions.len(), "actions"));
    }
    let mut decided = Vec::with_capacity(actions.len());
    for (index, action) in actions.iter().enumerate() {
        let action = one(action, agents).map_err(|reason| Refusal::at("actions", index, &reason));
        decided.push(action?);
    }
    first_error(&WHOLE, &value).map_or(Ok(()), |reason| Err(Refusal::new(reason)))?;
    name_tasks(&mut decided, "actions")?;
    Ok(Decision { actions: decided })
}

/// Tool by which a model hands a task over. Nothing of any agent stands in it: their words are quoted, in the `agents` block.
pub(crate) fn tool() -> ToolSpec {
    let task = SCHEMA.pointer(REQUEST_AT).cloned().unwrap_or_default();
    let mut properties = task["properties"].as_object().cloned().unwrap_or_default();
    // That it is a task is said by the call.
    properties.shift_remove("type");
    ToolSpec {
        name: TOOL.to_owned(),
        description: task["description"].as_str().unwrap_or_default().to_owned(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": ["taskType", "targetAgent"],
            "additionalProperties": false,
        }),
        agent: None,
    }
}

/// Reads the answer of a model that was offered the [`tool`]: it says something to the user, hands tasks over by its calls, or both. One without calls that
/// wrote a decision in JSON all the same has decided so.
///
/// # Errors
/// The reason, for the model.
pub(crate) fn called(answer: &Completion, agents: &[Candidate]) -> Result<Decision, Refusal> {
    if answer.tool_calls.is_empty() {
        return match is_prose(&answer.text) {
            true => Ok(Decision::words(&answer.text)),
            false => parse(&answer.text, agents),
        };
    }
    if answer.tool_calls.len() > MAX_ACTIONS {
        return Err(Refusal::too_many(answer.tool_calls.len(), CALLS));
    }
    let mut decided = match answer.text.trim().is_empty() {
        true => Vec::new(),
        false => Decision::words(&answer.text).actions,
    };
    let beside = decided.len();
    for (index, call) in answer.tool_calls.iter().enumerate() {
        let task = asked(call, agents).map_err(|reason| Refusal::at(CALLS, index, &reason));
        decided.push(task?);
    }
    name_tasks(&mut decided[beside..], CALLS)?;
    Ok(Decision { actions: decided })
}

/// Name of the list in refusals of calls.
const CALLS: &str = "calls";

/// The task that a call hands over.
fn asked(call: &ToolCall, agents: &[Candidate]) -> Result<Action, String> {
    if call.name != TOOL {
        return Err(format!("there is no tool {:?}; call \"{TOOL}\"", call.name));
    }
    let Value::Object(fields) = &call.arguments else {
        return Err("the arguments are no JSON object".to_owned());
    };
    let mut action = answer::action(fields.clone());
    action["type"] = "task.request".into();
    one(&action, agents)
}

/// True if an answer is words for the user: no decision, nothing that was meant to be one, and no other JSON.
pub(crate) fn is_prose(answer: &str) -> bool {
    let text = answer.trim();
    let is_json = text.starts_with(['{', '[', '`']) || serde_json::from_str::<Value>(text).is_ok();
    !text.is_empty() && !is_json && !text.contains("\"actions\"") && answer::find(text).is_none()
}

fn one(action: &Value, agents: &[Candidate]) -> Result<Action, String> {
    let text = |field: &str| action[field].as_str().unwrap_or_default().to_owned();
    match action["type"].as_str() {
        Some("chat.response") => {
            first_error(&RESPONSE, action).map_or(Ok(()), Err)?;
            let text = text("text");
            if text.trim().is_empty() {
                return Err("\"text\" is empty".to_owned());
            }
            Ok(Action::Respond(text))
        }
        Some("task.request") => {
            first_error(&REQUEST, action).map_or(Ok(()), Err)?;
            let agent = target(&text("targetAgent"), agents)?;
            Ok(Action::Delegate(TaskRequest {
                task_type: task_type(&text("taskType"), agent)?,
                target: agent.id.clone(),
                words: action["words"].as_str().map(str::to_owned),
                payload: action["payload"].as_object().cloned(),
                correlation_id: text("correlationId"),
            }))
        }
        _ => Err("\"type\" must be \"chat.response\" or \"task.request\"".to_owned()),
    }
}

fn target<'a>(id: &str, agents: &'a [Candidate]) -> Result<&'a Candidate, String> {
    agents.iter().find(|a| a.id == id).ok_or_else(|| {
        let names: Vec<&str> = agents.iter().take(MAX_ACTIONS).map(|a| &*a.id).collect();
        if names.is_empty() {
            format!("there is no agent {id:?}; nobody is here who could take a task")
        } else {
            format!(
                "there is no agent {id:?}; choose among {}",
                names.join(", ")
            )
        }
    })
}

/// The task type as the agent knows it: a skill's name stands for its id.
fn task_type(wanted: &str, agent: &Candidate) -> Result<String, String> {
    if wanted.trim().is_empty() {
        return Err("\"taskType\" is empty".to_owned());
    }
    let known = |t: &str| t == wanted;
    if let Some(skill) = agent.skills.iter().find(|s| known(&s.id)) {
        return Ok(skill.task_type().to_owned());
    }
    let Some(topics) = &agent.topics else {
        return Ok(wanted.to_owned());
    };
    if topics.iter().any(|t| known(t)) || (topics.is_empty() && agent.skills.is_empty()) {
        return Ok(wanted.to_owned());
    }
    if let Some(skill) = agent.skills.iter().find(|s| known(&s.name)) {
        return Ok(skill.task_type().to_owned());
    }
    let types = agent.skills.iter().map(|s| &s.id).chain(topics);
    let types: Vec<&str> = types.map(|t| &**t).take(MAX_ACTIONS).collect();
    Err(format!(
        "agent {:?} takes no tasks of type {wanted:?}; it takes {}",
        agent.id,
        types.join(", ")
    ))
}

/// Gives a correlation id to the tasks that have none.
fn name_tasks(actions: &mut [Action], list: &str) -> Result<(), Refusal> {
    let mut names = HashSet::new();
    for (index, action) in actions.iter().enumerate() {
        if let Action::Delegate(task) = action
            && !task.correlation_id.is_empty()
            && !names.insert(task.correlation_id.clone())
        {
            let reason = format!("correlationId {:?} is used twice", task.correlation_id);
            return Err(Refusal::at(list, index, &reason));
        }
    }
    let mut free = (1..).map(|n| n.to_string());
    for action in actions {
        if let Action::Delegate(task) = action
            && task.correlation_id.is_empty()
        {
            task.correlation_id = free
                .find(|name| !names.contains(name))
                .expect("more numbers than actions");
        }
    }
    Ok(())
}

fn first_error(validator: &Validator, value: &Value) -> Option<String> {
    let error = validator.iter_errors(value).next()?;
    let place = error.instance_path().to_string();
    Some(if place.is_empty() {
        error.to_string()
    } else {
        format!("{place}: {error}")
    })
}

#[cfg(test)]
mod tests;
