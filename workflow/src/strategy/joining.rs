//! Readiness of steps: what they wait for has ended, or enough of it for a join.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_sdk::runs::{self, Effect};
use serde_json::{Value, json};

use super::evaluating::{Evaluation, State};
use crate::{
    file::Others,
    model::{Graph, Join, Need, Step},
    scope::{Scope, StepValue},
};

/// Consequence for a step of those that it needs.
pub(super) enum Readiness {
    Wait,
    Skip(u64),
    Fail(String, u64),
    Ready(u64),
}

/// Steps that a join has taken: those that had completed or failed, and those that were called back for it.
#[derive(Debug, Default)]
pub(super) struct Joined {
    completed: BTreeSet<String>,
    failed: BTreeSet<String>,
    pub(super) cancelled: BTreeSet<String>,
}

impl Joined {
    fn of(noted: &Value) -> Self {
        let names = |field: &str| {
            let names = noted[field].as_array().into_iter().flatten();
            names.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            completed: names("completed"),
            failed: names("failed"),
            cancelled: names("cancelled"),
        }
    }
}

impl Evaluation<'_> {
    /// The joins that have taken their steps, by their names.
    pub(super) fn joined(&self, graph: &Graph, prefix: &str) -> BTreeMap<String, Joined> {
        let joins = graph.steps.iter().filter(|step| step.join.is_count());
        joins
            .filter_map(|step| {
                let note = runs::StepId::new(note_name(prefix, &step.name));
                let noted = self.facts.noted(&note)?;
                Some((step.name.clone(), Joined::of(noted)))
            })
            .collect()
    }

    /// Has the joins that have enough written down, with what they take, so that what comes later changes nothing.
    pub(super) fn note_joins(
        &mut self,
        graph: &Graph,
        states: &BTreeMap<&str, State>,
        joined: &BTreeMap<String, Joined>,
        prefix: &str,
    ) {
        for step in &graph.steps {
            let Join::AtLeast(n) = step.join else {
                continue;
            };
            let needs = needed(step);
            let with = |state: &str| -> Vec<&str> {
                let is_so = |name: &&&str| matches!(states.get(**name), Some(State::Ended { value, .. }) if value.state == state);
                needs.iter().filter(is_so).copied().collect()
            };
            let completed = with("completed");
            let is_open = |name: &&str| matches!(states.get(name), Some(State::Open));
            let waits = step.others == Others::Wait && needs.iter().any(is_open);
            let is_on_way = matches!(way(step, states, 0), Readiness::Ready(_));
            let is_noted = joined.contains_key(&step.name);
            if completed.len() < n as usize || waits || is_noted || !is_on_way {
                continue;
            }
            let cancelled = match step.others {
                Others::Finish | Others::Wait => BTreeSet::new(),
                Others::Cancel => called_back(graph, step, states),
            };
            let note = json!({
                "completed": completed,
                "failed": with("failed"),
                "cancelled": cancelled,
            });
            let id = note_name(prefix, &step.name);
            self.wanted.push(runs::Step::new(id, Effect::Note(note)));
        }
    }
}

fn note_name(prefix: &str, join: &str) -> String {
    format!("{prefix}{join}/joined")
}

/// The steps that a step depends on, each once. A decision that names the step counts for no join.
pub(super) fn needed(step: &Step) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let is_naming = |need: &&Need| need.is_way && need.branch.is_some();
    for need in step.needs.iter().filter(|need| !is_naming(need)) {
        if !names.contains(&need.step.as_str()) {
            names.push(&need.step);
        }
    }
    names
}

/// The consequence of the decisions that name a step: it waits until one of the ways from them is taken or none can be.
fn way(step: &Step, states: &BTreeMap<&str, State>, begun_ms: u64) -> Readiness {
    let mut ways = step.needs.iter().filter(|need| need.is_way).peekable();
    if ways.peek().is_none() {
        return Readiness::Ready(begun_ms);
    }
    let (mut at, mut is_open) = (begun_ms, false);
    for way in ways {
        match states.get(way.step.as_str()) {
            Some(State::Ended { value, .. }) if is_met(way, value) => {
                return Readiness::Ready(begun_ms);
            }
            Some(State::Ended { at_ms, .. }) => at = at.max(*at_ms),
            Some(State::Open) | None => is_open = true,
        }
    }
    match is_open {
        true => Readiness::Wait,
        false => Readiness::Skip(at),
    }
}

/// The consequence for a step of those that it needs and reads.
pub(super) fn readiness(
    step: &Step,
    states: &BTreeMap<&str, State>,
    joined: Option<&Joined>,
    begun_ms: u64,
) -> Readiness {
    let mut at = begun_ms;
    for read in &step.reads {
        match states.get(read.as_str()) {
            Some(State::Ended { at_ms, .. }) => at = at.max(*at_ms),
            Some(State::Open) | None => return Readiness::Wait,
        }
    }
    match (step.join, way(step, states, at)) {
        (Join::Merge | Join::All, _) => all(step, states, at),
        (Join::AtLeast(n), Readiness::Ready(_)) => at_least(step, n as usize, states, joined, at),
        (Join::AtLeast(_), off_way) => off_way,
    }
}

