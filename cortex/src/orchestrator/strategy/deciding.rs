//! The turn in which the model proposes and the rules allow or refuse.

use std::collections::BTreeSet;

use agenthub_sdk::runs::{
    Effect, Next, RunOutcome, Step, StepId, StepResult,
    model::Request,
    plan::{AdmittedPlan, Fault, Limits, Offer, Plan, StepState, Terms, admit_patch},
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{
        kept::PlanningContext,
        note,
        prompt::{Prompt, Rejected},
        proposal::{self, Action, Ending, Proposal, Refusal},
        rules::{Handover, Situation},
    },
    Play,
};
use crate::chat::history::shorten;

/// Times that the model is asked in one turn, at most.
const TRIES: u32 = 3;

/// The most tokens of a refused answer that the model sees again.
const MAX_REJECTED_TOKENS: usize = 800;

/// A proposal of the model that the rules allow.
pub(super) enum Accepted {
    Plan,
    Handover(Box<Handover>),
    Final(Ending, Option<String>),
    /// No proposal was allowed: why.
    Nothing(String),
}

impl Play<'_> {
    pub(super) fn decide(&mut self, turn: u32, seen: &PlanningContext) -> Result<Accepted, Next> {
        let mut rejected = None;
        let mut last = None;
        let mut impossible: Option<String> = None;
        for attempt in 1..=TRIES {
            let name = match attempt {
                1 => format!("turn-{turn}"),
                attempt => format!("turn-{turn}/try-{attempt}"),
            };
            let step = Step::ask(name, Request::default());
            let answer = match self.facts.result(&step) {
                None => {
                    let request = self.prompt(turn, seen, rejected.as_ref()).request();
                    let effect = Effect::Ask(Box::new(request));
                    return Err(Next::Steps(vec![Step { effect, ..step }]));
                }
                Some(StepResult::ModelAnswered(answer)) => &answer.text,
                Some(failed) => {
                    let why = match failed {
                        StepResult::Failed(failure) => failure.to_string(),
                        _ => "it was not asked to the end".to_owned(),
                    };
                    let error = format!("the orchestrator's model did not answer: {why}");
                    return match self.reached.outputs.is_empty() {
                        true => Err(Next::Finish(RunOutcome::failed(error))),
                        false => Ok(Accepted::Final(Ending::default(), Some(error))),
                    };
                }
            };
            let refused = format!("refused-{turn}-{attempt}");
            let refusal = match self.facts.noted(&StepId::new(&*refused)) {
                Some(noted) => {
                    last = proposal::parse(answer).ok();
                    let text = |field: &str| noted["data"][field].as_str().unwrap_or_default();
                    Refusal::new(text("reason")).advising(text("advice"))
                }
                None => match self.accept(turn, seen, answer, &mut last)? {
                    // What ends with nothing ends for the reason why nothing could be begun.
                    Ok(Accepted::Final(ending, None)) if self.reached.outputs.is_empty() => {
                        let why =
                            impossible.map(|why| format!("the plan could not be begun: {why}"));
                        return Ok(Accepted::Final(ending, why));
                    }
                    Ok(accepted) => return Ok(accepted),
                    Err(refusal) => refusal,
                },
            };
            if !matches!(
                last.as_ref().map(|p: &Proposal| &p.action),
                Some(Action::Final(_))
            ) {
                impossible.get_or_insert_with(|| refusal.reason().to_owned());
            }
            self.note(&refused, note::refused(&refusal))?;
            rejected = Some(Rejected {
                answer: shorten(answer, MAX_REJECTED_TOKENS),
                refusal,
            });
        }
        let why = rejected.map(|r| r.refusal.reason().to_owned());
        let why = why.unwrap_or_default();
        Ok(match last.map(|proposal| proposal.action) {
            Some(Action::Final(ending)) if self.situation(turn, seen).is_harmless(&ending) => {
                Accepted::Final(ending, Some(why))
            }
            _ => Accepted::Nothing(why),
        })
    }

    fn prompt<'p>(
        &'p self,
        turn: u32,
        seen: &'p PlanningContext,
        rejected: Option<&'p Rejected>,
    ) -> Prompt<'p> {
        Prompt {
            told: &self.told,
            objective: &self.input.brief.objective,
            history: &self.begun_with.history,
            offers: &seen.offers,
            input: &self.material,
            thread: &self.thread,
            constraints: &self.input.brief.constraints,
            reached: &self.reached,
            ready: self.reached.ready().into_iter().collect(),
            may_revise: self.situation(turn, seen).may_revise(),
            turns_left: self.turns_left(turn),
            rejected,
        }
    }

    /// Checks whether the answer is allowed; what follows from a plan that is, is taken in.
    fn accept(
        &mut self,
        turn: u32,
        seen: &PlanningContext,
        answer: &str,
        last: &mut Option<Proposal>,
    ) -> Result<Result<Accepted, Refusal>, Next> {
        let insists = matches!(
            last,
            Some(Proposal {
                action: Action::Final(_),
                ..
            })
        );
        let proposal = match proposal::parse(answer) {
            Ok(proposal) => last.insert(proposal),
            Err(refusal) => {
                *last = None;
                return Ok(Err(refusal));
            }
        };
        let accepted = match &proposal.action {
            Action::PlanUpdate(patch) => match self.replan(turn, seen, patch, &proposal.note)? {
                Ok(()) => Ok(Accepted::Plan),
                Err(refusal) => Err(refusal),
            },
            Action::Handoff(transfer) => {
                let handover = self.situation(turn, seen).handover(transfer);
                handover.map(|handover| Accepted::Handover(Box::new(handover)))
            }
            Action::Final(ending) => {
                let situation = Situation {
                    insists,
                    ..self.situation(turn, seen)
                };
                match situation.ending(ending) {
                    Ok(()) => Ok(Accepted::Final(ending.clone(), None)),
                    Err(refusal) => Err(refusal),
                }
            }
        };
        Ok(accepted)
    }

    /// Changes the plan, if the patch is admitted. That it was is noted, with the plan.
    fn replan(
        &mut self,
        turn: u32,
        seen: &PlanningContext,
        patch: &Value,
        why: &str,
    ) -> Result<Result<(), Refusal>, Next> {
        let name = format!("plan-{turn}");
        let plan = match self.facts.noted(&StepId::new(&*name)) {
            Some(noted) => Plan::deserialize(&noted["data"]["plan"]).unwrap_or_default(),
            None => {
                let plan = match self.admit(seen, patch) {
                    Ok(plan) => plan,
                    Err(refusal) => return Ok(Err(refusal)),
                };
                if self.reached.version > 0 {
                    self.enter(turn, note::PLANNING)?;
                }
                let version = self.reached.version + 1;
                return Err(Next::Steps(vec![Step::new(
                    name,
                    Effect::Note(note::plan_update(why, patch, &plan, version)),
                )]));
            }
        };
        if self.reached.version > 0 {
            self.enter(turn, note::PLANNING)?;
        }
        self.reached.plan = plan;
        self.reached.version += 1;
        Ok(Ok(()))
    }

    fn admit(&self, seen: &PlanningContext, patch: &Value) -> Result<Plan, Refusal> {
        let offers: Vec<Offer> = seen.offers.iter().map(|o| o.offer.clone()).collect();
        let begun: BTreeSet<String> = self.reached.steps.keys().cloned().collect();
        let is_failed = |step: &&String| self.reached.state(step) == StepState::Failed;
        let failed: BTreeSet<String> = begun.iter().filter(is_failed).cloned().collect();
        let budget = self.facts.account().free();
        let terms = Terms {
            offers: &offers,
            input: &self.material,
            thread: &self.thread,
            begun: &begun,
            failed: &failed,
            outputs: &self.reached.outputs,
            limits: Limits {
                max_calls: budget.calls,
                may_delegate: budget.depth != Some(0),
                ..Limits::default()
            },
        };
        let before = AdmittedPlan::trusted(self.reached.plan.clone());
        match admit_patch(&before, patch, &terms) {
            Ok(admitted) => Ok(admitted.plan().clone()),
            Err(faults) => {
                let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
                Err(Refusal::new(faults.join("; ")))
            }
        }
    }
}
