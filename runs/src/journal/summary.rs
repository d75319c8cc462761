//! Summary of a run for lists, stored beside its events, so that lists read none of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Entry, State};
use crate::{
    budget::{Budget, Spent},
    event::{RunEvent, StepRequest},
    id::StepId,
};

/// Maximum bytes of a phase's name.
const LONGEST_PHASE: usize = 64;

/// State of a run without its content: a fold that the journal updates with every append. Later releases read it back:
/// fields are added, never renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Total resources used, as [`Facts::spent`](crate::Facts::spent).
    pub spent: Spent,
    /// The decided outcome's state, while steps are still in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopping: Option<State>,
    /// The `phase` of the latest note or progress.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// The `data.round` of the latest note.
    pub round: u32,
    /// The principal on whose behalf the run is, as [`RunStarted::on_behalf_of`](crate::RunStarted::on_behalf_of).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub on_behalf_of: String,
    /// True if another task led to the run, as [`RunStarted::is_part`](crate::RunStarted::is_part).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// Step of the latest question to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<StepId>,
    /// The steps in flight.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    out: BTreeMap<StepId, InFlight>,
}

/// A step in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct InFlight {
    attempt: u32,
    grant: Budget,
    /// Sequence number of the event, for an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<u64>,
}

impl Summary {
    /// Folds these events, from the first one on.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut summary = Self::default();
        for Entry { seq, event } in entries {
            summary.apply(*seq, &Change::of(event));
        }
        summary
    }

    /// Sequence numbers of the approvals without a decision.
    pub fn pending_approvals(&self) -> impl Iterator<Item = u64> {
        self.out.values().filter_map(|out| out.asks)
    }

    /// True if an approval has no decision.
    pub fn asks(&self) -> bool {
        self.pending_approvals().next().is_some()
    }

    /// Applies the change of the event with this sequence number.
    pub(super) fn apply(&mut self, seq: u64, change: &Change) {
        match change {
            Change::Nothing => {}
            Change::Starts { principal, is_part } => {
                self.on_behalf_of.clone_from(principal);
                self.is_part = *is_part;
            }
            Change::Begins(step, out, asks) => {
                if *asks == Some(Recipient::Model) {
                    self.question = Some(step.clone());
                }
                let asks = (*asks == Some(Recipient::Person)).then_some(seq);
                self.out.insert(step.clone(), InFlight { asks, ..*out });
            }
            Change::Ends(step, attempt, spent) => {
                if self.out.get(step).is_some_and(|o| o.attempt == *attempt)
                    && let Some(out) = self.out.remove(step)
                {
                    let spent = spent.unwrap_or_else(|| out.grant.whole());
                    self.spent = self.spent.plus(spent);
                }
            }
            Change::Names { phase, round } => {
                if let Some(phase) = phase {
                    self.phase.clone_from(phase);
                }
                self.round = round.unwrap_or(self.round);
            }
            Change::Stops(state) => self.stopping = Some(*state),
            Change::Over => self.out.clear(),
        }
    }
}

/// An event's change to the summary of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    Starts {
        principal: String,
        is_part: bool,
    },
    Begins(StepId, InFlight, Option<Recipient>),
    Ends(StepId, u32, Option<Spent>),
    Names {
        phase: Option<String>,
        round: Option<u32>,
    },
    Stops(State),
    Over,
}

/// Recipient of a step's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recipient {
    Model,
    Person,
}

impl Change {
    pub(super) fn of(event: &RunEvent) -> Self {
        match event {
            RunEvent::Started(started) => match (started.on_behalf_of(), started.is_part()) {
                ("", false) => Self::Nothing,
                (principal, is_part) => Self::Starts {
                    principal: principal.to_owned(),
                    is_part,
                },
            },
            RunEvent::Observed { .. } => Self::Nothing,
            RunEvent::StepBegun {
                step,
                attempt,
                what,
                grant,
                ..
            } => {
                let out = InFlight {
                    attempt: *attempt,
                    grant: *grant,
                    asks: None,
                };
                let asks = match what {
                    StepRequest::ModelAsked { .. } => Some(Recipient::Model),
                    StepRequest::ApprovalAsked(_) => Some(Recipient::Person),
                    _ => None,
                };
                Self::Begins(step.clone(), out, asks)
            }
            RunEvent::StepEnded {
                step,
                attempt,
                spent,
                ..
            } => Self::Ends(step.clone(), *attempt, *spent),
            RunEvent::Noted { value, .. } => {
                let round = value["data"]["round"].as_u64();
                Self::Names {
                    phase: phase(value),
                    round: round.map(|round| u32::try_from(round).unwrap_or(u32::MAX)),
                }
            }
            RunEvent::Progressed { value, .. } => match phase(value) {
                None => Self::Nothing,
                phase => Self::Names { phase, round: None },
            },
            RunEvent::Stopping { outcome, .. } => Self::Stops(State::of(outcome)),
            RunEvent::Ended { .. } => Self::Over,
        }
    }
}

fn phase(value: &Value) -> Option<String> {
    let phase = value["phase"].as_str().filter(|phase| !phase.is_empty());
    phase.map(|phase| phase[..phase.floor_char_boundary(LONGEST_PHASE)].to_owned())
}
