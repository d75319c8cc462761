//! Compensation: when a workflow fails, its open steps are called back, then its completed ones are undone, the latest first.

use agenthub_sdk::runs::{
    Next, RunOutcome,
    workflow_step::{is_undo, undo_of},
};
use serde_json::Value;

use super::{
    calling::ResolvedCall,
    evaluating::{Evaluation, WorkState},
};
use crate::{
    model::{Call, Retry},
    scope::{Scope, StepValue},
};

/// Attempts at taking a step back.
const RETRY: Retry = Retry {
    attempts: 3,
    pause_ms: 1_000,
    backoff: 2.0,
    max_pause_ms: 10_000,
    jitter: 0.0,
};

/// Compensation of a completed step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Undo {
    name: String,
    at_ms: u64,
    asked: Result<ResolvedCall, String>,
}

impl Undo {
    /// Compensation of a step with this output.
    pub(super) fn of(
        name: &str,
        at_ms: u64,
        call: &Call,
        (step, output): (&str, &Value),
        scope: &Scope<'_>,
    ) -> Self {
        let mut steps = scope.steps.clone();
        let own = StepValue {
            state: "completed",
            output: Some(output.clone()),
            error: None,
        };
        steps.insert(step, own);
        let scope = Scope {
            input: scope.input,
            outer: scope.outer,
            item: scope.item.clone(),
            steps,
        };
        Self {
            name: name.to_owned(),
            at_ms,
            asked: ResolvedCall::of(call, &scope),
        }
    }
}

/// Next steps of a workflow that has failed.
pub(super) fn next(mut evaluation: Evaluation<'_>, failure: String) -> Next {
    evaluation.wanted.clear();
    let mut out = evaluation.facts.in_flight();
    if out.any(|(step, _)| !is_undo(step)) {
        // They are not named, so that they are called back. One that completes meanwhile is taken back as well.
        return Next::Steps(Vec::new());
    }
    drop(out);
    let mut undo = std::mem::take(&mut evaluation.undo);
    undo.sort_by(|a, b| (b.at_ms, &b.name).cmp(&(a.at_ms, &a.name)));
    let (mut taken_back, mut in_part, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for undo in undo {
        evaluation.lacks.clear();
        let name = undo_of(&undo.name);
        let work = match &undo.asked {
            Ok(asked) => {
                evaluation.attempts(&name, asked, &asked.agent, (&RETRY, None), undo.at_ms)
            }
            Err(error) => WorkState::Failed {
                error: error.clone(),
                at_ms: undo.at_ms,
            },
        };
        match work {
            WorkState::Working => return Next::Steps(evaluation.wanted),
            WorkState::Completed { .. } => match evaluation.lacks.first() {
                None => taken_back.push(undo.name),
                Some(lacks) => {
                    let said = |field: &str| lacks[field].as_str().unwrap_or_default();
                    let (agent, why) = (said("agent"), said("lacks"));
                    in_part.push(format!("`{}` ({agent}: {why})", undo.name));
                }
            },
            WorkState::Failed { error, .. } => left.push(format!("`{}` ({error})", undo.name)),
            WorkState::Cancelled { .. } => left.push(format!("`{}`", undo.name)),
        }
    }
    let mut error = failure;
    if !taken_back.is_empty() {
        error += &format!("; taken back: {}", taken_back.join(", "));
    }
    if !in_part.is_empty() {
        error += &format!("; taken back in part: {}", in_part.join(", "));
    }
    if !left.is_empty() {
        error += &format!("; not taken back: {}", left.join(", "));
    }
    Next::Finish(RunOutcome::Failed { error })
}
