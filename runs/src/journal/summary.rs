//! How a run stands, for lists: kept beside its events, so that none of them is read for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Entry, State};
use crate::{
    budget::{Budget, Spent},
    event::{Begun, RunEvent},
    id::StepId,
};

/// The longest name of a phase, in bytes.
const LONGEST_PHASE: usize = 64;

/// How a run stands, without what it works on: the fold of its events that a journal keeps with them. Later releases read it back: fields
/// are added, never renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// What all of it used, as [`Facts::spent`](crate::Facts::spent) has it.
    pub spent: Spent,
    /// How it will end, once that is decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopping: Option<State>,
    /// The `phase` that a note or progress named last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// The `data.round` that a note named last.
    pub round: u32,
    /// The step that asked the model last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<StepId>,
    /// The steps that are out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    out: BTreeMap<StepId, Out>,
}

/// A step that is out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Out {
    attempt: u32,
    grant: Budget,
    /// The place of the event, for a question to a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<u64>,
}

impl Summary {
    /// That of a run with these events, from the first one on.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut summary = Self::default();
        for Entry { seq, event } in entries {
            summary.apply(*seq, &Change::of(event));
        }
        summary
    }

    /// The places of the events that ask a person for something and are not answered.
    pub fn asked(&self) -> impl Iterator<Item = u64> {
        self.out.values().filter_map(|out| out.asks)
    }

    /// Takes in what an event changes, and its place.
    pub(super) fn apply(&mut self, seq: u64, change: &Change) {
        match change {
            Change::Nothing => {}
            Change::Begins(step, out, asks) => {
                if *asks == Some(Asks::Model) {
                    self.question = Some(step.clone());
                }
                let asks = (*asks == Some(Asks::Person)).then_some(seq);
                self.out.insert(step.clone(), Out { asks, ..*out });
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

/// What an event changes in the summary of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    Begins(StepId, Out, Option<Asks>),
    Ends(StepId, u32, Option<Spent>),
    Names {
        phase: Option<String>,
        round: Option<u32>,
    },
    Stops(State),
    Over,
}

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    Model,
    Person,
}

impl Change {
    pub(super) fn of(event: &RunEvent) -> Self {
        match event {
            RunEvent::Started(_) | RunEvent::Observed { .. } => Self::Nothing,
            RunEvent::StepBegun {
                step,
                attempt,
                what,
                grant,
                ..
            } => {
                let out = Out {
                    attempt: *attempt,
                    grant: *grant,
                    asks: None,
                };
                let asks = match what {
                    Begun::ModelAsked { .. } => Some(Asks::Model),
                    Begun::ApprovalAsked(_) => Some(Asks::Person),
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
