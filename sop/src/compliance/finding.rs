//! Findings of a report.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_sdk::{
    model::LanguageModel,
    runs::{RunEvent, RunId, model::Undone},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Transcript, checks::CheckResult};
use crate::{Level, Rule};

/// Evidence for a rule for which there is no model.
pub(super) const NEEDS_A_MODEL: &str = "needs a model (--model PROVIDER/MODEL)";

/// The procedure of a run, as it was when the run began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Procedure {
    /// The SOP's name, which is its agent's id.
    pub name: String,
    /// Its version, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The file that it was read from.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal.
    pub digest: String,
    /// All its rules. A report shows them one by one, so they are not repeated there.
    #[serde(skip_serializing)]
    pub rules: Vec<Rule>,
    /// The agents that its agent could ask, by id, at work or not.
    #[serde(skip_serializing)]
    pub agents: BTreeSet<String>,
    /// Their ids by other names.
    #[serde(skip_serializing)]
    pub aliases: BTreeMap<String, String>,
}

/// The reason why there is nothing to report on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProcedure {
    /// The run is not that of an SOP.
    #[error("it was not led by an SOP, so it has no rules to be checked")]
    NoSop,
    /// The journal's rules are not understood.
    #[error("the rules in its journal cannot be read: {0}")]
    Unreadable(String),
}

impl Procedure {
    /// The procedure that a run began with.
    ///
    /// # Errors
    ///
    /// The journal has none.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a RunEvent>) -> Result<Self, NoProcedure> {
        let started = events.into_iter().find_map(|event| match event {
            RunEvent::Started(started) => Some(started),
            _ => None,
        });
        let sop = started.and_then(|started| started.input.pointer("/about/sop"));
        match sop.filter(|sop| !sop.is_null()) {
            Some(sop) => {
                Self::deserialize(sop).map_err(|error| NoProcedure::Unreadable(error.to_string()))
            }
            None => Err(NoProcedure::NoSop),
        }
    }
}

impl Rule {
    /// True if a report lists it: all but what may be done.
    pub(super) fn is_reported(&self) -> bool {
        self.level != Level::May
    }
}

/// Verdict on a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The rule was kept.
    Kept,
    /// The rule was broken.
    Broken,
    /// The rule did not concern what happened.
    NotApplicable,
    /// Not judged by anybody.
    NotChecked,
}

/// The judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Code, which counted or found it.
    Code,
    /// A model judged.
    Model,
    /// No judge.
    #[serde(rename = "")]
    Nobody,
}

/// Finding on one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id.
    pub id: String,
    /// Strength of the requirement.
    pub level: Level,
    /// The rule, word for word.
    pub text: String,
    /// The heading that it stands under; empty above the first.
    pub section: String,
    /// The line of the SOP's file, from 1.
    pub line: u32,
    /// The verdict.
    pub verdict: Verdict,
    /// The one who found that.
    pub by: By,
    /// Evidence in words: what was counted, or what the model says.
    pub evidence: String,
    /// Quotation that the verdict rests on, word for word from what happened; nothing where it is a count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotation: Option<String>,
    /// Place of the quotation, such as `the answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Finding {
    pub(super) fn of(rule: &Rule, by: By, found: CheckResult) -> Self {
        Self {
            id: rule.id.clone(),
            level: rule.level,
            text: rule.text.clone(),
            section: rule.section.clone(),
            line: rule.line,
            verdict: found.verdict,
            by,
            evidence: found.evidence,
            quotation: found.quotation,
            source: found.source,
        }
    }

    /// The finding without a model; `note` is what code knows besides.
    pub(super) fn unchecked(rule: &Rule, note: Option<String>) -> Self {
        let evidence = match note {
            Some(note) => format!("{note}; {NEEDS_A_MODEL}"),
            None => NEEDS_A_MODEL.to_owned(),
        };
        Self::of(rule, By::Nobody, CheckResult::not_checked(evidence))
    }

    /// A model's finding. A verdict that does not count is nobody's.
    pub(super) fn judged(rule: &Rule, note: Option<String>, mut found: CheckResult) -> Self {
        if let Some(note) = note {
            found.evidence = format!("{} ({note})", found.evidence);
        }
        let by = match found.verdict {
            Verdict::NotChecked => By::Nobody,
            _ => By::Model,
        };
        Self::of(rule, by, found)
    }
}

/// Numbers of rules by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Rules that were kept.
    pub kept: usize,
    /// Rules that were broken.
    pub broken: usize,
    /// Rules that did not concern what happened.
    pub not_applicable: usize,
    /// Rules that nobody could judge.
    pub not_checked: usize,
}

impl Counts {
    fn of(findings: &[Finding]) -> Self {
        let count = |verdict| findings.iter().filter(|f| f.verdict == verdict).count();
        Self {
            kept: count(Verdict::Kept),
            broken: count(Verdict::Broken),
            not_applicable: count(Verdict::NotApplicable),
            not_checked: count(Verdict::NotChecked),
        }
    }
}

/// Report on a run's compliance with its procedure. Its JSON form is stable: fields are added, never renamed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The run.
    pub run: String,
    /// The procedure, as it was then.
    pub procedure: Procedure,
    /// State of the run: `working`, `completed`, `failed` or `cancelled`.
    pub state: String,
    /// Extent of what the answer lacks; nothing if it is whole, and where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Undone>,
    /// Beginning, in milliseconds since 1970.
    pub started_ms: u64,
    /// End, in milliseconds since 1970; nothing while it goes on.
    pub ended_ms: Option<u64>,
    /// The model that judged; nothing where none judged any rule.
    pub model: Option<String>,
    /// Numbers of rules by verdict.
    pub counts: Counts,
    /// Each rule but those that allow something, in the order of the file.
    pub rules: Vec<Finding>,
}

impl Report {
    pub(super) fn new(
        run: &RunId,
        procedure: Procedure,
        transcript: &Transcript,
        model: Option<&dyn LanguageModel>,
        rules: Vec<Finding>,
    ) -> Self {
        Self {
            run: run.to_string(),
            procedure,
            state: transcript.state.clone(),
            undone: transcript.undone,
            started_ms: transcript.started_ms,
            ended_ms: transcript.ended_ms,
            model: model
                .filter(|_| rules.iter().any(|rule| rule.by == By::Model))
                .map(|model| model.name().to_owned()),
            counts: Counts::of(&rules),
            rules,
        }
    }

    /// True if the run is over, so that nothing of this will change.
    pub fn is_over(&self) -> bool {
        self.ended_ms.is_some()
    }

    /// True if a MUST or MUST NOT is broken.
    pub fn is_broken(&self) -> bool {
        self.has_strict(Verdict::Broken)
    }

    /// True if nobody could tell of a MUST or MUST NOT whether it was kept.
    pub fn is_open(&self) -> bool {
        self.has_strict(Verdict::NotChecked)
    }

    /// True if a MUST or MUST NOT has this verdict.
    fn has_strict(&self, verdict: Verdict) -> bool {
        let is_strict = |level| matches!(level, Level::Must | Level::MustNot);
        let mut such = self.rules.iter().filter(|f| f.verdict == verdict);
        such.any(|finding| is_strict(finding.level))
    }
}

/// A value as it can be quoted.
pub(super) fn quotable(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
