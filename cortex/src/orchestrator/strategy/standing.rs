//! State of a run between two decisions: at the beginning of the turn that is not over. Turns that are over are not played again.

use std::collections::BTreeMap;

use agenthub_sdk::runs::Facts;
use serde_json::Value;

use super::{
    super::{
        handoff::Instructions,
        kept::{Input, PlanningContext, Reached, Work},
    },
    Play,
};

/// State of a run, without its facts.
pub(super) struct Standing {
    turn: u32,
    input: Input,
    told: Instructions,
    material: Value,
    thread: Value,
    begun_with: PlanningContext,
    reached: Reached,
    phase: &'static str,
    asks_for_more: bool,
    has_generated: bool,
}

/// The fields that a turn changes before it is over, as they were when it began. Everything else changes with the end of a turn.
pub(super) struct TurnStart {
    steps: BTreeMap<String, Work>,
    depth: u32,
    phase: &'static str,
    asks_for_more: bool,
    has_generated: bool,
}

impl Standing {
    /// Goes on from here with what happened since.
    pub(super) fn go_on(self, facts: &Facts) -> Play<'_> {
        Play {
            facts,
            turn: self.turn,
            input: self.input,
            told: self.told,
            material: self.material,
            thread: self.thread,
            begun_with: self.begun_with,
            reached: self.reached,
            phase: self.phase,
            asks_for_more: self.asks_for_more,
            has_generated: self.has_generated,
        }
    }
}

impl Play<'_> {
    pub(super) fn began(&self) -> TurnStart {
        TurnStart {
            steps: self.reached.steps.clone(),
            depth: self.reached.depth,
            phase: self.phase,
            asks_for_more: self.asks_for_more,
            has_generated: self.has_generated,
        }
    }

    /// Stands again where the turn began that is not over.
    pub(super) fn back_at(self, began: TurnStart) -> Standing {
        Standing {
            turn: self.turn,
            input: self.input,
            told: self.told,
            material: self.material,
            thread: self.thread,
            begun_with: self.begun_with,
            reached: Reached {
                steps: began.steps,
                depth: began.depth,
                ..self.reached
            },
            phase: began.phase,
            asks_for_more: began.asks_for_more,
            has_generated: began.has_generated,
        }
    }
}
