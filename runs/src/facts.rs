//! Current state of a run: the fold of its journal.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;

use crate::{
    budget::{Account, Budget, Spent},
    changed::{self, RecordedStep},
    effect::{Effect, EffectFailure, Step},
    event::{RunEvent, RunOutcome, RunStarted, StepRequest, StepResult},
    id::StepId,
};

/// Current state of a run, computed from its events.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    started: Option<RunStarted>,
    steps: BTreeMap<StepId, Record>,
    /// The steps in flight.
    out: BTreeSet<StepId>,
    observed: BTreeMap<StepId, Arc<Value>>,
    last_observed: Option<StepId>,
    noted: BTreeMap<StepId, Value>,
    account: Account,
    stopping: Option<RunOutcome>,
    ended: Option<RunOutcome>,
    #[cfg(test)]
    looks: Lookups,
}

/// Counts lookups in tests.
#[cfg(test)]
#[derive(Debug, Default)]
struct Lookups(std::sync::atomic::AtomicUsize);

#[cfg(test)]
impl Clone for Lookups {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Record of a step's last attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) attempt: u32,
    pub(crate) what: StepRequest,
    pub(crate) grant: Budget,
    pub(crate) deadline_ms: Option<u64>,
    /// Result and time of return.
    pub(crate) result: Option<(StepResult, u64)>,
}

impl Record {
    /// True if the record belongs to this step: a decision applies only to the approval that was shown.
    pub(crate) fn is_about(&self, step: &Step) -> bool {
        match (&step.effect, &self.what) {
            (Effect::Approve(wanted), StepRequest::ApprovalAsked(asked)) => {
                wanted.digest == asked.digest
            }
            _ => true,
        }
    }
}

