//! Proposals of the orchestrator's model, read from its answers.
//!
//! The union of ORC-5.1: a change of the plan, a handoff, or the end. What is read here is one of the three in form; whether the run's rules
//! allow it is asked in `rules.rs` and, of plans, in `agenthub_runs::plan`.

use std::{fmt, sync::LazyLock};

use jsonschema::Validator;
use serde_json::{Map, Value};

/// The name of the form in requests.
pub(super) const NAME: &str = "orchestration";

/// The places of an answer that are tried before it counts as one without a proposal.
const MAX_STARTS: usize = 64;

/// The longest reason that a model is told, in characters.
const MAX_REASON: usize = 1_500;

/// The JSON Schema of a proposal, which is also what the model gets.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../prompts/orchestration.schema.json"))
        .expect("the schema in the source tree is JSON")
});

static FORM: LazyLock<Validator> = LazyLock::new(|| {
    jsonschema::validator_for(&SCHEMA).expect("the schema in the source tree is valid")
});

/// A proposal of the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Proposal {
    pub(super) action: Action,
    /// The reason, in the model's words; empty if it gives none.
    pub(super) note: String,
}

/// One of three.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// Operations on the plan, RFC 6902.
    PlanUpdate(Value),
    /// A step of the plan is done by an agent.
    Handoff(Transfer),
    /// The run ends.
    Final(Ending),
}

/// A handoff as it is proposed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Transfer {
    /// The agent; empty lets the best one have it.
    pub(super) to: String,
    /// The capability that is asked for.
    pub(super) capability: String,
    /// The step of the plan; empty where the capability tells.
    pub(super) step: String,
    /// In place of the step's payload; empty for that.
    pub(super) payload: Map<String, Value>,
}

/// The end as it is proposed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ending {
    /// Names and references.
    pub(super) artifacts: Map<String, Value>,
    /// The work done, in words.
    pub(super) summary: String,
}

/// The fault that makes an answer unusable, and what the model can do about it. People are told the fault alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    reason: String,
    advice: String,
}

impl Refusal {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        let reason = match reason.char_indices().nth(MAX_REASON) {
            Some((end, _)) => format!("{}…", &reason[..end]),
            None => reason,
        };
        Self {
            reason,
            advice: String::new(),
        }
    }

    /// The same fault, with what the model can do about it.
    pub(super) fn advising(self, advice: impl Into<String>) -> Self {
        let advice = advice.into();
        Self { advice, ..self }
    }

    /// The fault.
    pub(super) fn reason(&self) -> &str {
        &self.reason
    }

    /// The advice to the model; empty if there is none.
    pub(super) fn advice(&self) -> &str {
        &self.advice
    }
}

/// In words for the model.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match self.advice.is_empty() {
            true => Ok(()),
            false => write!(f, ": {}", self.advice),
        }
    }
}

/// Reads a model's answer. Prose and code fences around the JSON are tolerated.
///
/// # Errors
///
/// The reason, for the model.
pub(super) fn parse(answer: &str) -> Result<Proposal, Refusal> {
    let value = find(answer).ok_or_else(|| {
        Refusal::new(
            "the answer holds no JSON object with an \"action\": plan_update, handoff or final",
        )
    })?;
    if let Some(error) = FORM.iter_errors(&value).next() {
        let path = error.instance_path().to_string();
        let place = match path.is_empty() {
            true => "the answer".to_owned(),
            false => path,
        };
        return Err(Refusal::new(format!("{place}: {error}")));
    }
    let text = |field: &str| value[field].as_str().unwrap_or_default().trim().to_owned();
    let object = |field: &Value| field.as_object().cloned().unwrap_or_default();
    let action = match value["action"].as_str() {
        Some("plan_update") => match value["planPatch"].as_array() {
            Some(patch) if !patch.is_empty() => Action::PlanUpdate(value["planPatch"].clone()),
            _ => {
                return Err(Refusal::new(
                    "a plan_update needs a \"planPatch\" with at least one operation",
                ));
            }
        },
        Some("handoff") => {
            let transfer = Transfer {
                to: text("to"),
                capability: text("capabilityId"),
                step: text("stepId"),
                payload: object(&value["payload"]),
            };
            if transfer.capability.is_empty() {
                return Err(Refusal::new("a handoff needs a \"capabilityId\""));
            }
            Action::Handoff(transfer)
        }
        _ => match value.get("bundle") {
            Some(bundle) => Action::Final(Ending {
                artifacts: object(&bundle["artifacts"]),
                summary: bundle["summary"].as_str().unwrap_or_default().to_owned(),
            }),
            None => {
                let why = "a final needs a \"bundle\" with \"artifacts\" and \"summary\"";
                return Err(Refusal::new(why));
            }
        },
    };
    Ok(Proposal {
        action,
        note: text("note"),
    })
}

/// The first object with an action.
fn find(answer: &str) -> Option<Value> {
    let starts = answer.match_indices('{').take(MAX_STARTS);
    starts
        .filter_map(|(start, _)| {
            let values = serde_json::Deserializer::from_str(&answer[start..]);
            values.into_iter::<Value>().next()?.ok()
        })
        .find(|value| value.get("action").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// spec: ORC-5.1
    #[test]
    fn each_of_the_three_forms_is_read() {
        let update = parse(r#"{"action":"plan_update","planPatch":[{"op":"remove","path":"/steps/a"}],"note":"not needed"}"#)
            .expect("a change of the plan");
        assert_eq!(
            update.action,
            Action::PlanUpdate(json!([{"op": "remove", "path": "/steps/a"}]))
        );
        assert_eq!(update.note, "not needed");

        let handoff = parse("Sure:\n```json\n{\"action\":\"handoff\",\"to\":\"w\",\"capabilityId\":\"c\",\"payload\":{\"a\":1}}\n```")
            .expect("a handoff");
        let Action::Handoff(transfer) = handoff.action else {
            panic!("{handoff:?}")
        };
        assert_eq!(
            (&*transfer.to, &*transfer.capability, &*transfer.step),
            ("w", "c", "")
        );
        assert_eq!(Value::from(transfer.payload), json!({"a": 1}));

        let end = parse(
            r#"{"action":"final","bundle":{"artifacts":{"x":"${a.output}"},"summary":"done"}}"#,
        )
        .expect("the end");
        let Action::Final(ending) = end.action else {
            panic!("{end:?}")
        };
        assert_eq!(ending.summary, "done");
    }

    /// spec: ORC-9
    #[test]
    fn what_is_not_of_the_form_is_refused_with_the_reason() {
        for (answer, reason) in [
            ("I would write a draft first.", "no JSON object"),
            (r#"{"action":"tool_call"}"#, "/action"),
            (r#"{"action":"plan_update"}"#, "at least one operation"),
            (
                r#"{"action":"plan_update","planPatch":[{"op":"write","path":"/a"}]}"#,
                "/planPatch/0/op",
            ),
            (r#"{"action":"handoff","to":"w"}"#, "capabilityId"),
            (
                r#"{"action":"handoff","to":"w","capabilityId":"c","payload":"text"}"#,
                "/payload",
            ),
            (r#"{"action":"final"}"#, "bundle"),
            (
                r#"{"action":"final","bundle":{"summary":"done"}}"#,
                "artifacts",
            ),
        ] {
            let refusal = parse(answer).expect_err(answer).to_string();
            assert!(refusal.contains(reason), "{answer}: {refusal}");
            assert!(refusal.chars().count() <= MAX_REASON + 1);
        }
    }
}
