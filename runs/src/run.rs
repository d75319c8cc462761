//! The next actions of a run.
//!
//! Combines the steps that the strategy wants with those in flight, their results, the budget, the deadline and a
//! request to stop. Nothing here waits, reads a clock or acts: [`driver`](crate::driver) does.

use std::collections::{HashMap, HashSet};

use crate::{
    approval::Approval,
    begin::{self, BeginError},
    budget::Account,
    changed,
    effect::{Effect, SentHandoff, Step},
    event::{RunEvent, RunOutcome, StepRequest},
    facts::{Facts, Record},
    id::{RunId, StepId, StepKey},
    model::{Request, ToolCall},
    strategy::{Memory, Next, Strategy},
};

/// An action for the driver.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "few at a time, and short-lived")]
pub enum Action {
    /// ToolQuery the world, and journal the observation.
    Look(StepId, serde_json::Value),
    /// Journal a note.
    Note(RunEvent),
    /// Journal the dispatch of a step, then dispatch it.
    Begin(RunEvent, Work),
    /// Redispatch a step that was in flight when the run was recovered; no action if this driver has it in flight
    /// itself.
    Resume(Work),
    /// Recall a step in flight.
    Recall(StepKey, StepRequest),
    /// Decide again at this time, at the latest.
    WakeAt(u64),
    /// Journal the decided outcome.
    Stop(RunOutcome),
    /// Report the outcome to the requester, then journal the end.
    Conclude(RunOutcome),
}

/// A step to dispatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Key of the attempt.
    pub key: StepKey,
    /// Request to send.
    pub what: Outgoing,
    /// Deadline of the attempt.
    pub deadline_ms: Option<u64>,
}

/// A request to send.
#[derive(Clone, Debug, PartialEq)]
pub enum Outgoing {
    /// A question to the model.
    Ask(Box<Request>),
    /// A call of a tool.
    Call(ToolCall),
    /// Work for an agent.
    Delegate(SentHandoff),
    /// A message to the requester.
    Say(String),
    /// A wait until this time, in milliseconds since 1970.
    Wait(u64),
    /// A request for a person's approval.
    Approve(Approval),
}

/// The next actions of a run, in order; empty once it has ended. If there is nothing to do but wait, the work in flight
/// is returned. At most `max_open` steps are in flight.
pub fn next(
    run: &RunId,
    facts: &Facts,
    strategy: &dyn Strategy,
    now_ms: u64,
    max_open: usize,
) -> Vec<Action> {
    advance(
        run,
        facts,
        (strategy, &mut Memory::default()),
        now_ms,
        max_open,
    )
}

/// Like [`next`], with the strategy's cached state of its last decision.
pub fn advance(
    run: &RunId,
    facts: &Facts,
    (strategy, memory): (&dyn Strategy, &mut Memory),
    now_ms: u64,
    max_open: usize,
) -> Vec<Action> {
    if facts.ended().is_some() || facts.started().is_none() {
        return Vec::new();
    }
    if let Some(outcome) = facts.stopping() {
        return wind_up(run, facts, outcome);
    }
    let deadline = facts.deadline_ms();
    if deadline.is_some_and(|deadline| deadline <= now_ms) {
        let given = facts.time_given().unwrap_or_default();
        let why = format!("the time for it, {given:?}, is over");
        return vec![Action::Stop(strategy.cut_short(facts, &why))];
    }
    let steps = match strategy.advance(facts, memory) {
        Next::Finish(outcome) => return vec![Action::Stop(outcome)],
        Next::Steps(steps) => steps,
    };
    if let Some(changed) = changed::first_changed(facts, &steps) {
        return vec![Action::Stop(RunOutcome::failed(changed.to_string()))];
    }
    let mut actions = match Deciding::new(run, facts, now_ms, max_open).decide(steps) {
        Ok(actions) => actions,
        Err(refused) => {
            let outcome = strategy.cut_short(facts, &refused.to_string());
            return vec![Action::Stop(outcome)];
        }
    };
    if actions.is_empty() {
        let error = format!("the strategy {} waits for nothing", strategy.name());
        return vec![Action::Stop(RunOutcome::Failed { error })];
    }
    actions.extend(deadline.map(Action::WakeAt));
    actions
}

/// Recalls the steps in flight, then concludes the run.
fn wind_up(run: &RunId, facts: &Facts, outcome: &RunOutcome) -> Vec<Action> {
    let open: Vec<Action> = facts
        .open()
        .map(|(step, record)| recall(run, step, record))
        .collect();
    match open.is_empty() {
        true => vec![Action::Conclude(outcome.clone())],
        false => open,
    }
}

fn recall(run: &RunId, step: &StepId, record: &Record) -> Action {
    Action::Recall(key(run, step, record.attempt), record.what.clone())
}

