//! Statuses by which those who watch a task see its tools.

use std::collections::HashMap;

use agenthub_runs::{
    DelegationResult, EffectFailure, Missing, RunEvent, SentHandoff, Shortfall, StepId,
    StepRequest, StepResult, ToolOutput, model::ToolCall,
};
use serde_json::{Value, json};

use crate::redact;

/// The failures that are shown of a partial answer.
const MAX_FAILED: usize = 8;

/// The calls that were shown as begun, by their step.
pub(super) type Calls = HashMap<StepId, Called>;

/// A call of a tool, or the question whether it may be made, as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Called {
    /// Of the question; empty for a call.
    approval: String,
    name: String,
    /// The model's id for it; empty for agents, whose task is named instead.
    call_id: String,
    agent: String,
    task_id: String,
}

/// A line about a tool, and the metadata `tool` that goes with it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) tool: Value,
    pub(super) at_ms: u64,
}

/// The status of an event; nothing unless a tool was called or came back.
pub(super) fn of(event: &RunEvent, calls: &mut Calls) -> Option<Line> {
    match event {
        RunEvent::StepBegun {
            step, what, at_ms, ..
        } => {
            let (called, arguments) = called(what)?;
            let mut tool = called.described();
            tool["arguments"] = redact::value(&arguments);
            let text = match called.approval.is_empty() {
                true => format!("Invoking tool: {}", called.name),
                false => format!("Waiting for a person to allow tool: {}", called.name),
            };
            calls.insert(step.clone(), called);
            Some(Line {
                text,
                tool,
                at_ms: *at_ms,
            })
        }
        RunEvent::StepEnded {
            step,
            result,
            at_ms,
            ..
        } => {
            let called = calls.remove(step)?;
            let mut tool = called.described();
            if let StepResult::Decided(decision) = result {
                let word = match decision.approved {
                    true => "allowed",
                    false => "refused",
                };
                tool["decision"] = json!(decision);
                return Some(Line {
                    text: format!("Tool {} is {word}", called.name),
                    tool,
                    at_ms: *at_ms,
                });
            }
            let text = match end(result) {
                Ok(value) => {
                    tool["result"] = redact::value(&value);
                    if let Some(shortfall) = shortfall_of(result) {
                        tool["partial"] = missing(&shortfall);
                        if let Some(undone) = shortfall.undone {
                            tool["undone"] = json!(undone);
                        }
                    }
                    format!("Tool {} completed successfully", called.name)
                }
                Err(error) => {
                    let error = redact::error(&error);
                    tool["error"] = error.as_str().into();
                    format!("Tool {} failed: {error}", called.name)
                }
            };
            Some(Line {
                text,
                tool,
                at_ms: *at_ms,
            })
        }
        _ => None,
    }
}

/// The shortfall of an agent's answer, where it says that it has one.
fn shortfall_of(result: &StepResult) -> Option<Shortfall> {
    match result {
        StepResult::DelegationEnded(delegated) => Shortfall::of(&delegated.data),
        _ => None,
    }
}

/// The tools and agents that an answer had to do without.
fn missing(shortfall: &Shortfall) -> Value {
    let missing = shortfall.missing().into_iter().take(MAX_FAILED);
    let missing = missing
        .map(|Missing { name, why, .. }| json!({ "name": name, "error": redact::error(&why) }));
    missing.collect()
}

/// The call that a step is, with its arguments.
pub(super) fn called(what: &StepRequest) -> Option<(Called, Value)> {
    match what {
        StepRequest::ToolCalled(call) => {
            let called = Called {
                approval: String::new(),
                name: call.name.clone(),
                call_id: call.id.clone(),
                agent: String::new(),
                task_id: String::new(),
            };
            Some((called, call.arguments.clone()))
        }
        StepRequest::Delegated(sent) => Some(handed_over(sent)),
        StepRequest::ApprovalAsked(approval) => {
            let called = Called {
                approval: approval.id.clone(),
                name: approval.capability.clone(),
                call_id: String::new(),
                agent: String::new(),
                task_id: String::new(),
            };
            Some((called, approval.arguments.clone()))
        }
        StepRequest::ModelAsked { .. } | StepRequest::Said { .. } | StepRequest::Waiting { .. } => {
            None
        }
    }
}

