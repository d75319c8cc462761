//! The input of a run, as it is given on the command line: checked with the place of what is wrong.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use agenthub_documents::Fault;
use serde_json::{Map, Value};

use crate::{
    finding::{Finding, placed},
    input::{InputFault, filled},
    model::Workflow,
    reading::{self, Source},
};

/// The largest input that is not in a file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Name of the source of an input that stands on the command line.
const FLAG: &str = "--input";

/// Name of standard input as a source.
const STDIN: &str = "standard input";

/// An input, and its text.
pub(super) struct GivenInput {
    path: PathBuf,
    /// None if nothing was given.
    source: Option<Source>,
}

impl GivenInput {
    /// Reads what was given: JSON or YAML that begins with `{`, a file, or `-` for standard input.
    ///
    /// # Errors
    ///
    /// It cannot be read, each fault with its place.
    pub(super) fn read(given: Option<&str>) -> Result<Self, Vec<Fault>> {
        let Some(given) = given else {
            return Ok(Self {
                path: FLAG.into(),
                source: None,
            });
        };
        let (path, source) = match given {
            "-" => (PathBuf::from(STDIN), read_stdin()?),
            text if text.trim_start().starts_with(['{', '[']) => {
                let path = PathBuf::from(FLAG);
                let source = reading::parsed(&path, text.into(), "input")?;
                (path, source)
            }
            file => {
                let path = PathBuf::from(file);
                let source = reading::source(&path)?;
                (path, source)
            }
        };
        if !source.repeated.is_empty() {
            return Err(source.repeated);
        }
        if !source.document.is_object() {
            let fault = Fault::error(&path, "the input is no mapping");
            let fault = fault.placed(source.tree.place, &source.text);
            return Err(vec![
                fault.helped("write `field: value`, one for each field"),
            ]);
        }
        Ok(Self {
            path,
            source: Some(source),
        })
    }

    /// The input as it was given, if it fits the workflow.
    ///
    /// # Errors
    ///
    /// Faults of the input, each with its place.
    pub(super) fn fitting(&self, workflow: &Workflow) -> Result<Map<String, Value>, Vec<Fault>> {
        let document = self.source.as_ref().map(|source| &source.document);
        let input = match document {
            Some(Value::Object(fields)) => fields.clone(),
            _ => Map::new(),
        };
        let faults = match filled(workflow, input.clone()) {
            Ok(_) => return Ok(input),
            Err(faults) => faults,
        };
        let help = help(workflow);
        let Some(source) = &self.source else {
            let fault = |fault: &InputFault| {
                let message = format!("the input does not fit the workflow: {fault}");
                Fault::error(&self.path, message).helped(&*help)
            };
            return Err(faults.iter().map(fault).collect());
        };
        let findings = faults.into_iter().map(|fault| {
            let message = format!("the input does not fit the workflow: {}", fault.why);
            Finding::at(fault.at, message, &*help)
        });
        Err(placed(
            findings.collect(),
            &self.path,
            &source.text,
            &source.tree,
        ))
    }
}

/// An input that is not held against a workflow here: JSON or YAML that begins with `{`, a file, or `-` for standard input.
///
/// # Errors
///
/// It cannot be read, each fault with its place.
pub fn input(given: &str) -> Result<Map<String, Value>, Vec<Fault>> {
    let given = GivenInput::read(Some(given))?;
    match given.source.map(|source| source.document) {
        Some(Value::Object(fields)) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

/// The fields that the input may have.
fn help(workflow: &Workflow) -> String {
    let fields = workflow.input["properties"].as_object();
    let fields: Vec<String> = fields
        .into_iter()
        .flatten()
        .map(|(name, schema)| match schema["type"].as_str() {
            Some(kind) => format!("`{name}` ({kind})"),
            None => format!("`{name}`"),
        })
        .collect();
    match fields.is_empty() {
        true => "see the workflow's `input`".to_owned(),
        false => format!("the workflow takes {}", fields.join(", ")),
    }
}

fn read_stdin() -> Result<Source, Vec<Fault>> {
    let path = Path::new(STDIN);
    let mut text = String::new();
    let read = io::stdin()
        .lock()
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text);
    if let Err(error) = read {
        return Err(vec![Fault::error(
            path,
            format!("the input cannot be read: {error}"),
        )]);
    }
    if text.len() as u64 > MAX_BYTES {
        let message = format!("the input is larger than {MAX_BYTES} bytes");
        return Err(vec![Fault::error(path, message)]);
    }
    reading::parsed(path, text.into(), "input")
}