fn key(run: &RunId, step: &StepId, attempt: u32) -> StepKey {
    StepKey {
        run: run.clone(),
        step: step.clone(),
        attempt,
    }
}

/// State of one round of decisions.
struct Deciding<'a> {
    run: &'a RunId,
    facts: &'a Facts,
    now_ms: u64,
    /// The account, with the reservations of this round.
    account: Account,
    /// Number of further steps that may begin.
    room: usize,
    actions: Vec<Action>,
}

impl<'a> Deciding<'a> {
    fn new(run: &'a RunId, facts: &'a Facts, now_ms: u64, max_open: usize) -> Self {
        Self {
            run,
            facts,
            now_ms,
            account: facts.account().clone(),
            room: max_open.saturating_sub(facts.open().count()),
            actions: Vec::new(),
        }
    }

    /// # Errors
    ///
    /// The remaining budget does not suffice.
    fn decide(mut self, steps: Vec<Step>) -> Result<Vec<Action>, BeginError> {
        self.recall_unwanted(&steps);
        let mut delegations = steps.iter().filter(|s| self.will_delegate(s)).count() as u64;
        let mut decided = HashSet::new();
        for step in steps {
            if !decided.insert(step.id.clone()) {
                continue;
            }
            // The run keeps one share for itself, for processing the answers.
            let parts = delegations + 1;
            delegations -= u64::from(self.will_delegate(&step));
            self.step(step, parts)?;
        }
        Ok(self.actions)
    }

    fn recall_unwanted(&mut self, steps: &[Step]) {
        let wanted: HashMap<&StepId, &Step> = steps.iter().rev().map(|s| (&s.id, s)).collect();
        let is_wanted =
            |id: &StepId, record: &Record| wanted.get(id).is_some_and(|s| record.is_about(s));
        let unwanted = self
            .facts
            .open()
            .filter(|(id, record)| !is_wanted(id, record));
        self.actions
            .extend(unwanted.map(|(step, record)| recall(self.run, step, record)));
    }

    /// True if this step is a delegation that will begin now or in a later round.
    fn will_delegate(&self, step: &Step) -> bool {
        let is_out = |record: &Record| record.result.is_none();
        matches!(step.effect, Effect::Delegate(_))
            && self.facts.result(step).is_none()
            && !self.facts.record(&step.id).is_some_and(is_out)
    }

    /// Decides about one step. `parts` is the number of shares of the free budget.
    fn step(&mut self, step: Step, parts: u64) -> Result<(), BeginError> {
        if let Effect::Look(query) = step.effect {
            if self.facts.observed(&step.id).is_none() {
                self.actions.push(Action::Look(step.id, query));
            }
            return Ok(());
        }
        if let Effect::Note(value) = step.effect {
            if self.facts.noted(&step.id).is_none() {
                let (step, at_ms) = (step.id, self.now_ms);
                self.actions
                    .push(Action::Note(RunEvent::Noted { step, value, at_ms }));
            }
            return Ok(());
        }
        let attempt = match self.facts.record(&step.id) {
            None => 1,
            Some(record) => match &record.result {
                // The outdated approval is recalled; the new one begins after that.
                None if !record.is_about(&step) => return Ok(()),
                None => {
                    let key = key(self.run, &step.id, record.attempt);
                    let work = begin::again(key, step, record, self.now_ms);
                    self.actions.push(Action::Resume(work));
                    return Ok(());
                }
                Some(_) if self.facts.result(&step).is_some() => return Ok(()),
                Some((_, failed_at)) => {
                    let due = failed_at.saturating_add(step.pause_ms(record.attempt));
                    if due > self.now_ms {
                        self.actions.push(Action::WakeAt(due));
                        return Ok(());
                    }
                    record.attempt + 1
                }
            },
        };
        self.begin(step, attempt, parts)
    }

    fn begin(&mut self, step: Step, attempt: u32, parts: u64) -> Result<(), BeginError> {
        if self.room == 0 {
            return Ok(());
        }
        let id = step.id.clone();
        let key = key(self.run, &id, attempt);
        let until = self.facts.deadline_ms();
        let free = self.account.free();
        match begin::first(
            key,
            step,
            &self.account,
            free.divided(parts),
            self.now_ms,
            until,
        ) {
            Ok((event, work, grant)) => {
                self.account.reserve(id, grant);
                self.room -= 1;
                self.actions.push(Action::Begin(event, work));
                Ok(())
            }
            // Steps in flight may release parts of their reservations, so this one waits.
            Err(BeginError::Budget(_)) if self.account.has_reservations() => Ok(()),
            Err(refused) => Err(refused),
        }
    }
}
