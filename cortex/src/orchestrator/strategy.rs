//! The next effect of an app run.
//!
//! Plan, then one step after the other, then the end: each turn looks who is here, asks the model, and has done what it proposes, if that is
//! allowed. What is not allowed goes back to the model with the reason, at most twice; then the run ends with what there is, and says why.
//!
//! Decisions that depend on more than the journal's order (what a budget still allows) are journaled as notes, which are also what those who
//! watch see; a run that is taken up reads them there and does not decide them again.

mod closing;
mod deciding;
mod handing_over;
mod made;
mod standing;

pub(crate) use closing::scores;

use agenthub_sdk::runs::{Effect, Facts, Memory, Next, RunOutcome, Step, StepId, Strategy};
use serde::Deserialize;
use serde_json::{Value, json};

use self::{
    deciding::Accepted,
    standing::{Standing, TurnStart},
};
use super::{
    criteria,
    handoff::Instructions,
    kept::{Input, PlanningContext, Query, Reached, WorkState},
    note,
    prompt::RULES,
    proposal::Ending,
    rules::{GENERATION, Situation},
};

/// The most earlier results that specialists are given to learn from.
const MAX_PERFORMANCE: usize = 200;

/// The field by which specialists know past performance.
const PRIOR_PERFORMANCE: &str = "priorPerformance";

/// The strategy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Orchestrator;

impl Orchestrator {
    /// Its name in journals.
    pub const NAME: &str = "orchestrator";
}

impl Strategy for Orchestrator {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn next(&self, facts: &Facts) -> Next {
        self.advance(facts, &mut Memory::default())
    }

    fn advance(&self, facts: &Facts, memory: &mut Memory) -> Next {
        let play = match memory.take::<Standing>() {
            Some(standing) => Ok(standing.go_on(facts)),
            None => Play::of(facts),
        };
        match play {
            Ok(mut play) => {
                let (next, began) = play.run();
                memory.leave(play.back_at(began));
                next
            }
            Err(outcome) => Next::Finish(outcome),
        }
    }

    fn cut_short(&self, facts: &Facts, error: &str) -> RunOutcome {
        match Play::of(facts) {
            Ok(mut play) => {
                play.run();
                play.cut_short(error)
            }
            Err(outcome) => outcome,
        }
    }
}

/// State of an app run.
pub fn reached(facts: &Facts) -> Reached {
    match Play::of(facts) {
        Ok(mut play) => {
            play.run();
            play.reached
        }
        Err(_) => Reached::default(),
    }
}

/// A run, played from its beginning or from a turn that is not over.
struct Play<'a> {
    facts: &'a Facts,
    /// From 1.
    turn: u32,
    input: Input,
    told: Instructions,
    /// The payload, and what the constraints add to it.
    material: Value,
    thread: Value,
    begun_with: PlanningContext,
    reached: Reached,
    phase: &'static str,
    /// True if a review asks for more than there is.
    asks_for_more: bool,
    has_generated: bool,
}

impl<'a> Play<'a> {
    fn of(facts: &'a Facts) -> Result<Self, RunOutcome> {
        let mut input = Input::deserialize(facts.input()).map_err(|error| {
            RunOutcome::failed(format!("the run's input cannot be read: {error}"))
        })?;
        let asked = &mut input.brief.constraints.acceptance_criteria;
        *asked = criteria::named(asked);
        Ok(Self {
            facts,
            turn: 1,
            told: Instructions::new(&input.run, RULES),
            input,
            material: Value::Null,
            thread: Value::Null,
            begun_with: PlanningContext::default(),
            reached: Reached::default(),
            phase: "",
            asks_for_more: false,
            has_generated: false,
        })
    }

    /// The next effect, and the state at the beginning of its turn.
    fn run(&mut self) -> (Next, TurnStart) {
        loop {
            let began = self.began();
            match self.turn(self.turn) {
                Ok(()) => self.turn += 1,
                Err(next) => return (next, began),
            }
        }
    }