/// All have ended. Where no way to the step was taken, or too few of the others have completed, the step is skipped as well.
fn all(step: &Step, states: &BTreeMap<&str, State>, at: u64) -> Readiness {
    let mut at = at;
    let has_none = |is_way: bool| !step.needs.iter().any(|need| need.is_way == is_way);
    let (mut has_way, mut has_other) = (has_none(true), has_none(false));
    let mut lacks_one = false;
    let mut failed = None;
    for need in &step.needs {
        let Some(State::Ended {
            value,
            at_ms,
            is_let_go,
        }) = states.get(need.step.as_str())
        else {
            return Readiness::Wait;
        };
        at = at.max(*at_ms);
        match need.is_way {
            true => has_way |= is_met(need, value),
            false => has_other |= is_met(need, value),
        }
        lacks_one |= need.branch.is_none() && !is_met(need, value);
        if value.state == "failed" && !is_let_go {
            failed = Some((need, value));
        }
    }
    match failed {
        Some((need, value)) => {
            let why = value.error.as_deref().unwrap_or_default();
            Readiness::Fail(format!("`{}` has failed: {why}", need.step), at)
        }
        None if step.join == Join::All && lacks_one => Readiness::Skip(at),
        None if has_way && has_other => Readiness::Ready(at),
        None => Readiness::Skip(at),
    }
}

/// The step that failed and that this one needs, where that is why it does not begin.
pub(super) fn failed_need<'g>(step: &'g Step, states: &BTreeMap<&str, State>) -> Option<&'g str> {
    let has_failed = |need: &&Need| match states.get(need.step.as_str()) {
        Some(State::Ended {
            value, is_let_go, ..
        }) => value.state == "failed" && !is_let_go,
        _ => false,
    };
    let failed = step.needs.iter().rev().find(has_failed);
    failed
        .filter(|_| !step.join.is_count())
        .map(|need| need.step.as_str())
}

/// True if a step goes on with what it needs. One that failed and is let go is done without.
fn is_met(need: &Need, value: &StepValue) -> bool {
    match need.branch {
        None => matches!(value.state, "completed" | "failed"),
        Some(branch) => {
            let decision = value.output.as_ref().map(|output| &output["decision"]);
            decision == Some(&Value::Bool(branch))
        }
    }
}

fn at_least(
    step: &Step,
    n: usize,
    states: &BTreeMap<&str, State>,
    joined: Option<&Joined>,
    at: u64,
) -> Readiness {
    let mut at = at;
    let needs = needed(step);
    if let Some(joined) = joined {
        for name in &needs {
            if let Some(State::Ended { at_ms, .. }) = states.get(name)
                && joined.completed.contains(*name)
            {
                at = at.max(*at_ms);
            }
        }
        return Readiness::Ready(at);
    }
    let (mut completed, mut skipped, mut open) = (0, 0, 0);
    for name in &needs {
        match states.get(name) {
            Some(State::Ended { value, at_ms, .. }) => {
                at = at.max(*at_ms);
                completed += usize::from(value.state == "completed");
                skipped += usize::from(value.state == "skipped");
            }
            Some(State::Open) | None => open += 1,
        }
    }
    let is_over = step.others != Others::Wait || open == 0;
    let is_lost = completed + open < n && is_over;
    match is_lost {
        // Branches that were not taken are no failure.
        true if open == 0 && completed + skipped == needs.len() => Readiness::Skip(at),
        true if completed + skipped + open == needs.len() => Readiness::Wait,
        true => Readiness::Fail(
            format!(
                "only {completed} of {} steps have completed, and {n} must",
                needs.len()
            ),
            at,
        ),
        false => Readiness::Wait,
    }
}

/// The scope of a step behind a join: of the steps that it needs, those that the join took.
pub(super) fn without_others<'g>(step: &'g Step, joined: &Joined, scope: &Scope<'g>) -> Scope<'g> {
    let mut steps = scope.steps.clone();
    for name in needed(step) {
        if joined.completed.contains(name) || joined.failed.contains(name) {
            continue;
        }
        let other = StepValue {
            state: "cancelled",
            output: None,
            error: None,
        };
        steps.insert(name, other);
    }
    Scope {
        input: scope.input,
        outer: scope.outer,
        item: scope.item.clone(),
        steps,
    }
}

/// The open steps that lead to a join alone, once it needs no more of them.
fn called_back(graph: &Graph, join: &Step, states: &BTreeMap<&str, State>) -> BTreeSet<String> {
    let is_open = |name: &str| matches!(states.get(name), Some(State::Open));
    let mut cancelled = BTreeSet::new();
    let others = needed(join).into_iter().filter(|name| is_open(name));
    let is_needed_elsewhere = |name: &str, cancelled: &BTreeSet<String>| {
        graph.steps.iter().any(|later| {
            let waits = later.needs.iter().any(|n| n.step == name) || later.reads.contains(name);
            waits && later.name != join.name && !cancelled.contains(&later.name)
        })
    };
    for name in others {
        if !is_needed_elsewhere(name, &cancelled) {
            cancelled.insert(name.to_owned());
        }
    }
    for step in graph.steps.iter().rev() {
        let leads = graph.steps.iter().any(|later| {
            cancelled.contains(&later.name) && later.needs.iter().any(|n| n.step == step.name)
        });
        if leads && is_open(&step.name) && !is_needed_elsewhere(&step.name, &cancelled) {
            cancelled.insert(step.name.clone());
        }
    }
    cancelled
}
