//! Goes through the steps of a workflow or a loop, and tells how each stands.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use agenthub_sdk::runs::{self, Effect, Facts, StepId, StepResult, workflow_step::reuse_note_of};
use serde_json::{Map, Value, json};

use super::{
    compensating::Undo,
    joining::{Joined, Readiness, failed_need, needed, readiness, without_others},
    lacking::{failures, gone_without},
    outputs,
    reusing::Reused,
    waiting::EventLines,
};
use crate::{
    file::OnFailure,
    model::{Graph, Step, Work},
    scope::{Scope, StepValue},
};

/// The facts of a run, and what is wanted of it.
pub(super) struct Evaluation<'a> {
    pub(super) facts: &'a Facts,
    pub(super) run: &'a str,
    /// The position in the hub's log since which events count.
    pub(super) since: &'a str,
    /// Results of an earlier run, by the names of the run's steps.
    pub(super) reused: &'a BTreeMap<StepId, Reused>,
    /// Notes of the results that stand, where they are not written down yet.
    pub(super) notes: BTreeMap<StepId, runs::Step>,
    /// Notes of decisions and skipped steps, where they are not written down yet.
    pub(super) told: Vec<runs::Step>,
    /// The steps of the run that are wanted.
    pub(super) wanted: Vec<runs::Step>,
    /// Compensations of the completed steps.
    pub(super) undo: Vec<Undo>,
    /// Results of agents that are a part of what their steps asked for, and steps that are gone on without, in the form of a shortfall's results.
    pub(super) lacks: Vec<Value>,
    /// End of the time of the branch that is gone through.
    pub(super) deadline_ms: Option<u64>,
    /// Steps that wait for events; read of the facts when the first step is about to wait for one.
    pub(super) lines: Option<EventLines>,
}

/// State of something.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// Something of it is out, or waits.
    Working,
    /// Over, since this time.
    Done(u64),
    /// Over, without a result.
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
pub(super) enum State {
    /// Waits for others, or is at work.
    Open,
    Ended {
        value: StepValue,
        at_ms: u64,
        /// The workflow goes on without it.
        is_let_go: bool,
    },
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(facts: &'a Facts, reused: &'a BTreeMap<StepId, Reused>) -> Self {
        Self {
            facts,
            run: "",
            since: "",
            reused,
            notes: BTreeMap::new(),
            told: Vec::new(),
            wanted: Vec::new(),
            undo: Vec::new(),
            lacks: Vec::new(),
            deadline_ms: None,
            lines: None,
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
            let name = format!("{prefix}{}", step.name);
            let behind = failed_need(step, &states);
            self.tell((step, &name), &state, behind, scope);
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
        let failures = failures(graph, &states).into_iter();
        let gone_without =
            failures.map(|(name, error)| gone_without(&format!("{prefix}{name}"), &error));
        self.lacks.extend(gone_without);
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
    pub(super) fn work<'g>(
        &mut self,
        step: &'g Step,
        scope: &Scope<'g>,
        name: &str,
        at_ms: u64,
    ) -> WorkState {
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
