//! Checks of rules by code. Whatever is not exactly of one of these forms is left to a model.
//!
//! A rule is read where its sentence is `SUBJECT MUST [NOT] WHAT.`; SHALL and SHOULD are read the same. The subject is the agent (`You`,
//! `The agent`, its name, or nothing) or its answer (`The answer`, `Your report`, …). X and Y are agents and tools that were offered to the
//! run, by id or by name, with or without `the … agent` around them.
//!
//! ```text
//! about what was done (orders.rs)
//!   ask|call|consult|use|delegate to|… X [and Y | or Y]
//!   ask X first · ask X before Y · ask X after Y · ask X [exactly|at least|at most|more than] once|twice|3 times
//!   not ask X [or Y] · not ask X before Y · not ask X more than twice · not call any tools|agents
//!   ask X for|to|about …            only that X was never asked; for what, a model judges
//!   include "…" in the|every task [to X] · pass NAME to X
//! about the answer (answer.rs)
//!   contain|mention|… "…" · start|end with "…" · be at most 200 words · have no emoji · not exceed 3 links …
//!   keep the answer under 200 words · include "…" in the answer · end your answer with "…"
//! about its form (form.rs)
//!   be JSON|a JSON object|a numbered list|a bulleted list · have a heading|section "…" · end with a section "…"
//!   contain at least 2 links · include a table|a code block|a numbered list · not contain links
//! ```
//!
//! A number can be an input of the run, whose name has `_` or `-` in it: `be at most max_words words`. A sentence, or a heading above it, that makes a condition (`if`, `when`, `unless`) is left to a model.

mod answer;
mod calls;
mod copied;
mod duty;
mod form;
mod handing_on;
mod names;
mod order;
mod orders;
mod standing;

#[cfg(test)]
mod tests;

use agenthub_sdk::model::offline::without_notes;

use super::{Passage, PassageKind, Procedure, Transcript, Verdict, nothing_done};
use crate::Rule;
use duty::{Duty, Subject};

/// Finding on a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckResult {
    pub(super) verdict: Verdict,
    pub(super) evidence: String,
    pub(super) quotation: Option<String>,
    pub(super) source: Option<String>,
}

impl CheckResult {
    pub(super) fn new(verdict: Verdict, evidence: impl Into<String>) -> Self {
        Self {
            verdict,
            evidence: evidence.into(),
            quotation: None,
            source: None,
        }
    }

    pub(super) fn not_checked(evidence: impl Into<String>) -> Self {
        Self::new(Verdict::NotChecked, evidence)
    }
}

/// Result of checking a rule by code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// Decided by code.
    Decided(CheckResult),
    /// Left to a model, with what code knows of it.
    Left(Option<String>),
}

/// Checks a rule by code.
pub(super) fn check(rule: &Rule, procedure: &Procedure, transcript: &Transcript) -> Checked {
    let Some(duty) = Duty::read(rule, &procedure.name) else {
        return Checked::Left(None);
    };
    let duty = duty.with_numbers(&transcript.inputs);
    if duty.subject == Subject::Agent
        && let Some(order) = orders::read(&duty, transcript)
    {
        return order.check(transcript);
    }
    let Some(test) = Test::read(&duty) else {
        return Checked::Left(None);
    };
    if !transcript.is_over() {
        let evidence = "the run is not over, so there is no answer yet";
        return Checked::Decided(CheckResult::not_checked(evidence));
    }
    if let Some(why) = nothing_done::why(transcript) {
        let evidence = format!("{why}, so there is no answer that shows it");
        return Checked::Decided(CheckResult::not_checked(evidence));
    }
    let answer = transcript.answer();
    let answer = answer.map_or("", |answer| answer.text.as_str());
    // Lines by which a stand-in tells what it is are no words of the answer.
    let answer = match transcript.undone {
        Some(_) => without_notes(answer),
        None => answer.to_owned(),
    };
    let (holds, evidence) = test.decide(&answer);
    let verdict = match holds {
        None => return Checked::Left(Some(evidence)),
        Some(true) if test.is_quoted(transcript) || test.is_copied(&answer, transcript) => {
            return Checked::Decided(CheckResult::not_checked(format!(
                "the answer: {evidence}; the request has it as well, and the answer is a part that may only quote it"
            )));
        }
        Some(true) => Verdict::Kept,
        Some(false) => Verdict::Broken,
    };
    Checked::Decided(CheckResult::new(verdict, format!("the answer: {evidence}")))
}

/// The end of a run that did not complete.
fn ended(transcript: &Transcript) -> &str {
    match transcript.state.as_str() {
        "cancelled" => "was cancelled",
        _ => "failed",
    }
}

/// A test of an answer.
enum Test {
    Criterion(answer::Criterion),
    Form(form::RequiredForm),
}

impl Test {
    fn read(duty: &Duty) -> Option<Self> {
        let criterion = answer::read(duty).map(Self::Criterion);
        criterion.or_else(|| form::read(duty).map(Self::Form))
    }

    /// True if an answer that is a part may have the wanted text from the request alone.
    fn is_quoted(&self, transcript: &Transcript) -> bool {
        let Self::Criterion(criterion) = self else {
            return false;
        };
        let is_in = |passage: &Passage| {
            passage.what == PassageKind::Request && criterion.decide(&passage.text).0 == Some(true)
        };
        let is_part = transcript.undone.is_some();
        is_part && criterion.wants_a_text() && transcript.passages.iter().any(is_in)
    }

    /// True if it holds of an answer that is a part for what that repeats of the request alone.
    fn is_copied(&self, answer: &str, transcript: &Transcript) -> bool {
        let own = || copied::beyond_request(answer, transcript);
        transcript.undone.is_some() && self.decide(&own()).0 != Some(true)
    }

    /// Tells whether it holds, if that can be told, and what was found.
    fn decide(&self, answer: &str) -> (Option<bool>, String) {
        match self {
            Self::Criterion(criterion) => criterion.decide(answer),
            Self::Form(wanted) => wanted.decide(answer),
        }
    }
}
