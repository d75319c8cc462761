//! Request for a run: a workflow and its input, checked before anything starts.

use std::fmt;

use agenthub_sdk::runs::tool_loop::with_defaults;
use jsonschema::{ValidationError, error::ValidationErrorKind as Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::Workflow;

/// The most faults of an input that are told.
const MAX_FAULTS: usize = 16;

/// A request for a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The workflow, as a file has it.
    pub workflow: Map<String, Value>,
    /// Its input.
    #[serde(default)]
    pub input: Map<String, Value>,
}

/// A part of an input that does not fit the workflow's schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFault {
    /// Keys and indexes that lead to it; none for the input as a whole.
    pub at: Vec<String>,
    /// The fault, in one line.
    pub why: String,
}

impl fmt::Display for InputFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.is_empty() {
            true => f.write_str(&self.why),
            false => write!(f, "`{}`: {}", self.at.join("."), self.why),
        }
    }
}

/// The input of a workflow, with its defaults.
///
/// # Errors
///
/// The parts that do not fit the workflow's schema, at most 16.
pub fn filled(workflow: &Workflow, input: Map<String, Value>) -> Result<Value, Vec<InputFault>> {
    let input = with_defaults(&workflow.input, Value::Object(input));
    let options = jsonschema::options().offline();
    let Ok(validator) = options.build(&workflow.input) else {
        let why = "the workflow's `input` is no JSON Schema".to_owned();
        return Err(vec![InputFault {
            at: Vec::new(),
            why,
        }]);
    };
    let errors = validator.iter_errors(&input).take(MAX_FAULTS);
    let faults: Vec<InputFault> = errors.map(|error| fault(&error)).collect();
    match faults.is_empty() {
        true => Ok(input),
        false => Err(faults),
    }
}

fn fault(error: &ValidationError<'_>) -> InputFault {
    let pointer = error.instance_path().to_string();
    let parts = pointer.split('/').skip(1);
    let at = parts.map(|part| part.replace("~1", "/").replace("~0", "~"));
    let why = match error.kind() {
        Kind::Required { property } => {
            let field = property.as_str().unwrap_or_default();
            format!("the field `{field}` is missing")
        }
        // Masked: the value may be long, and whoever reads this has it.
        _ => error.masked_with("the value").to_string(),
    };
    InputFault {
        at: at.collect(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::read;

    #[test]
    fn an_input_gets_its_defaults_and_what_does_not_fit_is_told() {
        let document = json!({
            "input": {
                "type": "object",
                "required": ["topic"],
                "properties": { "topic": { "type": "string" }, "words": { "type": "integer", "default": 300 } },
            },
            "steps": { "a": { "agent": "x", "text": "${workflow.input.topic}" } },
        });
        let workflow = read(&document, None).expect("it is right");
        let given = |input: Value| {
            let input = input.as_object().cloned().unwrap_or_default();
            filled(&workflow, input)
        };
        assert_eq!(
            given(json!({"topic": "x"})),
            Ok(json!({"topic": "x", "words": 300}))
        );
        let missing = given(json!({"words": 1})).expect_err("the topic is missing");
        assert!(missing[0].to_string().contains("topic"), "{missing:?}");
        let wrong = given(json!({"topic": 5})).expect_err("it is no text");
        assert_eq!(wrong[0].at, ["topic"]);
    }
}