    /// Goes through a turn that is over; otherwise the error is what is to be done.
    fn turn(&mut self, turn: u32) -> Result<(), Next> {
        #[cfg(test)]
        tests::PLAYED.with(|played| played.set(played.get() + 1));
        if turn == 1 {
            self.enter(turn, note::PLANNING)?;
        }
        let seen = self.look(turn)?;
        if let Some(why) = &seen.unreadable {
            return Err(Next::Finish(RunOutcome::failed(why)));
        }
        if turn > self.max_turns() {
            let why = format!("the run has had its {} turns", self.max_turns());
            return Err(self.close(turn, &Ending::default(), Some(&why)));
        }
        match self.decide(turn, &seen)? {
            Accepted::Plan => Ok(()),
            Accepted::Handover(handover) => self.hand_over(turn, &seen, *handover),
            Accepted::Final(ending, explanation) => {
                Err(self.close(turn, &ending, explanation.as_deref()))
            }
            Accepted::Nothing(why) => {
                let why = format!("the orchestrator proposed nothing that is allowed: {why}");
                Err(self.close(turn, &Ending::default(), Some(&why)))
            }
        }
    }

    fn max_turns(&self) -> u32 {
        self.input.brief.constraints.max_turns()
    }

    /// Writes something down for those who watch, unless that was done.
    fn note(&self, name: &str, value: Value) -> Result<(), Next> {
        match self.facts.noted(&StepId::new(name)) {
            Some(_) => Ok(()),
            None => Err(Next::Steps(vec![Step::new(name, Effect::Note(value))])),
        }
    }

    fn enter(&mut self, turn: u32, phase: &'static str) -> Result<(), Next> {
        if self.phase == phase {
            return Ok(());
        }
        self.note(&format!("phase-{turn}-{phase}"), note::phase(phase))?;
        self.phase = phase;
        Ok(())
    }

    fn look(&mut self, turn: u32) -> Result<PlanningContext, Next> {
        let begins = turn == 1;
        let series = self.input.brief.series.clone();
        let query = Query {
            begins,
            resumes: self.input.resumes.clone().filter(|_| begins),
            series: series.unwrap_or_default(),
        };
        let step = Step::new(format!("look-{turn}"), Effect::Look(json!(query)));
        let Some(seen) = self.facts.observed(&step.id) else {
            return Err(Next::Steps(vec![step]));
        };
        let seen = PlanningContext::deserialize(seen).unwrap_or_default();
        if begins {
            self.begin(&seen);
        }
        Ok(seen)
    }

    /// Takes in what stays the same for the whole run.
    fn begin(&mut self, seen: &PlanningContext) {
        let brief = &self.input.brief;
        let constraints = &brief.constraints;
        let mut material = brief.payload.clone();
        material.insert(
            "qualityThreshold".into(),
            constraints.quality_threshold().into(),
        );
        if !constraints.acceptance_criteria.is_empty() {
            let criteria = constraints.acceptance_criteria.clone();
            material.insert("acceptanceCriteria".into(), criteria.into());
        }
        if !seen.performance.is_empty() {
            let given = material.remove(PRIOR_PERFORMANCE);
            let mut all = given
                .as_ref()
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            all.extend(seen.performance.iter().take(MAX_PERFORMANCE).cloned());
            material.insert(PRIOR_PERFORMANCE.into(), all.into());
        }
        self.material = material.into();
        self.thread = seen.thread.clone().into();
        if let Some(reached) = &seen.reached {
            self.reached = resumed(reached.clone());
            self.asks_for_more = self.last_review_asks_for_more();
        }
        self.begun_with = seen.clone();
    }

    fn situation<'s>(&'s self, turn: u32, seen: &'s PlanningContext) -> Situation<'s> {
        Situation {
            told: &self.told,
            objective: &self.input.brief.objective,
            input: &self.material,
            thread: &self.thread,
            constraints: &self.input.brief.constraints,
            offers: &seen.offers,
            reached: &self.reached,
            asks_for_more: self.asks_for_more,
            turns_left: self.turns_left(turn),
            insists: false,
        }
    }

    fn turns_left(&self, turn: u32) -> u32 {
        self.max_turns().saturating_sub(turn) + 1
    }
}

/// The state of another run, for one that goes on from there: what was out then can go out again.
fn resumed(mut reached: Reached) -> Reached {
    reached
        .steps
        .retain(|_, work| matches!(work.state, WorkState::Completed | WorkState::Skipped));
    let made = reached
        .steps
        .values()
        .filter(|work| work.phase == GENERATION);
    reached.depth = made.map(|work| work.depth).max().unwrap_or(0);
    reached
}

#[cfg(test)]
mod tests;