fn handed_over(sent: &SentHandoff) -> (Called, Value) {
    let handoff = &sent.handoff;
    let name = match handoff.tool.is_empty() {
        true => handoff.agent.clone(),
        false => handoff.tool.clone(),
    };
    let mut arguments = json!({ "request": handoff.text });
    if !handoff.capability.is_empty() {
        arguments["skill"] = handoff.capability.as_str().into();
    }
    if let Some(payload) = &handoff.payload {
        arguments["input"] = payload.clone();
    }
    let called = Called {
        approval: String::new(),
        name,
        call_id: String::new(),
        agent: handoff.agent.clone(),
        task_id: sent.task_id.clone(),
    };
    (called, arguments)
}

/// The call of a tool that a handoff is.
pub(super) fn call_of(sent: &SentHandoff) -> ToolCall {
    let (called, arguments) = handed_over(sent);
    ToolCall {
        id: called.task_id,
        name: called.name,
        arguments,
    }
}

/// The result of a delegation, as if an own tool had given it.
pub(super) fn output_of(delegated: Result<&DelegationResult, &EffectFailure>) -> ToolOutput {
    let result = match delegated {
        Ok(delegated) => StepResult::DelegationEnded(delegated.clone()),
        Err(failure) => StepResult::Failed(failure.clone()),
    };
    end(&result).map_or_else(ToolOutput::error, ToolOutput::from)
}

impl Called {
    fn described(&self) -> Value {
        let mut tool = json!({ "name": self.name });
        for (key, value) in [
            ("approval", &self.approval),
            ("callId", &self.call_id),
            ("agent", &self.agent),
            ("taskId", &self.task_id),
        ] {
            if !value.is_empty() {
                tool[key] = value.as_str().into();
            }
        }
        tool
    }
}

