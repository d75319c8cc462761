//! Forks: a run that begins with what another run had recorded up to one of its events.
//!
//! The results that were recorded by then are reused. Steps that were in flight are left out: the fork asks for them anew, under keys of its
//! own. A person's yes to something that had not been sent by then is left out as well, so that the person is asked again.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    approval::{Approval, Decision},
    changed,
    event::{RunEvent, RunStarted, StepRequest, StepResult},
    facts::Facts,
    id::{RunId, StepId},
    journal::Entry,
    strategy::{Next, Strategy},
};

/// The reason why a run cannot be forked there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    /// The run has no such event.
    #[error("there is no event {at}: the run has {last}")]
    NoEvent {
        /// The number that was given.
        at: u64,
        /// Number of the run's last event.
        last: u64,
    },
    /// The run was decided by then.
    #[error(
        "event {at} belongs to the end of the run, behind which nothing comes: fork at event {latest} or earlier"
    )]
    Over {
        /// The number that was given.
        at: u64,
        /// The latest event at which the run can be forked.
        latest: u64,
    },
    /// Recorded answers of the model are answers to another input.
    #[error(
        "the model was asked {step} with the input that the run has: with another input, fork at event {latest} or earlier"
    )]
    Asked {
        /// The question.
        step: StepId,
        /// The event before the question.
        latest: u64,
    },
    /// A recorded step got something else than it would get now.
    #[error(
        "step {step} got {recorded} and would get {asked} now: fork at event {latest} or earlier"
    )]
    Changed {
        /// The step.
        step: StepId,
        /// Its recorded request.
        recorded: String,
        /// The request of the fork.
        asked: String,
        /// The event before the step began.
        latest: u64,
    },
}

/// A fork that has not begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Fork {
    /// Its first events, in order.
    pub events: Vec<RunEvent>,
    /// Number in the other run of the event with which each reused step first began.
    begun: BTreeMap<StepId, u64>,
}

impl Fork {
    /// The fork `id` of the run `source` at its event number `at`, which begins so. `entries` are the run's events up to there at least; progress
    /// may be left out.
    ///
    /// # Errors
    ///
    /// [`ForkError::NoEvent`], [`ForkError::Over`].
    pub fn at(
        entries: &[Entry],
        at: u64,
        id: &RunId,
        started: RunStarted,
    ) -> Result<Self, ForkError> {
        let last = entries.last().map_or(0, |entry| entry.seq);
        if at == 0 || at > last {
            return Err(ForkError::NoEvent { at, last });
        }
        let before = || entries.iter().take_while(|entry| entry.seq <= at);
        let end = before().find(|entry| {
            matches!(
                entry.event,
                RunEvent::Stopping { .. } | RunEvent::Ended { .. }
            )
        });
        if let Some(end) = end {
            let latest = end.seq - 1;
            return Err(ForkError::Over { at, latest });
        }
        let recorded: Vec<&Entry> = before().filter(|entry| is_reused(&entry.event)).collect();
        let left_out = left_out(&recorded);
        let mut fork = Self {
            events: vec![RunEvent::Started(started)],
            begun: BTreeMap::new(),
        };
        let mut renamed = BTreeMap::new();
        for Entry { seq, event } in recorded {
            if attempt(event).is_some_and(|key| left_out.contains(&key)) {
                continue;
            }
            let event = of_fork(event, id, &mut renamed);
            if let RunEvent::StepBegun { step, .. } = &event {
                fork.begun.entry(step.clone()).or_insert(*seq);
            }
            fork.events.push(event);
        }
        Ok(fork)
    }

    /// Checks that the reused steps got what the strategy would give them. `has_other_input` says that the fork has another input than the run.
    ///
    /// # Errors
    ///
    /// [`ForkError::Asked`], [`ForkError::Changed`].
    pub fn check(&self, strategy: &dyn Strategy, has_other_input: bool) -> Result<(), ForkError> {
        let question = self.events.iter().find_map(|event| match event {
            RunEvent::StepBegun {
                step,
                what: StepRequest::ModelAsked { .. },
                ..
            } => Some(step),
            _ => None,
        });
        if let Some(step) = question.filter(|_| has_other_input) {
            return Err(ForkError::Asked {
                step: step.clone(),
                latest: self.latest_without(step),
            });
        }
        let facts = Facts::of(&self.events);
        let Next::Steps(steps) = strategy.next(&facts) else {
            return Ok(());
        };
        match changed::first_changed(&facts, &steps) {
            None => Ok(()),
            Some(changed) => Err(ForkError::Changed {
                latest: self.latest_without(&changed.step),
                step: changed.step,
                recorded: changed.recorded,
                asked: changed.asked,
            }),
        }
    }

