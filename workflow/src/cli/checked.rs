//! Checks of `agenthub workflow run`, before anything starts.

use std::path::Path;

use agenthub_documents::Fault;
use agenthub_terminal::output;
use serde_json::{Map, Value};

use super::{input::GivenInput, offers::Known};
use crate::loading::load_with_document;

/// A workflow and its input, which fit each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The workflow, as its file has it, with a name.
    pub workflow: Map<String, Value>,
    /// The input, as it was given.
    pub input: Map<String, Value>,
}

/// Checks a workflow's file against the agents of a hub, and an input against the workflow. The input is JSON or YAML that begins with `{`, a
/// file, `-` for standard input, or nothing.
///
/// # Errors
///
/// The hub does not answer. The inner error is all that is wrong, each fault with its place.
pub async fn checked(
    hub: &str,
    file: &Path,
    input: Option<&str>,
) -> anyhow::Result<Result<Checked, Vec<Fault>>> {
    let known = Known::on(hub).await?;
    let (workflow, document) = match load_with_document(file, Some(&known.offers)) {
        Ok(loaded) => loaded,
        Err(faults) => return Ok(Err(faults)),
    };
    let input = GivenInput::read(input).and_then(|given| given.fitting(&workflow));
    let input = match input {
        Ok(input) => input,
        Err(faults) => return Ok(Err(faults)),
    };
    for agent in known.away(&workflow) {
        output::aside(output::plain(&format!(
            "{agent} is offline: a step for it waits for a moment, and fails if it does not come"
        )));
    }
    let mut fields = match document {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.entry("name").or_insert_with(|| workflow.name.into());
    Ok(Ok(Checked {
        workflow: fields,
        input,
    }))
}
