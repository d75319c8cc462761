//! A step of the plan, on its way: allowed, handed over, tried again, and checked.

use std::collections::BTreeSet;

use agenthub_sdk::runs::{
    Approval, BudgetExceeded, Effect, Next, Step, StepResult,
    plan::{Offer, PlanStep, Recovery},
};
use serde_json::{Value, json};

use super::{
    super::{
        criteria, handed_on,
        handoff::{HandoffPayload, Misfit},
        kept::{PlanningContext, Review, Work, WorkState},
        left_aside, note,
        rounds::steps_in,
        rules::{GENERATION, Handover, QA, misfit},
        verdicts::{Standing, Verdicts},
    },
    Play,
};
use crate::chat::outcome::{did_nothing, without_result};

impl Play<'_> {
    /// Has a step of the plan done.
    pub(super) fn hand_over(
        &mut self,
        turn: u32,
        seen: &PlanningContext,
        handover: Handover,
    ) -> Result<(), Next> {
        let Handover {
            name,
            step,
            offered,
            payload,
            used,
            depth,
        } = handover;
        let offer = offered.offer;
        self.enter(turn, note::phase_name(&offer.phase))?;
        self.note(
            &format!("handoff-{turn}/requested"),
            note::requested(&name, &offer, depth),
        )?;
        if offer.phase == GENERATION {
            self.has_generated = true;
            self.asks_for_more &= depth == self.reached.depth;
            self.reached.depth = depth;
        }
        let handed = handed_on::handed(&used, offer.input.as_ref(), &self.input.brief.payload);
        self.work(&name, |work| {
            work.agent.clone_from(&offer.agent);
            work.capability.clone_from(&offer.capability);
            work.phase.clone_from(&offer.phase);
            work.depth = depth;
            work.handed = handed;
        });
        let first = Delivery {
            turn,
            suffix: "",
            name: &name,
            step: &step,
            offer: &offer,
            payload: &payload,
        };
        let mut delivered = self.deliver(&first)?;
        if let (Err(why), Recovery::Fallback { agent }) = (&delivered, &step.recovery) {
            delivered = match other(seen, agent, &offer.capability, &payload) {
                Ok(offer) => self.deliver(&Delivery {
                    suffix: "/fallback",
                    offer,
                    ..first
                })?,
                Err(unfit) => Err(format!("{why}; {unfit}")),
            };
        }
        match delivered {
            Ok(Delivered {
                agent,
                output,
                is_stand_in,
                left_aside,
            }) => {
                self.work(&name, |work| {
                    work.agent.clone_from(&agent);
                    work.is_stand_in = is_stand_in;
                    work.left_aside = left_aside;
                    work.state = WorkState::Completed;
                });
                if offer.phase == QA {
                    self.reviewed(turn, &name, &agent, &used, &payload, &output)?;
                }
                // With the end of the turn: until then nothing of it changes but how far steps are.
                self.reached.outputs.insert(name, output);
                Ok(())
            }
            Err(why) => {
                let state = match step.recovery {
                    Recovery::Skip => WorkState::Skipped,
                    Recovery::Fail | Recovery::Fallback { .. } => WorkState::Failed,
                };
                self.failed(turn, &name, state, why)
            }
        }
    }

    fn work(&mut self, step: &str, change: impl FnOnce(&mut Work)) {
        change(self.reached.steps.entry(step.to_owned()).or_default());
    }

    fn failed(&mut self, turn: u32, step: &str, state: WorkState, why: String) -> Result<(), Next> {
        self.note(
            &format!("handoff-{turn}/failed"),
            note::step_failed(step, &why, state),
        )?;
        self.work(step, |work| {
            work.state = state;
            work.error = why;
        });
        Ok(())
    }

    /// Waits for a person's yes to exactly this.
    fn allowed(
        &mut self,
        turn: u32,
        name: &str,
        offer: &Offer,
        payload: &HandoffPayload,
    ) -> Result<Result<(), String>, Next> {
        let arguments = payload.arguments().value().clone();
        let approval = Approval::new(
            &self.input.run,
            name,
            &offer.agent,
            &offer.capability,
            arguments,
        );
        self.work(name, |work| {
            work.state = WorkState::AwaitingApproval;
            work.approval.clone_from(&approval.digest);
        });
        let step = Step::new(
            format!("approve-{turn}/{}", approval.id),
            Effect::Approve(approval),
        );
        match self.facts.result(&step) {
            None => Err(Next::Steps(vec![step])),
            Some(StepResult::Decided(decision)) if decision.approved => Ok(Ok(())),
            Some(StepResult::Decided(decision)) => {
                self.work(name, |work| work.is_refused = true);
                let by = match decision.by.is_empty() {
                    true => "a person".to_owned(),
                    false => decision.by.clone(),
                };
                let comment = match decision.comment.is_empty() {
                    true => String::new(),
                    false => format!(": {}", decision.comment),
                };
                Ok(Err(format!("{by} did not allow it{comment}")))
            }
            Some(_) => Ok(Err("nobody could be asked to allow it".to_owned())),
        }
    }

    /// The step's output, or the reason of its failure.
    fn deliver(&mut self, delivery: &Delivery<'_>) -> Result<Result<Delivered, String>, Next> {
        let Delivery {
            turn,
            suffix,
            name,
            step,
            offer,
            payload,
        } = *delivery;
        let agent = &offer.agent;
        self.work(name, |work| work.agent.clone_from(agent));
        let constraints = &self.input.brief.constraints;
        let needs_yes = step.approval || constraints.needs_approval(&offer.capability);
        if needs_yes && let Err(why) = self.allowed(turn, name, offer, payload)? {
            return Ok(Err(why));
        }
        self.work(name, |work| work.state = WorkState::Working);
        let mut why = String::new();
        for attempt in 1..=step.retry.attempts.max(1) {
            let name = match attempt {
                1 => format!("handoff-{turn}{suffix}"),
                attempt => format!("handoff-{turn}{suffix}/attempt-{attempt}"),
            };
            let timeout_ms = step.timeout_ms.unwrap_or(self.input.handoff_ms);
            let handoff = payload.to(agent, &offer.capability);
            let sent = Step::new(&*name, Effect::Delegate(handoff)).timeout_ms(timeout_ms);
            match self.output(&sent, offer)? {
                Ok(delivered) => return Ok(Ok(delivered)),
                Err(Unusable::Misfit(misfit)) => {
                    let handoff = payload.again_to(agent, &offer.capability, &misfit);
                    let again = Step::new(format!("{name}/again"), Effect::Delegate(handoff))
                        .timeout_ms(timeout_ms);
                    match self.output(&again, offer)? {
                        Ok(delivered) => return Ok(Ok(delivered)),
                        Err(Unusable::Misfit(misfit)) => {
                            why = format!("{agent} gave a wrong output twice: {}", misfit.0)
                        }
                        Err(Unusable::Nothing(reason)) => why = reason,
                    }
                }
                Err(Unusable::Nothing(reason)) => why = reason,
            }
            if attempt < step.retry.attempts && step.retry.pause_ms > 0 {
                let failed_ms = self.facts.ended_ms(&sent).unwrap_or_default();
                let until = failed_ms.saturating_add(step.retry.pause_ms);
                let pause = Step::new(format!("{name}/pause"), Effect::Wait(until));
                if self.facts.result(&pause).is_none() {
                    return Err(Next::Steps(vec![pause]));
                }
            }
        }
        Ok(Err(why))
    }

    fn output(&self, step: &Step, offer: &Offer) -> Result<Result<Delivered, Unusable>, Next> {
        let delegated = match self.facts.result(step) {
            None => return Err(Next::Steps(vec![step.clone()])),
            Some(StepResult::DelegationEnded(delegated)) => delegated,
            Some(StepResult::Failed(failure)) => {
                return Ok(Err(Unusable::Nothing(failure.to_string())));
            }
            Some(_) => return Ok(Err(Unusable::Nothing("it was called back".to_owned()))),
        };
        if delegated.state != "completed" {
            let why = without_result(delegated);
            let whole = BudgetExceeded::is_told_by(&why)
                .then(|| self.whole_budget())
                .flatten();
            let why = match whole {
                // The agent knows its share alone.
                Some(whole) => format!("{why}; that is its share of the run's budget of {whole}"),
                None => why,
            };
            return Ok(Err(Unusable::Nothing(why)));
        }
        if let Some(why) = did_nothing(delegated) {
            return Ok(Err(Unusable::Nothing(why)));
        }
        let is_stand_in = left_aside::is_by_stand_in(delegated);
        // What an answer lacks is no part of what it gives.
        let is_output = |data: &&Value| data.is_object() && data["partial"] != true;
        let output = match delegated.data.iter().find(is_output) {
            Some(data) => data.clone(),
            None => json!({ "text": delegated.text }),
        };
        Ok(match misfit(offer.output.as_ref(), &output) {
            None => Ok(Delivered {
                agent: offer.agent.clone(),
                left_aside: left_aside::of_step(delegated, &output, &offer.phase),
                output,
                is_stand_in,
            }),
            Some(faults) => Err(Unusable::Misfit(Misfit(faults))),
        })
    }

    /// The limits of the whole run, in words; `None` where it has none.
    fn whole_budget(&self) -> Option<String> {
        let budget = self.facts.account().budget();
        let calls = budget.calls.map(|calls| match calls {
            1 => "1 call".to_owned(),
            calls => format!("{calls} calls"),
        });
        let tokens = budget.tokens.map(|tokens| format!("{tokens} tokens"));
        let limits: Vec<String> = [calls, tokens].into_iter().flatten().collect();
        (!limits.is_empty()).then(|| limits.join(" and "))
    }

    fn reviewed(
        &mut self,
        turn: u32,
        step: &str,
        agent: &str,
        used: &Value,
        payload: &HandoffPayload,
        output: &Value,
    ) -> Result<(), Next> {
        let is_made = |step: &String| {
            let work = self.reached.steps.get(step);
            work.is_some_and(|work| work.phase == GENERATION)
        };
        let of: BTreeSet<String> = steps_in(used).filter(is_made).collect();
        let asked = &self.input.brief.constraints.acceptance_criteria;
        let knew_criteria = criteria::knows(payload.arguments().value(), asked);
        let depth = self.reached.depth;
        let review = Review::of(
            step,
            agent,
            of.into_iter().collect(),
            output,
            depth,
            knew_criteria,
        );
        let threshold = self.input.brief.constraints.quality_threshold();
        self.note(&format!("review-{turn}"), note::review(&review, threshold))?;
        self.reached.reviews.push(review);
        self.asks_for_more = self.last_review_asks_for_more();
        Ok(())
    }

    pub(super) fn last_review_asks_for_more(&self) -> bool {
        let last = self.reached.reviews.last();
        let standing = Verdicts::alone(last).standing(&self.input.brief.constraints);
        matches!(standing, Standing::Unmet(_))
    }
}