    fn latest_without(&self, step: &StepId) -> u64 {
        let begun = self.begun.get(step).copied().unwrap_or(2);
        begun.saturating_sub(1).max(1)
    }
}

type Attempt = (StepId, u32);

fn is_reused(event: &RunEvent) -> bool {
    !matches!(event, RunEvent::Started(_) | RunEvent::Progressed { .. })
}

fn attempt(event: &RunEvent) -> Option<Attempt> {
    match event {
        RunEvent::StepBegun { step, attempt, .. } | RunEvent::StepEnded { step, attempt, .. } => {
            Some((step.clone(), *attempt))
        }
        _ => None,
    }
}

/// The attempts that had not returned, and the questions to people whose yes had not been used.
fn left_out(recorded: &[&Entry]) -> BTreeSet<Attempt> {
    let ended: BTreeSet<Attempt> = recorded
        .iter()
        .filter(|entry| matches!(entry.event, RunEvent::StepEnded { .. }))
        .filter_map(|entry| attempt(&entry.event))
        .collect();
    let mut left_out = BTreeSet::new();
    for Entry { event, .. } in recorded {
        let Some(key) = attempt(event).filter(|_| matches!(event, RunEvent::StepBegun { .. }))
        else {
            continue;
        };
        let is_unused = |approval: &Approval| {
            is_allowed(recorded, &key) && !is_used(recorded, &ended, &key, approval)
        };
        let is_left_out = match event {
            _ if !ended.contains(&key) => true,
            RunEvent::StepBegun {
                what: StepRequest::ApprovalAsked(approval),
                ..
            } => is_unused(approval),
            _ => false,
        };
        if is_left_out {
            left_out.insert(key);
        }
    }
    left_out
}

fn is_allowed(recorded: &[&Entry], question: &Attempt) -> bool {
    recorded.iter().any(|entry| match &entry.event {
        RunEvent::StepEnded {
            result: StepResult::Decided(Decision { approved, .. }),
            ..
        } => *approved && attempt(&entry.event).as_ref() == Some(question),
        _ => false,
    })
}

/// True if what the approval permits was sent after it was asked, and came back. One that names no agent permits nothing by itself.
fn is_used(
    recorded: &[&Entry],
    ended: &BTreeSet<Attempt>,
    question: &Attempt,
    approval: &Approval,
) -> bool {
    let is_question = |entry: &&&Entry| attempt(&entry.event).as_ref() == Some(question);
    let asked = recorded.iter().find(is_question).map(|entry| entry.seq);
    approval.agent.is_empty()
        || recorded.iter().any(|entry| match &entry.event {
            RunEvent::StepBegun { step, what, .. } if Some(entry.seq) > asked => {
                let is_permitted = match what {
                    StepRequest::ToolCalled(call) => {
                        step.as_str() == approval.subject && call.arguments == approval.arguments
                    }
                    StepRequest::Delegated(sent) => {
                        let sent = &sent.handoff;
                        sent.agent == approval.agent
                            && sent.capability == approval.capability
                            && sent.payload.as_ref() == Some(&approval.arguments)
                    }
                    _ => false,
                };
                is_permitted && attempt(&entry.event).is_some_and(|key| ended.contains(&key))
            }
            _ => false,
        })
}

/// The event as the fork has it: approvals show the run whose they are.
fn of_fork(event: &RunEvent, id: &RunId, renamed: &mut BTreeMap<StepId, StepId>) -> RunEvent {
    let mut event = event.clone();
    match &mut event {
        RunEvent::StepBegun {
            step,
            what: StepRequest::ApprovalAsked(asked),
            ..
        } => {
            let again = Approval::new(
                id.as_str(),
                asked.subject.clone(),
                asked.agent.clone(),
                asked.capability.clone(),
                asked.arguments.clone(),
            );
            if let Some(start) = step.as_str().strip_suffix(&*asked.id) {
                let name = StepId::new(format!("{start}{}", again.id));
                renamed.insert(std::mem::replace(step, name.clone()), name);
            }
            *asked = again;
        }
        RunEvent::StepEnded { step, .. } => {
            if let Some(name) = renamed.get(step) {
                step.clone_from(name);
            }
        }
        _ => {}
    }
    event
}
