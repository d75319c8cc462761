//! Workflows in files that steps of others name: each is read and put into the step, so that a document needs no file.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use agenthub_documents::{Fault, yaml::Node};
use agenthub_sdk::runs::pointer::escaped;
use serde_json::Value;

use crate::{
    connecting::Offers,
    finding::{At, Finding, placed, within},
    loading,
};

/// Files within one another, at most.
const MAX_DEPTH: usize = 8;

/// The files that are being read, each named by a step of the one before it.
#[derive(Clone, Debug)]
pub(crate) struct Chain(Vec<PathBuf>);

impl Chain {
    pub(crate) fn begin(path: &Path) -> Self {
        Self(vec![real(path)])
    }
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Puts the files that a document's steps name into the document. Returns all that is wrong with the files, and with those that they name in
/// turn; such a file stays named.
pub(crate) fn put_in(
    document: &mut Value,
    path: &Path,
    (text, tree): (&Arc<str>, &Node),
    offers: Option<&Offers>,
    chain: &Chain,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut named = Vec::new();
    gather(document, &At::new(), &mut named);
    for (at, file) in named {
        let wrong = |message: String, help: &str| {
            let finding = Finding::at(at.clone(), message, help);
            placed(vec![finding], path, text, tree)
        };
        let own = path.parent().unwrap_or(Path::new(".")).join(&file);
        if chain.0.contains(&real(&own)) {
            let message = format!("`{file}` is carried out within itself");
            faults.extend(wrong(message, "a workflow can't be a step of itself"));
            continue;
        }
        if chain.0.len() == MAX_DEPTH {
            let message = format!("there are more than {MAX_DEPTH} files within one another");
            faults.extend(wrong(message, "put some of them together"));
            continue;
        }
        if !own.is_file() {
            let message = format!("there is no file `{file}`");
            faults.extend(wrong(message, "a path goes from the folder of this file"));
            continue;
        }
        let mut inner = chain.clone();
        inner.0.push(real(&own));
        match loading::load_within(&own, offers, &inner) {
            Ok((workflow, mut inner)) => {
                if let Some(fields) = inner.as_object_mut() {
                    fields
                        .entry("name")
                        .or_insert_with(|| workflow.name.clone().into());
                }
                let pointer: String = at
                    .iter()
                    .map(|part| format!("/{}", escaped(part)))
                    .collect();
                if let Some(place) = document.pointer_mut(&pointer) {
                    *place = inner;
                }
            }
            Err(found) => faults.extend(
                found
                    .into_iter()
                    .filter(|fault| !faults.contains(fault))
                    .collect::<Vec<_>>(),
            ),
        }
    }
    faults
}

/// The files that steps name, with the paths of the values that do.
fn gather(document: &Value, at: &At, named: &mut Vec<(At, String)>) {
    let at = within(at, "steps");
    let steps: Vec<(String, &Value)> = match &document["steps"] {
        Value::Object(steps) => steps
            .iter()
            .map(|(name, step)| (name.clone(), step))
            .collect(),
        Value::Array(steps) => steps
            .iter()
            .enumerate()
            .map(|(index, step)| (index.to_string(), step))
            .collect(),
        _ => Vec::new(),
    };
    for (name, step) in steps {
        let at = within(&at, name);
        match &step["workflow"] {
            Value::String(file) => named.push((within(&at, "workflow"), file.clone())),
            inner @ Value::Object(_) => gather(inner, &within(&at, "workflow"), named),
            _ => {}
        }
        gather(step, &at, named);
    }
}
