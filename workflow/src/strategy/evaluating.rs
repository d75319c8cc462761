//! Goes through the steps of a workflow or a loop, and tells how each stands.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use agenthub_sdk::runs::{self, Effect, Facts, StepId, StepResult, workflow_step::reuse_note_of};
use serde_json::{Map, Value, json};

use super::{compensating::Undo, outputs, reusing::Reused};
use crate::{
    file::{OnFailure, OnItemFailure, Others},
    model::{Each, Graph, Join, Need, Step, Work},
    scope::{Scope, StepValue},
};

/// Errors of a loop's items that its own error names, at most.
const MAX_ERRORS: usize = 8;

/// The facts of a run, and what is wanted of it.
pub(super) struct Evaluation<'a> {
    pub(super) facts: &'a Facts,
    pub(super) run: &'a str,
    /// Results of an earlier run, by the names of the run's steps.
    pub(super) reused: &'a BTreeMap<StepId, Reused>,
    /// Notes of the results that stand, where they are not written down yet.
    pub(super) notes: BTreeMap<StepId, runs::Step>,
    /// The steps of the run that are wanted.
    pub(super) wanted: Vec<runs::Step>,
    /// Compensations of the completed steps.
    pub(super) undo: Vec<Undo>,
    /// End of the time of the branch that is gone through.
    pub(super) deadline_ms: Option<u64>,
}

/// State of something.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// Something of it is out, or waits.
    Working,
    /// It is over, since this time.
    Done(u64),
    /// It is over and came to nothing.
    Failed(Failure),
}

/// The reason why a workflow cannot go on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    pub(super) step: String,
    pub(super) error: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the step `{}` has failed: {}", self.step, self.error)
    }
}

/// State of a step's work.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WorkState {
    Working,
    Completed { output: Value, at_ms: u64 },
    Failed { error: String, at_ms: u64 },
    Cancelled { at_ms: u64 },
}

/// State of a step.
#[derive(Clone, Debug, PartialEq)]
enum State {
    /// It waits for others, or is at work.
    Open,
    Ended {
        value: StepValue,
        at_ms: u64,
        /// The workflow goes on without it.
        is_let_go: bool,
    },
}

/// Consequence for a step of those that it needs.
enum Readiness {
    Wait,
    Skip(u64),
    Fail(String, u64),
    Ready(u64),
}

/// Steps that a join has taken: those that had completed or failed, and those that were called back for it.
#[derive(Debug, Default)]
struct Joined {
    completed: BTreeSet<String>,
    failed: BTreeSet<String>,
    cancelled: BTreeSet<String>,
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

impl<'a> Evaluation<'a> {
    pub(super) fn new(
        facts: &'a Facts,
        run: &'a str,
        reused: &'a BTreeMap<StepId, Reused>,
    ) -> Self {
        Self {
            facts,
            run,
            reused,
            notes: BTreeMap::new(),
            wanted: Vec::new(),
            undo: Vec::new(),
            deadline_ms: None,
        }
    }

    /// Result of a step of the run: its own, or that of an earlier run which did the same. That is noted, so that the journal has it.
    pub(super) fn result(&mut self, step: &runs::Step) -> Option<&'a StepResult> {
        if let Some(own) = self.facts.result(step) {
            return Some(own);
        }
        let is_begun = self.facts.ended_ms(step).is_some();
        let reused = self.reused.get(&step.id).filter(|_| !is_begun)?;
        if !reused.stands_for(step) {
            return None;
        }
        let note = StepId::new(reuse_note_of(step.id.as_str()));
        if self.facts.noted(&note).is_none() {
            let noted = runs::Step::new(note.as_str(), Effect::Note(true.into()));
            self.notes.insert(note, noted);
        }
        Some(&reused.result)
    }

    /// Time when a step of the run returned. What an earlier run did is as if it had returned when this one began.
    pub(super) fn ended_ms(&self, step: &runs::Step) -> Option<u64> {
        let own = self.facts.ended_ms(step);
        own.or_else(|| {
            let reused = self.reused.get(&step.id)?;
            let begun = self.facts.started().map(|started| started.at_ms);
            begun.filter(|_| reused.stands_for(step))
        })
    }

