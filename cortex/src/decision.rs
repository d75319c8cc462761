//! What did the model decide, and is it allowed?

use std::{collections::HashSet, sync::LazyLock};

use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer;

/// The most actions of one decision.
pub(crate) const MAX_ACTIONS: usize = 16;

/// The longest reason that a model is told, in characters.
const MAX_REASON: usize = 400;

/// The JSON Schema of a decision, which is also what the model gets.
pub(crate) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../prompts/decision.schema.json"))
        .expect("the schema in the source tree is JSON")
});

static WHOLE: LazyLock<Validator> = LazyLock::new(|| validator(""));
static RESPONSE: LazyLock<Validator> =
    LazyLock::new(|| validator("/properties/actions/items/anyOf/0"));
static REQUEST: LazyLock<Validator> =
    LazyLock::new(|| validator("/properties/actions/items/anyOf/1"));

fn validator(pointer: &str) -> Validator {
    let schema = SCHEMA
        .pointer(pointer)
        .expect("the schema in the source tree has this part");
    jsonschema::validator_for(schema).expect("the schema in the source tree is valid")
}

/// What is to be done, in the order in which the model said it. At least one action, at most [`MAX_ACTIONS`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    /// The actions.
    pub(crate) actions: Vec<Action>,
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
    /// What the agent needs beside the user's words.
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
    /// What a model is to call it.
    pub(crate) id: String,
    /// What people read; models mistake it for the id.
    pub(crate) name: String,
    /// What the type of a task for it says; empty if that is the id.
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

/// Why an answer is no decision, in words that help the model to mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refusal(String);

/// Reads a model's answer and checks it against the schema and the agents at hand.
///
/// # Errors
/// The reason, for the model.
pub(crate) fn parse(answer: &str, agents: &[Candidate]) -> Result<Decision, Refusal> {
    let value = answer::find(answer).ok_or_else(|| {
        Refusal("the answer holds no JSON object with a list \"actions\"".to_owned())
    })?;
    let actions = value["actions"].as_array().map_or(&[][..], Vec::as_slice);
    if actions.is_empty() {
        return Err(Refusal(
            "\"actions\" is empty; give at least one action".to_owned(),
        ));
    }
    if actions.len() > MAX_ACTIONS {
        return Err(Refusal(format!(
            "{} actions are too many; give at most {MAX_ACTIONS}",
            actions.len()
        )));
    }
    let mut decided = Vec::with_capacity(actions.len());
    for (index, action) in actions.iter().enumerate() {
        decided.push(one(action, agents).map_err(|reason| at(index, &reason))?);
    }
    first_error(&WHOLE, &value).map_or(Ok(()), |reason| Err(Refusal(reason)))?;
    name_tasks(&mut decided)?;
    Ok(Decision { actions: decided })
}

/// The words in quotation marks that a reason has of itself.
const OWN: [&str; 9] = [
    "actions",
    "type",
    "text",
    "taskType",
    "targetAgent",
    "payload",
    "correlationId",
    "chat.response",
    "task.request",
];

/// The reason of a refusal for the log: without what it quotes of the answer, which may be the user's words.
pub(crate) fn without_words(reason: &str) -> String {
    let mut told = String::new();
    let mut rest = reason;
    while let Some(at) = rest.find(['"', '{']) {
        told.push_str(&rest[..at]);
        let quoted = &rest[at..];
        let end = match quoted.starts_with('{') {
            true => quoted.rfind('}'),
            false => closing(quoted),
        };
        let length = end.map_or(quoted.len(), |end| end + 1);
        let inner = quoted[..length].trim_matches('"');
        match OWN.contains(&inner) {
            true => told.push_str(&quoted[..length]),
            false => told.push('…'),
        }
        rest = &quoted[length..];
    }
    told + rest
}

