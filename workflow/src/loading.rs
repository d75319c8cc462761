//! Loads a workflow that can be carried out, or says all that is wrong with it.

use std::path::Path;

use agenthub_documents::Fault;
use serde_json::Value;

use crate::{
    connecting::{Offers, misfits, unknown_agents},
    finding::{Finding, placed},
    model::Workflow,
    reading,
};

/// The most faults of a document that are told.
const MAX_FAULTS: usize = 16;

/// Loads a workflow of a file. With offers, its agents and skills must be among them, and values must fit what they take and give.
///
/// # Errors
///
/// All that is wrong with the file, in its order, each with its place.
pub fn load(path: &Path, offers: Option<&Offers>) -> Result<Workflow, Vec<Fault>> {
    load_with_document(path, offers).map(|(workflow, _)| workflow)
}

/// Loads a workflow of a file, as [`load`] does, and its document.
pub(crate) fn load_with_document(
    path: &Path,
    offers: Option<&Offers>,
) -> Result<(Workflow, Value), Vec<Fault>> {
    let source = reading::source(path)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    match checked(&source.document, &stem.unwrap_or_default(), offers) {
        Ok(workflow) => Ok((workflow, source.document)),
        Err(findings) => Err(placed(findings, path, &source.text, &source.tree)),
    }
}

/// Reads a workflow of a document, as [`load`] does.
///
/// # Errors
///
/// All that is wrong with it, one line each, at most 16.
pub fn read(document: &Value, offers: Option<&Offers>) -> Result<Workflow, Vec<String>> {
    let told = |findings: Vec<Finding>| {
        let lines = findings.iter().take(MAX_FAULTS).map(Finding::line);
        lines.collect::<Vec<_>>()
    };
    checked(document, "workflow", offers).map_err(told)
}

fn checked(
    document: &Value,
    name: &str,
    offers: Option<&Offers>,
) -> Result<Workflow, Vec<Finding>> {
    let (workflow, mut findings) = reading::read(document, name);
    let Some(workflow) = workflow else {
        return Err(findings);
    };
    let nobody = Offers::default();
    let unknown = offers.map_or_else(Vec::new, |offers| unknown_agents(&workflow, offers));
    let misfits = misfits(&workflow, offers.unwrap_or(&nobody));
    for finding in unknown.into_iter().chain(misfits) {
        // What is wrong in itself is not to be told of again as something that does not fit.
        if !findings.iter().any(|other| {
            other.at.starts_with(&finding.at)
                || finding.at.starts_with(&other.at) && !other.at.is_empty()
        }) {
            findings.push(finding);
        }
    }
    match findings.is_empty() {
        true => Ok(workflow),
        false => Err(findings),
    }
}

#[cfg(test)]
mod tests;