    /// Goes through steps. Their values are in the scope behind that. `prefix` is that of the names of the run's steps; `begun_ms` is when
    /// they could begin.
    pub(super) fn graph<'g>(
        &mut self,
        graph: &'g Graph,
        scope: &mut Scope<'g>,
        prefix: &str,
        begun_ms: u64,
    ) -> Standing {
        let wanted_before = self.wanted.len();
        let joined = self.joined(graph, prefix);
        let cancelled: BTreeSet<&String> = joined.values().flat_map(|j| &j.cancelled).collect();
        let mut states: BTreeMap<&str, State> = BTreeMap::new();
        let mut lanes: BTreeMap<&str, usize> = BTreeMap::new();
        let mut failure = None;
        let outer_deadline_ms = self.deadline_ms;
        let mut deadlines: BTreeMap<&str, u64> = BTreeMap::new();
        // All are gone through though one has failed, so that it is known what is to be taken back.
        for step in &graph.steps {
            let before = self.wanted.len();
            self.deadline_ms = outer_deadline_ms;
            if let Some(time) = &step.branch {
                let readiness = readiness(step, &states, joined.get(&step.name), begun_ms);
                if let Readiness::Ready(at_ms) = readiness {
                    let end_ms = at_ms.saturating_add(time.timeout_ms);
                    deadlines.entry(&time.branch).or_insert(end_ms);
                }
                let own = deadlines.get(time.branch.as_str()).copied();
                self.deadline_ms = own.into_iter().chain(outer_deadline_ms).min();
            }
            let mut state = self.step(step, &states, &joined, scope, prefix, begun_ms);
            if cancelled.contains(&step.name) {
                self.wanted.truncate(before);
                state = ended("cancelled", None, begun_ms, false);
            }
            if let (State::Open, Some(lane)) = (&state, &step.lane) {
                let busy = lanes.entry(&lane.group).or_default();
                *busy += 1;
                if *busy > lane.most {
                    self.wanted.truncate(before);
                }
            }
            if let State::Ended {
                value, is_let_go, ..
            } = &state
            {
                scope.steps.insert(&step.name, value.clone());
                if value.state == "failed" && !is_let_go && !step.is_contained {
                    failure.get_or_insert_with(|| Failure {
                        step: format!("{prefix}{}", step.name),
                        error: value.error.clone().unwrap_or_default(),
                    });
                }
            }
            states.insert(&step.name, state);
        }
        self.deadline_ms = outer_deadline_ms;
        if let Some(failure) = failure {
            self.wanted.truncate(wanted_before);
            return Standing::Failed(failure);
        }
        self.note_joins(graph, &states, &joined, prefix);
        let mut last = begun_ms;
        for state in states.values() {
            match state {
                State::Open => return Standing::Working,
                State::Ended { at_ms, .. } => last = last.max(*at_ms),
            }
        }
        Standing::Done(last)
    }

    fn joined(&self, graph: &Graph, prefix: &str) -> BTreeMap<String, Joined> {
        let joins = graph.steps.iter().filter(|step| step.join != Join::All);
        joins
            .filter_map(|step| {
                let note = runs::StepId::new(note_name(prefix, &step.name));
                let noted = self.facts.noted(&note)?;
                Some((step.name.clone(), Joined::of(noted)))
            })
            .collect()
    }

    /// Has the joins that have enough written down, with what they take, so that what comes later changes nothing.
    fn note_joins(
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
            if completed.len() < n as usize || waits || joined.contains_key(&step.name) {
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

    fn step<'g>(
        &mut self,
        step: &'g Step,
        states: &BTreeMap<&str, State>,
        joined: &BTreeMap<String, Joined>,
        scope: &Scope<'g>,
        prefix: &str,
        begun_ms: u64,
    ) -> State {
        let readiness = readiness(step, states, joined.get(&step.name), begun_ms);
        let at_ms = match readiness {
            Readiness::Wait => return State::Open,
            Readiness::Skip(at_ms) => return ended("skipped", None, at_ms, false),
            Readiness::Fail(error, at_ms) => {
                return ended(
                    "failed",
                    Some(error),
                    at_ms,
                    step.on_failure == OnFailure::Continue,
                );
            }
            Readiness::Ready(at_ms) => at_ms,
        };
        let own;
        let scope = match joined.get(&step.name) {
            Some(joined) => {
                own = without_others(step, joined, scope);
                &own
            }
            None => scope,
        };
        if let Some(when) = &step.when {
            match when.is_true(&scope.variables(when)) {
                Ok(true) => {}
                Ok(false) => return ended("skipped", None, at_ms, false),
                Err(error) => {
                    let error = format!("`when`: {error}");
                    let is_let_go = step.on_failure == OnFailure::Continue;
                    return ended("failed", Some(error), at_ms, is_let_go);
                }
            }
        }
        let name = format!("{prefix}{}", step.name);
        let work = match &step.each {
            Some(each) => self.each(step, each, scope, &name, at_ms),
            None => self.work(step, scope, &name, at_ms),
        };
        match work {
            WorkState::Working => State::Open,
            WorkState::Completed { output, at_ms } => {
                let value = StepValue {
                    state: "completed",
                    output: Some(output),
                    error: None,
                };
                State::Ended {
                    value,
                    at_ms,
                    is_let_go: false,
                }
            }
            WorkState::Failed { error, at_ms } => ended(
                "failed",
                Some(error),
                at_ms,
                step.on_failure == OnFailure::Continue,
            ),
            WorkState::Cancelled { at_ms } => ended("cancelled", None, at_ms, false),
        }
    }

    /// The work of a step, once.
    fn work<'g>(&mut self, step: &'g Step, scope: &Scope<'g>, name: &str, at_ms: u64) -> WorkState {
        match &step.work {
            Work::Call(call) => self.call_of(step, call, scope, name, at_ms),
            Work::Wait(ms) => self.wait_in_branch(name, at_ms.saturating_add(*ms)),
            Work::Event {
                event,
                from,
                matching,
                ..
            } => {
                let filter = (&**event, &**from, matching);
                self.event(name, filter, step.timeout_ms, scope, at_ms)
            }
            Work::Approve { text, input, .. } => {
                self.approve(name, (text, input), step.timeout_ms, scope, at_ms)
            }
            Work::Decide { condition, .. } => {
                match condition.is_true(&scope.variables(condition)) {
                    Ok(decision) => WorkState::Completed {
                        output: json!({ "decision": decision }),
                        at_ms,
                    },
                    Err(error) => WorkState::Failed {
                        error: error.to_string(),
                        at_ms,
                    },
                }
            }
            Work::Join(names) => {
                let mut given = Map::new();
                for needed in needed(step) {
                    let output = scope.steps.get(needed).and_then(|step| step.output.clone());
                    if let Some(output) = output {
                        let name = names.get(needed).map_or(needed, String::as_str);
                        given.entry(name).or_insert(output);
                    }
                }
                // A branch that came to nothing can be read as well.
                for name in names.values() {
                    given.entry(name).or_insert(Value::Null);
                }
                WorkState::Completed {
                    output: Value::Object(given),
                    at_ms,
                }
            }
            Work::Steps(graph) => {
                let mut inner = Scope {
                    input: scope.input,
                    outer: Some(scope),
                    item: None,
                    steps: BTreeMap::new(),
                };
                match self.graph(graph, &mut inner, &format!("{name}/"), at_ms) {
                    Standing::Working => WorkState::Working,
                    Standing::Failed(failure) => WorkState::Failed {
                        error: failure.to_string(),
                        at_ms,
                    },
                    Standing::Done(at_ms) => WorkState::Completed {
                        output: match &graph.result {
                            Some(result) => {
                                let last = inner.steps.get(result.as_str());
                                let output = last.and_then(|last| last.output.clone());
                                output.unwrap_or_default()
                            }
                            None => outputs(&inner.steps),
                        },
                        at_ms,
                    },
                }
            }
        }
    }

    /// The work of a step for each item of a list.
    fn each<'g>(
        &mut self,
        step: &'g Step,
        each: &Each,
        scope: &Scope<'g>,
        name: &str,
        at_ms: u64,
    ) -> WorkState {
        let failed = |error: String, at_ms| WorkState::Failed { error, at_ms };
        let mut items = match each.items.value(scope) {
            Ok(Some(Value::Array(items))) => items,
            Ok(Some(_)) => return failed("`for_each` is no list".to_owned(), at_ms),
            Ok(None) => Vec::new(),
            Err(error) => return failed(format!("`for_each`: {error}"), at_ms),
        };
        if each.is_cut {
            items.truncate(each.most);
        }
        if items.len() > each.most {
            let error = format!(
                "the list has {} items, and at most {} are allowed",
                items.len(),
                each.most
            );
            return failed(error, at_ms);
        }
        let (count, wanted_before) = (items.len(), self.wanted.len());
        let (mut iterations, mut failures) = (Vec::new(), Vec::new());
        let (mut open, mut last, mut first_failure) = (0, at_ms, None);
        for (index, item) in items.into_iter().enumerate() {
            if open == each.parallel {
                break;
            }
            let inner = Scope {
                input: scope.input,
                outer: Some(scope),
                item: Some(json!({
                    "item": item,
                    "index": index,
                    "count": count,
                    "total": count,
                    "is_first": index == 0,
                    "is_last": index + 1 == count,
                })),
                steps: BTreeMap::new(),
            };
            // One after the other, an item begins when the one before it has ended.
            let begun_ms = if each.parallel == 1 { last } else { at_ms };
            match self.work(step, &inner, &format!("{name}/{index}"), begun_ms) {
                WorkState::Working => open += 1,
                WorkState::Completed { output, at_ms } => {
                    last = last.max(at_ms);
                    iterations.push(output);
                }
                WorkState::Failed { error, at_ms } if each.on_failure == OnItemFailure::Fail => {
                    first_failure.get_or_insert((format!("item {index}: {error}"), at_ms));
                }
                WorkState::Failed { error, at_ms } => {
                    last = last.max(at_ms);
                    failures.push(json!({ "index": index, "error": error }));
                }
                WorkState::Cancelled { at_ms } => {
                    last = last.max(at_ms);
                    failures.push(json!({ "index": index, "error": "it was called back" }));
                }
            }
        }
        if let Some((error, at_ms)) = first_failure {
            self.wanted.truncate(wanted_before);
            return failed(error, at_ms);
        }
        if open == 0 && each.on_failure == OnItemFailure::Collect && !failures.is_empty() {
            let errors = failures.iter().take(MAX_ERRORS).map(|failure| {
                let error = failure["error"].as_str().unwrap_or_default();
                format!("item {}: {error}", failure["index"])
            });
            let errors: Vec<String> = errors.collect();
            let failures = failures.len();
            let error = format!("{failures} of {count} items: {}", errors.join("; "));
            return failed(error, last);
        }
        match open {
            0 => WorkState::Completed {
                output: json!({ "iterations": iterations, "total_count": count, "failed": failures }),
                at_ms: last,
            },
            _ => WorkState::Working,
        }
    }
}

