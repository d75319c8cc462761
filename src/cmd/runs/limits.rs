//! Limits of a run, from flags.

use agenthub_proto::{
    cortex::{Constraints, RunBudget},
    json,
};

use crate::cli::Limits;

/// Constraints of the flags, if there are any.
pub(in crate::cmd) fn constraints(limits: &Limits) -> Option<Constraints> {
    let criteria = limits
        .criteria
        .iter()
        .map(|text| json::to_value(&text.as_str().into()));
    let constraints = Constraints {
        quality_threshold: limits.quality,
        execution_depth: limits.depth,
        acceptance_criteria: criteria.collect(),
        max_turns: None,
        approvals: limits.approvals.clone(),
    };
    (constraints != Constraints::default()).then_some(constraints)
}

/// Budget of the flags, if there is any.
pub(in crate::cmd) fn budget(limits: &Limits) -> Option<RunBudget> {
    limits.tokens.map(|tokens| RunBudget {
        tokens: Some(tokens),
        ..RunBudget::default()
    })
}