impl Facts {
    /// Folds these events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a RunEvent>) -> Self {
        let mut facts = Self::default();
        for event in events {
            facts.apply(event);
        }
        facts
    }

    /// Applies an event. Facts change only here.
    pub fn apply(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started(started) => {
                self.account = Account::new(started.budget);
                self.started = Some(started.clone());
            }
            RunEvent::Observed {
                step,
                value,
                same_as,
                ..
            } => self.observe(step, value.as_ref(), same_as.as_ref()),
            RunEvent::StepBegun {
                step,
                attempt,
                what,
                grant,
                deadline_ms,
                ..
            } => {
                self.account.reserve(step.clone(), *grant);
                let record = Record {
                    attempt: *attempt,
                    what: what.clone(),
                    grant: *grant,
                    deadline_ms: *deadline_ms,
                    result: None,
                };
                self.out.insert(step.clone());
                self.steps.insert(step.clone(), record);
            }
            RunEvent::StepEnded {
                step,
                attempt,
                result,
                spent,
                at_ms,
            } => {
                let record = self.steps.get_mut(step);
                let is_out = |r: &&mut Record| r.attempt == *attempt && r.result.is_none();
                if let Some(record) = record.filter(is_out) {
                    self.account.settle(step, *spent);
                    // A fork begins with results from before it began: its pauses and time limits count from its own beginning.
                    let begun_ms = self.started.as_ref().map_or(0, |started| started.at_ms);
                    record.result = Some((result.clone(), begun_ms.max(*at_ms)));
                    self.out.remove(step);
                }
            }
            RunEvent::Noted { step, value, .. } => {
                self.noted.insert(step.clone(), value.clone());
            }
            // Decisions ignore progress.
            RunEvent::Progressed { .. } => {}
            RunEvent::Stopping { outcome, .. } => self.stopping = Some(outcome.clone()),
            RunEvent::Ended { outcome, .. } => self.ended = Some(outcome.clone()),
        }
    }

    fn observe(&mut self, step: &StepId, value: Option<&Value>, same_as: Option<&StepId>) {
        let earlier = same_as.and_then(|step| self.observed.get(step)).cloned();
        let seen = value.cloned().map(Arc::new).or(earlier).unwrap_or_default();
        self.observed.insert(step.clone(), seen);
        self.last_observed = Some(step.clone());
    }

    /// The event that journals an observation.
    pub(crate) fn observation(&self, step: StepId, value: Value, at_ms: u64) -> RunEvent {
        let last = self.last_observed.as_ref();
        let same_as = last
            .filter(|last| self.observed.get(*last).is_some_and(|v| **v == value))
            .cloned();
        RunEvent::Observed {
            step,
            value: same_as.is_none().then_some(value),
            same_as,
            at_ms,
        }
    }

    /// Counts a lookup, in tests of the cost of a decision.
    fn look_up(&self) {
        #[cfg(test)]
        self.looks
            .0
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn looks(&self) -> usize {
        self.looks.0.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// The first event.
    pub fn started(&self) -> Option<&RunStarted> {
        self.started.as_ref()
    }

    /// Input of the strategy.
    pub fn input(&self) -> &Value {
        self.started.as_ref().map_or(&Value::Null, |s| &s.input)
    }

    /// Observed value of a query.
    pub fn observed(&self, step: &StepId) -> Option<&Value> {
        self.look_up();
        self.observed.get(step).map(|value| &**value)
    }

    /// Value of a note, once journaled.
    pub fn noted(&self, step: &StepId) -> Option<&Value> {
        self.look_up();
        self.noted.get(step)
    }

    /// All notes that are journaled.
    pub fn notes(&self) -> impl Iterator<Item = (&StepId, &Value)> {
        self.noted.iter()
    }

    /// Result of a step; `None` while it is in flight, waits for another attempt, or has not begun. A decision about
    /// other arguments is no result, nor is the result of another call or handoff under the same name: a run that
    /// requests those ends.
    pub fn result(&self, step: &Step) -> Option<&StepResult> {
        self.look_up();
        let record = self.steps.get(&step.id).filter(|r| r.is_about(step))?;
        if !changed::fits(RecordedStep::Begun(&record.what), &step.effect) {
            return None;
        }
        let (result, _) = record.result.as_ref()?;
        match result {
            StepResult::Failed(EffectFailure {
                is_retryable: true, ..
            }) if record.attempt < step.retry.attempts => None,
            result => Some(result),
        }
    }

    /// True once the step with this name has begun, or one within it, such as an item of a loop.
    pub fn has_begun(&self, step: &StepId) -> bool {
        self.look_up();
        let within = format!("{step}/");
        let mut behind = self.steps.range(StepId::new(within.as_str())..);
        let first = behind.next();
        self.steps.contains_key(step)
            || first.is_some_and(|(id, _)| id.as_str().starts_with(&within))
    }

    /// Time when the last attempt at a step returned, in milliseconds since 1970.
    pub fn ended_ms(&self, step: &Step) -> Option<u64> {
        self.look_up();
        let (_, at_ms) = self.steps.get(&step.id)?.result.as_ref()?;
        Some(*at_ms)
    }

    /// The journal's record under the step's name.
    pub(crate) fn recorded(&self, step: &Step) -> Option<RecordedStep<'_>> {
        self.look_up();
        let looked = self.observed.get(&step.id).map(|_| RecordedStep::Look);
        let noted = self.noted.get(&step.id).map(|_| RecordedStep::Note);
        let begun = self
            .steps
            .get(&step.id)
            .map(|r| RecordedStep::Begun(&r.what));
        looked.or(noted).or(begun)
    }

    pub(crate) fn record(&self, step: &StepId) -> Option<&Record> {
        self.look_up();
        self.steps.get(step)
    }

    /// The steps in flight.
    pub(crate) fn open(&self) -> impl Iterator<Item = (&StepId, &Record)> {
        let out = self.out.iter().inspect(|_| self.look_up());
        out.filter_map(|step| self.steps.get_key_value(step))
    }

    /// The steps in flight with their requests.
    pub fn in_flight(&self) -> impl Iterator<Item = (&StepId, &StepRequest)> {
        self.open().map(|(step, record)| (step, &record.what))
    }

    /// Budget of the run, with spent and reserved amounts.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Resources used so far.
    pub fn spent(&self) -> Spent {
        self.account.spent()
    }

    /// Deadline of the run.
    pub fn deadline_ms(&self) -> Option<u64> {
        let started = self.started.as_ref()?;
        let by_budget = started
            .budget
            .time_ms
            .map(|t| started.at_ms.saturating_add(t));
        match (started.deadline_ms, by_budget) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Time from the beginning of the run to its deadline.
    pub fn time_given(&self) -> Option<Duration> {
        let began = self.started.as_ref()?.at_ms;
        let given = self.deadline_ms()?.saturating_sub(began);
        Some(Duration::from_millis(given))
    }

    /// The decided outcome, while the run waits for its steps in flight.
    pub fn stopping(&self) -> Option<&RunOutcome> {
        self.stopping.as_ref()
    }

    /// The final outcome.
    pub fn ended(&self) -> Option<&RunOutcome> {
        self.ended.as_ref()
    }
}