fn ended(state: &'static str, error: Option<String>, at_ms: u64, is_let_go: bool) -> State {
    let value = StepValue {
        state,
        output: None,
        error,
    };
    State::Ended {
        value,
        at_ms,
        is_let_go,
    }
}

fn note_name(prefix: &str, join: &str) -> String {
    format!("{prefix}{join}/joined")
}

/// The steps that a step depends on, each once.
fn needed(step: &Step) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for need in &step.needs {
        if !names.contains(&need.step.as_str()) {
            names.push(&need.step);
        }
    }
    names
}

fn readiness(
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
    match step.join {
        Join::All => all(step, states, at),
        Join::AtLeast(n) => at_least(step, n as usize, states, joined, at),
    }
}

/// All have ended. Where none of them has completed, the step is skipped as well.
fn all(step: &Step, states: &BTreeMap<&str, State>, at: u64) -> Readiness {
    let mut at = at;
    let mut has_any = step.needs.is_empty();
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
        has_any |= is_met(need, value);
        if value.state == "failed" && !is_let_go {
            failed = Some((need, value));
        }
    }
    match failed {
        Some((need, value)) => {
            let why = value.error.as_deref().unwrap_or_default();
            Readiness::Fail(format!("`{}` has failed: {why}", need.step), at)
        }
        None if has_any => Readiness::Ready(at),
        None => Readiness::Skip(at),
    }
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
    let (mut completed, mut open) = (0, 0);
    for name in &needs {
        match states.get(name) {
            Some(State::Ended { value, at_ms, .. }) => {
                at = at.max(*at_ms);
                completed += usize::from(value.state == "completed");
            }
            Some(State::Open) | None => open += 1,
        }
    }
    let is_over = step.others != Others::Wait || open == 0;
    match completed + open < n && is_over {
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
fn without_others<'g>(step: &'g Step, joined: &Joined, scope: &Scope<'g>) -> Scope<'g> {
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
