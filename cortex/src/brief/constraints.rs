//! The constraints of a brief: their bounds, and their defaults.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    Fault, MAX_CRITERIA, MAX_CRITERION_BYTES, MAX_DEPTH, MAX_NAME_BYTES, MAX_TURNS, criterion,
    is_flat, is_name, is_short, is_within,
};

/// Stands for all capabilities.
const ALL: &str = "*";
/// Likeness of two names of which one may be meant by the other.
const ALIKE: f64 = 0.85;
/// Bytes of a name that is compared with others, at most.
const LONGEST: usize = 100;

/// Constraints that a run must keep to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Constraints {
    /// The least score of a review, from 0 to 1; 0.7 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1)]
    pub quality_threshold: Option<f64>,
    /// Maximum times that something is made, the first included, from 1 to 20; 3 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 20)]
    pub execution_depth: Option<u32>,
    /// Criteria that the result must fulfil, at most 64: in words, or as objects with a check that code can make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub acceptance_criteria: Vec<Value>,
    /// The most decisions of the orchestrator, from 1 to 200; 40 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 200)]
    pub max_turns: Option<u32>,
    /// The capabilities that a person has to allow each time, at most 64; `*` stands for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub approvals: Vec<String>,
}

impl Constraints {
    /// The least score of a review.
    pub fn quality_threshold(&self) -> f64 {
        self.quality_threshold.unwrap_or(0.7)
    }

    /// Number of times that something may be made, the first time included.
    pub fn execution_depth(&self) -> u32 {
        self.execution_depth.unwrap_or(3)
    }

    /// The most decisions of the orchestrator.
    pub fn max_turns(&self) -> u32 {
        self.max_turns.unwrap_or(40)
    }

    /// Takes from the others what is not given here.
    pub fn over(self, others: Self) -> Self {
        Self {
            quality_threshold: self.quality_threshold.or(others.quality_threshold),
            execution_depth: self.execution_depth.or(others.execution_depth),
            acceptance_criteria: match self.acceptance_criteria.is_empty() {
                true => others.acceptance_criteria,
                false => self.acceptance_criteria,
            },
            max_turns: self.max_turns.or(others.max_turns),
            approvals: match self.approvals.is_empty() {
                true => others.approvals,
                false => self.approvals,
            },
        }
    }

    /// The checks of the bounds that its fields have.
    pub(super) fn checks(&self) -> Vec<Result<(), Fault>> {
        let mut checks = Vec::new();
        let threshold = self.quality_threshold();
        if !(0.0..=1.0).contains(&threshold) {
            let why = format!("is {threshold}; it is a number from 0 to 1");
            checks.push(Err(Fault::new("constraints.qualityThreshold", why)));
        }
        let at = "constraints.executionDepth";
        checks.push(is_within(at, self.execution_depth(), MAX_DEPTH));
        checks.push(is_within(
            "constraints.maxTurns",
            self.max_turns(),
            MAX_TURNS,
        ));
        let at = "constraints.approvals";
        if self.approvals.len() > MAX_CRITERIA {
            let why = format!(
                "has {} entries; at most {MAX_CRITERIA}",
                self.approvals.len()
            );
            checks.push(Err(Fault::new(at, why)));
        }
        let approvals = self.approvals.iter().take(MAX_CRITERIA).enumerate();
        checks.extend(approvals.map(|(index, capability)| {
            is_name(&format!("{at}[{index}]"), capability, MAX_NAME_BYTES)
        }));
        checks.extend(are_criteria(
            "constraints.acceptanceCriteria",
            &self.acceptance_criteria,
        ));
        checks
    }

    /// The checks for fields that only a run in app mode keeps to.
    pub(super) fn suits_a_chat(&self) -> Vec<Result<(), Fault>> {
        let given = [
            ("acceptanceCriteria", !self.acceptance_criteria.is_empty()),
            ("approvals", !self.approvals.is_empty()),
            ("qualityThreshold", self.quality_threshold.is_some()),
            ("executionDepth", self.execution_depth.is_some()),
        ];
        let checks = given.into_iter().map(|(field, is_given)| match is_given {
            false => Ok(()),
            true => Err(Fault::new(
                format!("constraints.{field}"),
                "needs the mode `app`: nobody reviews a chat turn or asks a person about it; take the mode `app`, or leave this out",
            )),
        });
        checks.collect()
    }

    /// # Errors
    ///
    /// The first approval that names a capability which is none of these.
    pub fn names_offered<'a>(
        &self,
        offered: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), Fault> {
        let is_known = |named: &str| named == ALL || offered.clone().any(|known| known == named);
        let unknown = self.approvals.iter().position(|named| !is_known(named));
        let Some(index) = unknown else {
            return Ok(());
        };
        let named = &self.approvals[index];
        let likeness = |known: &str| strsim::jaro_winkler(named, known);
        // Comparing takes more than in proportion to the letters.
        let is_short = named.len() <= LONGEST;
        let close = offered
            .clone()
            .filter(|known| is_short && likeness(known) >= ALIKE);
        let close = close.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        let help = match close {
            Some(close) => format!("did you mean {close}?"),
            None => {
                let offered: BTreeSet<&str> = offered.collect();
                let offered: Vec<&str> = offered.into_iter().collect();
                let offered = match offered.is_empty() {
                    true => "nothing is offered".to_owned(),
                    false => format!("offered: {}", offered.join(", ")),
                };
                format!("{offered}; `{ALL}` stands for all")
            }
        };
        Err(Fault::new(
            format!("constraints.approvals[{index}]"),
            format!("names {named}, which no agent that is known offers; {help}"),
        ))
    }

    /// True if a person has to allow this capability.
    pub fn needs_approval(&self, capability: &str) -> bool {
        self.approvals
            .iter()
            .any(|named| named == ALL || named == capability)
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The checks of a list of criteria: their number, and the shape of each.
pub(super) fn are_criteria(at: &str, criteria: &[Value]) -> Vec<Result<(), Fault>> {
    if criteria.len() > MAX_CRITERIA {
        let why = format!("has {} entries; at most {MAX_CRITERIA}", criteria.len());
        return vec![Err(Fault::new(at, why))];
    }
    let checks = criteria.iter().enumerate().map(|(index, criterion)| {
        let at = format!("{at}[{index}]");
        criterion::check(&at, criterion)?;
        is_short(&at, criterion.to_string().len(), MAX_CRITERION_BYTES)?;
        is_flat(&at, criterion)
    });
    checks.collect()
}