/// Where the quotation ends that a text begins with.
fn closing(quoted: &str) -> Option<usize> {
    let mut is_escaped = false;
    let mut ends = quoted.char_indices().skip(1).filter(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    ends.next().map(|(at, _)| at)
}

/// Whether an answer is words for the user: no decision, nothing that was meant to be one, and no other JSON.
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
fn name_tasks(actions: &mut [Action]) -> Result<(), Refusal> {
    let mut names = HashSet::new();
    for (index, action) in actions.iter().enumerate() {
        if let Action::Delegate(task) = action
            && !task.correlation_id.is_empty()
            && !names.insert(task.correlation_id.clone())
        {
            let reason = format!("correlationId {:?} is used twice", task.correlation_id);
            return Err(at(index, &reason));
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

fn at(index: usize, reason: &str) -> Refusal {
    let reason = format!("actions[{index}]: {reason}");
    Refusal(match reason.char_indices().nth(MAX_REASON) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn agents() -> Vec<Candidate> {
        let skill = |id: &str, name: &str| Skill {
            id: id.to_owned(),
            name: name.to_owned(),
            task_type: String::new(),
        };
        vec![
            Candidate {
                id: "agent_echo".to_owned(),
                skills: vec![skill("echo", "Echo Messages")],
                topics: Some(vec!["echo_request".to_owned()]),
            },
            Candidate {
                id: "original".to_owned(),
                skills: vec![Skill {
                    task_type: "Echo Messages".to_owned(),
                    ..skill("skill_0", "Echo Messages")
                }],
                topics: Some(vec![]),
            },
            Candidate {
                id: "plain".to_owned(),
                skills: vec![],
                topics: Some(vec![]),
            },
            Candidate {
                id: "late".to_owned(),
                skills: vec![skill("a", "A")],
                topics: None,
            },
        ]
    }

    fn refused(answer: &Value) -> String {
        parse(&answer.to_string(), &agents())
            .expect_err("a refusal")
            .to_string()
    }

    fn request(target: &str, task_type: &str) -> Value {
        json!({"type": "task.request", "targetAgent": target, "taskType": task_type})
    }

    #[test]
    fn answers_and_tasks_keep_their_order() {
        let answer = json!({"actions": [
            {"type": "chat.response", "text": "one moment"},
            {"type": "task.request", "targetAgent": "agent_echo", "taskType": "echo", "payload": {"text": "hi"}, "correlationId": "2"},
            request("plain", "anything"),
            request("late", "b"),
        ]});
        let decision = parse(&answer.to_string(), &agents()).expect("a decision");
        let task = |target: &str, task_type: &str, correlation_id: &str, payload: Value| {
            Action::Delegate(TaskRequest {
                task_type: task_type.to_owned(),
                target: target.to_owned(),
                payload: payload.as_object().cloned(),
                correlation_id: correlation_id.to_owned(),
            })
        };
        assert_eq!(
            decision.actions,
            vec![
                Action::Respond("one moment".to_owned()),
                task("agent_echo", "echo", "2", json!({"text": "hi"})),
                task("plain", "anything", "1", Value::Null),
                task("late", "b", "3", Value::Null),
            ]
        );
    }

    #[test]
    fn the_log_has_reasons_without_what_they_quote() {
        for (reason, told) in [
            (
                "actions[0]: there is no agent \"ses\\\"ame\"; choose among a, b",
                "actions[0]: there is no agent …; choose among a, b",
            ),
            (
                "actions[1]: /text: {\"sesame\":{\"a\":1}} is not of type \"string\"",
                "actions[1]: /text: … is not of type …",
            ),
            (
                "\"type\" must be \"chat.response\" or \"task.request\"",
                "\"type\" must be \"chat.response\" or \"task.request\"",
            ),
            ("broken off in \"sesa…", "broken off in …"),
        ] {
            assert_eq!(without_words(reason), told);
        }
    }

    #[test]
    fn prose_is_told_from_decisions_that_went_wrong() {
        for prose in [
            "The tide is low at six.",
            "\"Ebb\" is low water.",
            "Use [brackets], {maybe}.",
        ] {
            assert!(is_prose(prose), "{prose}");
        }
        for other in [
            "",
            " ",
            "null",
            "3",
            "\"hello\"",
            "{\"actions\": [",
            "[1]",
            "```json\n{}\n```",
            "Sure: {\"actions\": [{",
            "So: {\"type\": \"chat.response\", \"text\": \"x\"}",
        ] {
            assert!(!is_prose(other), "{other}");
        }
    }

    /// spec: HUB-4
    #[test]
    fn the_target_must_be_a_present_agent() {
        assert_eq!(
            refused(&json!({"actions": [request("nobody", "echo")]})),
            "actions[0]: there is no agent \"nobody\"; choose among agent_echo, original, plain, late"
        );
        assert!(
            parse(&json!({"actions": [request("a", "b")]}).to_string(), &[])
                .expect_err("a refusal")
                .to_string()
                .contains("nobody is here")
        );
    }

    /// spec: HUB-5.2
    #[test]
    fn an_agent_that_goes_by_names_is_asked_by_a_name() {
        for wanted in ["skill_0", "Echo Messages"] {
            let answer = json!({"actions": [request("original", wanted)]});
            let decision = parse(&answer.to_string(), &agents()).expect("good");
            let [Action::Delegate(task)] = &decision.actions[..] else {
                panic!("{decision:?}");
            };
            assert_eq!(task.task_type, "Echo Messages");
        }
    }

    /// spec: HUB-3
    #[test]
    fn the_task_type_must_be_one_that_the_agent_takes() {
        let types = |wanted: &str| {
            let answer = json!({"actions": [request("agent_echo", wanted)]});
            match parse(&answer.to_string(), &agents()) {
                Ok(Decision { actions }) => match &actions[..] {
                    [Action::Delegate(task)] => task.task_type.clone(),
                    other => panic!("{other:?}"),
                },
                Err(reason) => reason.to_string(),
            }
        };
        assert_eq!(types("echo"), "echo");
        assert_eq!(types("echo_request"), "echo_request");
        assert_eq!(types("Echo Messages"), "echo");
        assert_eq!(types(" "), "actions[0]: \"taskType\" is empty");
        assert_eq!(
            types("dance"),
            "actions[0]: agent \"agent_echo\" takes no tasks of type \"dance\"; it takes echo, echo_request"
        );
    }

    #[test]
    fn wrong_answers_are_refused_with_a_reason() {
        let cases = [
            (json!("hello"), "holds no JSON"),
            (json!({"actions": []}), "is empty"),
            (
                json!({"actions": [{"type": "dance", "text": "x"}]}),
                "\"type\" must be",
            ),
            (
                json!({"actions": [{"type": "chat.response"}]}),
                "\"text\" is a required",
            ),
            (
                json!({"actions": [{"type": "chat.response", "text": "  "}]}),
                "\"text\" is empty",
            ),
            (
                json!({"actions": [{"type": "chat.response", "text": 3}]}),
                "/text: 3 is not of type",
            ),
            (json!({"actions": [3]}), "\"type\" must be"),
            (
                json!({"actions": [{"type": "task.request", "taskType": "echo"}]}),
                "\"targetAgent\" is a required",
            ),
            (
                json!({"actions": [{"type": "task.request", "taskType": "echo", "targetAgent": "agent_echo", "payload": "x"}]}),
                "/payload",
            ),
            (
                json!({"actions": vec![json!({"type": "chat.response", "text": "x"}); 17]}),
                "17 actions are too many",
            ),
        ];
        for (answer, reason) in cases {
            let said = refused(&answer);
            assert!(said.contains(reason), "{answer} gave {said:?}");
        }
    }

    #[test]
    fn tasks_have_names_of_their_own() {
        let mut task = request("plain", "x");
        task["correlationId"] = "same".into();
        assert_eq!(
            refused(&json!({"actions": [task, task]})),
            "actions[1]: correlationId \"same\" is used twice"
        );
    }

    proptest! {
        #[test]
        fn any_answer_is_survived(answer in ".{0,80}") {
            let _ = parse(&answer, &agents());
        }

        #[test]
        fn any_shape_is_survived(kind in "chat.response|task.request|x", field in "text|payload|taskType|targetAgent", value in "\\PC{0,20}", wrap in 0..3) {
            let action = json!({"type": kind, "targetAgent": "plain", field: value});
            let answer = match wrap { 0 => action, 1 => json!([action]), _ => json!({"actions": [action]}) };
            if let Ok(decision) = parse(&answer.to_string(), &agents()) {
                prop_assert!(!decision.actions.is_empty());
            }
        }
    }
}
