//! Loads a workflow that can be carried out, or says all that is wrong with it.

mod size;

use std::path::Path;

use agenthub_documents::{Fault, Severity};
use serde_json::Value;

use crate::{
    building::is_unread,
    connecting::{Offers, doubtful_inputs, misfits, unknown_agents},
    finding::{Finding, placed},
    mending::Mended,
    model::{Work, Workflow},
    nested_files::{self, Chain},
    reading::{self, Source},
};
use size::too_many_steps;

/// The most faults of a document that are told.
const MAX_FAULTS: usize = 16;

/// Loads a workflow of a file. With offers, its agents and skills must be among them, and values must fit what they take and give.
///
/// # Errors
///
/// All that is wrong with the file, in its order, each with its place.
pub(crate) fn load(path: &Path, offers: Option<&Offers>) -> Result<Workflow, Vec<Fault>> {
    load_with_document(path, offers).map(|(workflow, _)| workflow)
}

/// Warnings on a workflow of this file, which has no faults.
pub(crate) fn warnings(path: &Path, workflow: &Workflow) -> Vec<Fault> {
    let doubts = doubtful_inputs(workflow);
    let Ok(source) = reading::source(path) else {
        return Vec::new();
    };
    let doubts = placed(doubts, path, &source.text, &source.tree).into_iter();
    let warning = |fault: Fault| Fault {
        severity: Severity::Warning,
        ..fault
    };
    doubts.map(warning).collect()
}

/// Loads a workflow of a file, as [`load`] does, and its document.
pub(crate) fn load_with_document(
    path: &Path,
    offers: Option<&Offers>,
) -> Result<(Workflow, Value), Vec<Fault>> {
    load_within(path, offers, &Chain::begin(path))
}

/// The same of a file that others may have named.
pub(crate) fn load_within(
    path: &Path,
    offers: Option<&Offers>,
    chain: &Chain,
) -> Result<(Workflow, Value), Vec<Fault>> {
    let mut source = reading::source(path)?;
    let (mut first, hidden) = source.with_first(path);
    let mut faults = std::mem::take(&mut source.repeated);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    let check = |source: &mut Source| {
        let own = (&source.text, &source.tree);
        let faults = nested_files::put_in(&mut source.document, path, own, offers, chain);
        let checked = checked(
            &source.document,
            stem.as_deref().unwrap_or_default(),
            offers,
        );
        let (workflow, mut findings) = match checked {
            Ok(workflow) => (Some(workflow), Vec::new()),
            Err(findings) => (None, findings),
        };
        // What is wrong with a file that a step names was told; under a misspelt field it is not read.
        findings.retain(|finding| !is_unread(finding));
        (workflow, findings, faults)
    };
    let (workflow, findings, of_files) = check(&mut source);
    faults.extend(of_files);
    if !hidden.is_empty() {
        // Of the first of two steps, what is wrong in it alone.
        let (_, mut more, _) = check(&mut first);
        more.retain(|finding| {
            let is_hidden = hidden.iter().any(|at| finding.at.starts_with(at));
            let is_told =
                |other: &Finding| (&other.at, &other.message) == (&finding.at, &finding.message);
            is_hidden && !findings.iter().any(is_told)
        });
        faults.extend(placed(more, path, &first.text, &first.tree));
    }
    faults.extend(placed(findings, path, &source.text, &source.tree));
    match workflow {
        Some(workflow) if faults.is_empty() => Ok((workflow, source.document)),
        _ => {
            faults.sort_by_key(|fault| fault.place.map_or((1, None), |place| (0, Some(place))));
            Err(faults)
        }
    }
}

/// Reads a workflow of a document, as [`load`] does.
///
/// # Errors
///
/// All that is wrong with it, one line each, at most 16.
pub(crate) fn read(document: &Value, offers: Option<&Offers>) -> Result<Workflow, Vec<String>> {
    let told = |findings: Vec<Finding>| {
        let lines = findings.iter().take(MAX_FAULTS).map(Finding::line);
        lines.collect::<Vec<_>>()
    };
    checked(document, "workflow", offers).map_err(told)
}

/// A workflow of a document, or all that is wrong with it.
pub(crate) fn checked(
    document: &Value,
    name: &str,
    offers: Option<&Offers>,
) -> Result<Workflow, Vec<Finding>> {
    if let Some(finding) = too_many_steps(document) {
        return Err(vec![finding]);
    }
    let mended = Mended::of(document);
    let (workflow, mut findings) = match &mended.document {
        Some(document) => reading::made(document, name),
        None => (None, Vec::new()),
    };
    if let Some(workflow) = &workflow {
        let nobody = Offers::default();
        let unknown = offers.map_or_else(Vec::new, |offers| unknown_agents(workflow, offers));
        let inner = offers.map_or_else(Vec::new, |offers| misfits_within(workflow, offers));
        let misfits = misfits(workflow, offers.unwrap_or(&nobody));
        for finding in unknown.into_iter().chain(inner).chain(misfits) {
            if !findings.iter().any(|other| explains(other, &finding)) {
                findings.push(finding);
            }
        }
    }
    let findings = mended.with(findings);
    match workflow {
        Some(workflow) if findings.is_empty() => Ok(workflow),
        _ => Err(findings),
    }
}

/// Misfits of the workflows in steps, by the agents that are known.
fn misfits_within(workflow: &Workflow, offers: &Offers) -> Vec<Finding> {
    let mut findings = Vec::new();
    for step in workflow.graph.all() {
        let Work::Call(call) = &step.work else {
            continue;
        };
        // One that cannot be read has its faults already.
        let Some(plan) = call.plan.as_ref().filter(|plan| !plan.document.is_null()) else {
            continue;
        };
        let inner = checked(&plan.document, &plan.name, Some(offers)).err();
        findings.extend(inner.into_iter().flatten().map(|finding| Finding {
            at: call.agent_at.iter().chain(&finding.at).cloned().collect(),
            ..finding
        }));
    }
    findings
}

/// True if a value does not fit because of another fault: one of the same value, of a part of it, or of the field that it is in. A fault
/// of a step as a whole explains nothing in it.
fn explains(fault: &Finding, misfit: &Finding) -> bool {
    // Two parts of one text have nothing to do with each other.
    if let (Some(one), Some(other)) = (&fault.snippet, &misfit.snippet)
        && one != other
    {
        return false;
    }
    let is_in_misfit = fault.at.starts_with(&misfit.at) && fault.at != misfit.at;
    is_in_misfit || (misfit.at.starts_with(&fault.at) && !is_step(&fault.at))
}

/// True for the path of a step, of all steps, or of the document.
fn is_step(at: &[String]) -> bool {
    match at {
        [] => true,
        [.., list, _] if list == "steps" => true,
        [.., last] => last == "steps",
    }
}

#[cfg(test)]
mod all_at_once_tests;
#[cfg(test)]
mod newcomer_tests;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod types_tests;