/// A step on its way to an agent.
#[derive(Clone, Copy)]
struct Delivery<'d> {
    turn: u32,
    /// Suffix that tells its steps from those of another agent.
    suffix: &'static str,
    name: &'d str,
    step: &'d PlanStep,
    offer: &'d Offer,
    payload: &'d HandoffPayload,
}

/// A step that was done.
struct Delivered {
    agent: String,
    output: Value,
    /// True if the agent had no model.
    is_stand_in: bool,
    /// The agent's own account of what it left aside.
    left_aside: Vec<String>,
}

/// Another agent's offer for the same capability.
///
/// # Errors
///
/// The reason why it cannot be asked.
fn other<'s>(
    seen: &'s PlanningContext,
    agent: &str,
    capability: &str,
    payload: &HandoffPayload,
) -> Result<&'s Offer, String> {
    let is_it = |offer: &&Offer| offer.agent == agent && offer.capability == capability;
    let offer = seen.offers.iter().map(|offered| &offered.offer).find(is_it);
    let offer = offer.ok_or_else(|| format!("{agent}, who could do it instead, is not here"))?;
    match misfit(offer.input.as_ref(), payload.arguments().value()) {
        None => Ok(offer),
        Some(faults) => Err(format!(
            "{agent}, who could do it instead, takes something else: {faults}"
        )),
    }
}

/// The reason why a handoff gave nothing that can be used.
enum Unusable {
    /// Does not fit the capability's schema.
    Misfit(Misfit),
    /// No payload, for this reason.
    Nothing(String),
}
