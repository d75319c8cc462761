//! Agents offered as tools, and the handoffs of their calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments;
use crate::{effect::Handoff, model::ToolCall, plan::violations};

/// An agent offered as a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Agent id.
    pub id: String,
    /// Its skills; the first is the default of a call.
    pub skills: Vec<String>,
    /// Form of the call's arguments.
    #[serde(default, skip_serializing_if = "CallForm::is_request")]
    pub calling: CallForm,
}

/// Form of the arguments of a call of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallForm {
    /// `{ request, skill?, input? }`.
    #[default]
    Request,
    /// `{ task, ... }`: the task as text, and the input fields of the agent's only skill.
    Task,
}

impl CallForm {
    fn is_request(&self) -> bool {
        *self == Self::Request
    }
}

impl Peer {
    /// The handoff of a call. `schema` is the schema that the model was shown; with `is_known`, the handoff was
    /// dispatched already and its arguments are not validated again.
    pub(super) fn handoff(
        &self,
        call: &ToolCall,
        schema: &Value,
        is_known: bool,
    ) -> Result<Handoff, String> {
        let (capability, text, payload) = match self.calling {
            CallForm::Request => self.request(&call.arguments)?,
            CallForm::Task => self.task(call, schema, is_known)?,
        };
        Ok(Handoff {
            agent: self.id.clone(),
            capability,
            text,
            payload,
            tool: call.name.clone(),
            ..Handoff::default()
        })
    }

    /// Capability, text and data of the request.
    fn request(&self, arguments: &Value) -> Result<(String, String, Option<Value>), String> {
        let text = arguments["request"].as_str().unwrap_or_default().to_owned();
        let payload = Some(&arguments["input"]).filter(|v| !v.is_null()).cloned();
        if text.trim().is_empty() && payload.is_none() {
            return Err("`request` is missing: say in words what the agent shall do".to_owned());
        }
        let capability = match arguments["skill"].as_str().filter(|s| !s.is_empty()) {
            None => self.skill(),
            Some(skill) if self.skills.iter().any(|s| s == skill) => skill.to_owned(),
            Some(skill) => {
                let skills = self.skills.join(", ");
                return Err(format!(
                    "{} has no skill {skill}; it has: {skills}",
                    self.id
                ));
            }
        };
        Ok((capability, text, payload))
    }

    /// Like `request`: the task is the text, all other fields are the data.
    fn task(
        &self,
        call: &ToolCall,
        schema: &Value,
        is_known: bool,
    ) -> Result<(String, String, Option<Value>), String> {
        let mut arguments = Value::Object(arguments::given(schema, &call.arguments));
        let faults = match is_known {
            true => Vec::new(),
            false => violations(schema, &arguments),
        };
        if !faults.is_empty() {
            let (name, faults) = (&call.name, faults.join("; "));
            return Err(format!(
                "{name} was not asked, since the arguments do not fit: {faults}"
            ));
        }
        let fields = arguments.as_object_mut();
        let task = fields.and_then(|fields| fields.shift_remove("task"));
        let text = task.as_ref().and_then(Value::as_str).unwrap_or_default();
        if text.trim().is_empty() {
            return Err("`task` is missing: say in words what the agent shall do".to_owned());
        }
        let payload =
            Some(arguments).filter(|inputs| inputs.as_object().is_some_and(|i| !i.is_empty()));
        Ok((self.skill(), text.to_owned(), payload))
    }

    /// The default skill.
    fn skill(&self) -> String {
        self.skills.first().cloned().unwrap_or_default()
    }
}
