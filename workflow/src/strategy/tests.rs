//! Decisions of workflows, on facts alone: no runtime, no hub, no agents.

mod calling;
mod compensating;
mod joining;
mod looping;
mod reusing;
mod waiting;

use agenthub_sdk::runs::{
    Budget, Decision, DelegationResult, EffectFailure, Handoff, RunEvent, RunId, RunStarted,
    StepId, StepRequest, StepResult,
    run::{self, Action},
};

use super::*;

std::thread_local! {
    /// Notes of runs that were read for steps that wait for events.
    pub(super) static NOTES_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A run of a workflow whose agents are a function.
pub(crate) struct Play {
    facts: Facts,
    pub(crate) now_ms: u64,
    /// Events, a line for each.
    pub(crate) told: Vec<String>,
    /// The steps that are out, in their order.
    out: Vec<(StepId, u32, StepRequest)>,
    /// The steps that have ended.
    ended: Vec<(StepId, StepRequest, StepResult)>,
    memory: Memory,
    /// Deadlines of the steps that have begun.
    pub(crate) deadlines: BTreeMap<String, Option<u64>>,
}

pub(crate) fn begun(workflow: &str, input: Value) -> Play {
    let source = agenthub_documents::yaml::read::<Value>(workflow).expect("it is YAML");
    let input = Input {
        run: "r".to_owned(),
        workflow: source,
        input,
        ..Input::default()
    };
    begun_with(&input)
}

/// The same, for events since a position in the hub's log.
fn begun_since(workflow: &str, input: Value, since: &str) -> Play {
    let source = agenthub_documents::yaml::read::<Value>(workflow).expect("it is YAML");
    begun_with(&Input {
        workflow: source,
        input,
        since: since.to_owned(),
        ..Input::default()
    })
}

fn begun_with(input: &Input) -> Play {
    let started = RunEvent::Started(RunStarted {
        strategy: WorkflowRun::NAME.to_owned(),
        input: json!(input),
        thread: String::new(),
        origin: Value::Null,
        budget: Budget::default(),
        deadline_ms: None,
        at_ms: 1_000,
    });
    Play {
        facts: Facts::of([&started]),
        now_ms: 1_000,
        told: Vec::new(),
        out: Vec::new(),
        ended: Vec::new(),
        memory: Memory::default(),
        deadlines: BTreeMap::new(),
    }
}

pub(crate) fn done(data: Value) -> DelegationResult {
    DelegationResult {
        agent: "a".to_owned(),
        state: "completed".to_owned(),
        data: vec![data],
        ..DelegationResult::default()
    }
}

pub(crate) fn failed(why: &str) -> DelegationResult {
    DelegationResult {
        agent: "a".to_owned(),
        state: "failed".to_owned(),
        error: why.to_owned(),
        ..DelegationResult::default()
    }
}

impl Play {
    /// Does what is decided, until something has to come back or the run is over. Each decision is made anew as well, as another process
    /// makes it.
    pub(crate) fn decide(&mut self) -> Option<RunOutcome> {
        for _ in 0..1_000 {
            let id = RunId::new("r");
            let anew = run::next(&id, &self.facts, &WorkflowRun, self.now_ms, 16);
            let strategy = (&WorkflowRun as &dyn Strategy, &mut self.memory);
            let actions = run::advance(&id, &self.facts, strategy, self.now_ms, 16);
            assert_eq!(anew, actions, "a decision follows from the facts alone");
            let mut has_acted = false;
            for action in actions {
                has_acted |= match action {
                    Action::Begin(event, work) => {
                        self.facts.apply(&event);
                        if let RunEvent::StepBegun { what, .. } = event {
                            let step = work.key.step.to_string();
                            self.deadlines.insert(step, work.deadline_ms);
                            self.begin(&work.key.step, work.key.attempt, what);
                        }
                        true
                    }
                    Action::Note(event) => {
                        self.facts.apply(&event);
                        true
                    }
                    Action::Recall(key, _) => {
                        let at = self.out.iter().position(|(step, ..)| *step == key.step);
                        at.is_some_and(|at| {
                            self.out.remove(at);
                            self.told.push(format!("recall {}", key.step));
                            self.end(key.step.clone(), key.attempt, StepResult::Cancelled);
                            true
                        })
                    }
                    Action::Stop(outcome) => {
                        let at_ms = self.now_ms;
                        self.facts.apply(&RunEvent::Stopping { outcome, at_ms });
                        true
                    }
                    Action::Conclude(outcome) => return Some(outcome),
                    _ => false,
                };
            }
            if !has_acted {
                return None;
            }
        }
        panic!("it does not come to an end: {:#?}", self.told);
    }

    fn begin(&mut self, step: &StepId, attempt: u32, what: StepRequest) {
        let words = match &what {
            StepRequest::Delegated(sent) => {
                let Handoff {
                    agent,
                    capability,
                    text,
                    payload,
                    ..
                } = &sent.handoff;
                let payload = payload.as_ref().map(Value::to_string).unwrap_or_default();
                format!("{agent} {capability} {text} {payload}")
            }
            StepRequest::Waiting { until_ms } => format!("until {until_ms}"),
            StepRequest::ApprovalAsked(approval) => format!("ask {}", approval.arguments),
            StepRequest::ToolCalled(call) => format!("{} {}", call.name, call.arguments),
            other => format!("{other:?}"),
        };
        self.told.push(format!("{step}: {}", words.trim()));
        self.out.push((step.clone(), attempt, what));
    }

    fn end(&mut self, step: StepId, attempt: u32, result: StepResult) {
        self.now_ms += 1;
        self.facts.apply(&RunEvent::StepEnded {
            step,
            attempt,
            result,
            spent: None,
            at_ms: self.now_ms,
        });
    }

    /// Has one of the steps that are out come back.
    fn give(&mut self, step: &str, result: StepResult) {
        let at = self.out.iter().position(|(out, ..)| out.as_str() == step);
        let at = at.unwrap_or_else(|| panic!("{step} is not out: {:?}", self.told));
        let (step, attempt, _) = self.out.remove(at);
        self.end(step, attempt, result);
    }

    pub(crate) fn give_agent(&mut self, step: &str, result: DelegationResult) {
        self.give(step, StepResult::DelegationEnded(result));
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.out.iter().map(|(step, ..)| step.as_str()).collect()
    }

    /// Plays the run to its end: the oldest that is out comes back first.
    pub(crate) fn play(
        &mut self,
        agent: impl Fn(&str, &Handoff) -> DelegationResult,
    ) -> RunOutcome {
        for _ in 0..1_000 {
            if let Some(outcome) = self.decide() {
                return outcome;
            }
            let (step, attempt, what) = self.out.remove(0);
            let asked = what.clone();
            let result = match what {
                StepRequest::Delegated(sent) => {
                    StepResult::DelegationEnded(agent(step.as_str(), &sent.handoff))
                }
                StepRequest::Waiting { until_ms } => {
                    self.now_ms = self.now_ms.max(until_ms);
                    StepResult::Woke
                }
                StepRequest::ApprovalAsked(_) => StepResult::Decided(Decision {
                    approved: true,
                    by: "ann".to_owned(),
                    comment: String::new(),
                }),
                other => panic!("{other:?}"),
            };
            self.ended.push((step.clone(), asked, result.clone()));
            self.end(step, attempt, result);
        }
        panic!("it does not come to an end: {:#?}", self.told);
    }
}

fn played(
    workflow: &str,
    input: Value,
    agent: impl Fn(&str, &Handoff) -> DelegationResult,
) -> (RunOutcome, Vec<String>) {
    let mut play = begun(workflow, input);
    let outcome = play.play(agent);
    (outcome, play.told)
}

fn output(outcome: &RunOutcome) -> Value {
    match outcome {
        RunOutcome::Completed { data, .. } => data["output"].clone(),
        other => panic!("{other:?}"),
    }
}

fn error(outcome: &RunOutcome) -> String {
    match outcome {
        RunOutcome::Failed { error } => error.clone(),
        other => panic!("{other:?}"),
    }
}

/// Names of what a completed run is made without.
fn lacking(outcome: &RunOutcome) -> Vec<String> {
    let missing = outcome.shortfall().map(|lacks| lacks.missing());
    let missing = missing.unwrap_or_default().into_iter();
    missing.map(|missing| missing.name).collect()
}
