//! A run without a driver: the test performs actions and supplies results.

use agenthub_runs::{
    Facts, RunEvent, RunId, RunOutcome, RunStarted, Spent, StepId, StepResult, Strategy,
    run::{self, Action},
};
use serde_json::Value;

pub(crate) struct Simulation {
    run: RunId,
    pub(crate) events: Vec<RunEvent>,
    pub(crate) facts: Facts,
    pub(crate) now: u64,
    pub(crate) max_open: usize,
    /// Result of every query.
    pub(crate) looks: Value,
}

impl Simulation {
    pub(crate) fn new(first: RunStarted) -> Self {
        let mut simulation = Self {
            run: RunId::new("run"),
            events: Vec::new(),
            facts: Facts::default(),
            now: first.at_ms,
            max_open: 16,
            looks: Value::Null,
        };
        simulation.happens(RunEvent::Started(first));
        simulation
    }

    pub(crate) fn happens(&mut self, event: RunEvent) {
        self.facts.apply(&event);
        self.events.push(event);
    }

    pub(crate) fn actions(&self, strategy: &dyn Strategy) -> Vec<Action> {
        run::next(&self.run, &self.facts, strategy, self.now, self.max_open)
    }

    /// Performs actions until only waiting is left. Returns the time of the next decision.
    pub(crate) fn settle(&mut self, strategy: &dyn Strategy) -> Option<u64> {
        for _ in 0..1_000 {
            let mut wake = None;
            let before = self.events.len();
            for action in self.actions(strategy) {
                match action {
                    Action::Look(step, _) => {
                        let value = Some(self.looks.clone());
                        let at_ms = self.now;
                        self.happens(RunEvent::Observed {
                            step,
                            value,
                            same_as: None,
                            at_ms,
                        });
                    }
                    Action::Note(event) | Action::Begin(event, _) => self.happens(event),
                    Action::Resume(_) => {}
                    Action::Recall(key, _) => {
                        self.comes_back(&key.step, key.attempt, StepResult::Cancelled, None);
                    }
                    Action::WakeAt(at_ms) => wake = Some(wake.unwrap_or(at_ms).min(at_ms)),
                    Action::Stop(outcome) => {
                        let at_ms = self.now;
                        self.happens(RunEvent::Stopping { outcome, at_ms });
                    }
                    Action::Conclude(outcome) => {
                        let (spent, at_ms) = (self.facts.spent(), self.now);
                        self.happens(RunEvent::Ended {
                            outcome,
                            spent,
                            at_ms,
                        });
                    }
                }
            }
            if self.events.len() == before {
                return wake;
            }
        }
        panic!("it never comes to rest: {:?}", self.events);
    }

    fn comes_back(
        &mut self,
        step: &StepId,
        attempt: u32,
        result: StepResult,
        spent: Option<Spent>,
    ) {
        self.happens(RunEvent::StepEnded {
            step: step.clone(),
            attempt,
            result,
            spent,
            at_ms: self.now,
        });
    }

    /// Steps in flight: step, attempt and reservation.
    pub(crate) fn out(&self) -> Vec<&RunEvent> {
        let in_flight: Vec<&StepId> = self.facts.in_flight().map(|(step, _)| step).collect();
        let mut out: Vec<&RunEvent> = Vec::new();
        for event in &self.events {
            if let RunEvent::StepBegun { step, .. } = event
                && in_flight.contains(&step)
            {
                out.retain(
                    |o| !matches!(o, RunEvent::StepBegun { step: other, .. } if other == step),
                );
                out.push(event);
            }
        }
        out
    }

    /// Ends the latest attempt at a step.
    pub(crate) fn ends(&mut self, step: &str, result: StepResult, spent: Option<Spent>) {
        let step = StepId::new(step);
        let attempt = self.events.iter().rev().find_map(|event| match event {
            RunEvent::StepBegun {
                step: begun,
                attempt,
                ..
            } if *begun == step => Some(*attempt),
            _ => None,
        });
        let attempt = attempt.expect("it was begun");
        self.comes_back(&step, attempt, result, spent);
    }

    pub(crate) fn ended(&self) -> Option<&RunOutcome> {
        self.facts.ended()
    }
}

/// An action in a few words.
pub(crate) fn words(actions: &[Action]) -> Vec<String> {
    let word = |action: &Action| match action {
        Action::Look(step, query) => format!("look {step} {query}"),
        Action::Note(RunEvent::Noted { step, value, .. }) => format!("note {step} {value}"),
        Action::Note(other) => panic!("{other:?} is no note"),
        Action::Begin(_, work) => format!("begin {}#{}", work.key.step, work.key.attempt),
        Action::Resume(work) => format!("resume {}#{}", work.key.step, work.key.attempt),
        Action::Recall(key, _) => format!("recall {}#{}", key.step, key.attempt),
        Action::WakeAt(at_ms) => format!("wake {at_ms}"),
        Action::Stop(outcome) => format!("stop {}", outcome_words(outcome)),
        Action::Conclude(outcome) => format!("conclude {}", outcome_words(outcome)),
    };
    actions.iter().map(word).collect()
}

fn outcome_words(outcome: &RunOutcome) -> String {
    match outcome {
        RunOutcome::Completed { text, .. } => format!("completed: {text}"),
        RunOutcome::Failed { error } => format!("failed: {error}"),
        RunOutcome::Cancelled { reason } => format!("cancelled: {reason}"),
    }
}