/// The result, or the reason why there is none.
fn end(result: &StepResult) -> Result<Value, String> {
    match result {
        StepResult::ToolReturned(output) if output.is_error => Err(match &output.value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        }),
        StepResult::ToolReturned(output) => Ok(output.value.clone()),
        StepResult::DelegationEnded(delegated) if delegated.state == "completed" => {
            let mut value = json!({ "text": delegated.text });
            if !delegated.data.is_empty() {
                value["data"] = delegated.data.clone().into();
            }
            Ok(value)
        }
        StepResult::DelegationEnded(delegated) => Err(match delegated.error.is_empty() {
            true => delegated.state.clone(),
            false => delegated.error.clone(),
        }),
        StepResult::Failed(failure) => Err(failure.message.clone()),
        _ => Err("it was called back".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_runs::{Budget, Handoff, model::Completion};

    fn begun(what: StepRequest) -> RunEvent {
        RunEvent::StepBegun {
            step: StepId::new("s"),
            attempt: 1,
            what,
            grant: Budget::default(),
            deadline_ms: None,
            at_ms: 1,
        }
    }

    fn ended(result: StepResult) -> RunEvent {
        RunEvent::StepEnded {
            step: StepId::new("s"),
            attempt: 1,
            result,
            spent: None,
            at_ms: 2,
        }
    }

    fn search() -> StepRequest {
        StepRequest::ToolCalled(ToolCall {
            id: "call_1".into(),
            name: "search".into(),
            arguments: json!({"query": "x", "api_key": "k"}),
        })
    }

    fn echo() -> StepRequest {
        StepRequest::Delegated(SentHandoff {
            handoff: Handoff {
                agent: "Echo".into(),
                capability: "echo".into(),
                text: "hi".into(),
                tool: "agent_echo".into(),
                ..Handoff::default()
            },
            task_id: "t1".into(),
            message_id: "m1".into(),
            deadline_ms: 9,
            budget: Budget::default(),
        })
    }

    fn after(begin: StepRequest, result: StepResult) -> Line {
        let mut calls = Calls::new();
        of(&begun(begin), &mut calls).expect("it is shown");
        of(&ended(result), &mut calls).expect("it is shown")
    }

    /// spec: AGT-3.5, AGT-4.2, AGT-7.1
    #[test]
    fn a_call_is_shown_by_its_name_without_secrets() {
        let mut calls = Calls::new();
        let line = of(&begun(search()), &mut calls).expect("it is shown");
        assert_eq!(line.text, "Invoking tool: search");
        let arguments = json!({"query": "x", "api_key": "[redacted]"});
        assert_eq!(
            line.tool,
            json!({"name": "search", "callId": "call_1", "arguments": arguments})
        );
        let line = of(&begun(echo()), &mut calls).expect("it is shown");
        assert_eq!(line.text, "Invoking tool: agent_echo");
        let arguments = json!({"request": "hi", "skill": "echo"});
        assert_eq!(
            line.tool,
            json!({"name": "agent_echo", "agent": "Echo", "taskId": "t1", "arguments": arguments})
        );
    }

    #[test]
    fn a_partial_answer_names_what_it_is_without() {
        let answer = |data: Value| {
            let result = DelegationResult {
                state: "completed".into(),
                text: "hi".into(),
                data: vec![data],
                ..DelegationResult::default()
            };
            after(echo(), StepResult::DelegationEnded(result)).tool
        };
        let partial = answer(json!({"partial": true, "results": [
            {"tool": "table", "state": "failed", "error": "it is locked"},
            {"agent": "critic", "state": "away"},
            {"agent": "writer", "state": "completed", "text": "x"},
        ]}));
        let without = json!([{"name": "table", "error": "it is locked"}, {"name": "critic", "error": "away"}]);
        assert_eq!(partial["partial"], without);
        assert_eq!(answer(json!({"partial": false}))["partial"], Value::Null);
        let nothing = answer(json!({"partial": true, "undone": "all", "results": []}));
        assert_eq!(
            (&nothing["partial"], &nothing["undone"]),
            (&json!([]), &json!("all"))
        );
    }

    /// spec: AGT-3.5, AGT-4.4, AGT-4.5, AGT-7.2, AGT-7.3
    #[test]
    fn what_came_of_it_is_shown_in_the_agreed_words() {
        let output =
            |value: Value, is_error| StepResult::ToolReturned(ToolOutput { value, is_error });
        let delegated = |state: &str, error: &str| {
            StepResult::DelegationEnded(DelegationResult {
                state: state.into(),
                text: "hi".into(),
                error: error.into(),
                ..DelegationResult::default()
            })
        };
        for (begin, result, text) in [
            (
                search(),
                output(json!(1), false),
                "Tool search completed successfully",
            ),
            (
                search(),
                output(json!("no key sk-abcdefghijklmnopqrst"), true),
                "Tool search failed: no key [redacted]",
            ),
            (
                search(),
                StepResult::Failed(EffectFailure::passing("no answer within 3 s")),
                "Tool search failed: no answer within 3 s",
            ),
            (
                echo(),
                delegated("completed", ""),
                "Tool agent_echo completed successfully",
            ),
            (
                echo(),
                delegated("failed", "disk full"),
                "Tool agent_echo failed: disk full",
            ),
            (
                echo(),
                delegated("away", ""),
                "Tool agent_echo failed: away",
            ),
            (
                echo(),
                StepResult::Cancelled,
                "Tool agent_echo failed: it was called back",
            ),
        ] {
            assert_eq!(after(begin, result).text, text);
        }
        let long = after(search(), output(json!("x".repeat(2_000)), true)).text;
        assert_eq!(long.chars().count(), "Tool search failed: ".len() + 500);
    }

    #[test]
    fn what_is_no_tool_is_not_shown() {
        let mut calls = Calls::new();
        let said = StepRequest::Said { text: "hm".into() };
        assert_eq!(of(&begun(said), &mut calls), None);
        let answered = StepResult::ModelAnswered(Completion::default());
        assert_eq!(of(&ended(answered), &mut calls), None);
    }
}
