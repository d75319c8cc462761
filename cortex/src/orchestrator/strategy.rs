//! What does an app run do next?
//!
//! Plan, then one step after the other, then the end: each turn looks who is here, asks the model, and has done what it proposes, if that is
//! allowed. What is not allowed goes back to the model with the reason, at most twice; then the run ends with what there is, and says why.
//!
//! Decisions that depend on more than the journal's order (what a budget still allows) are journaled as notes, which are also what those who
//! watch see; a run that is taken up reads them there and does not decide them again.

use std::collections::BTreeSet;

use agenthub_sdk::runs::{
    Approval, Delegated, Effect, Facts, Next, RunOutcome, Step, StepId, StepResult, Strategy,
    plan::{
        Admitted, Fault, Limits, Offer, Plan, Recovery, Scope, StepState, Terms, admit_patch,
        resolve, violations,
    },
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    bundle::{self, Closing, Standing},
    handoff::{HandoffPayload, Instructions, Misfit},
    kept::{Input, Query, Reached, Review, Seen, Work, WorkState},
    note,
    prompt::{Prompt, RULES},
    proposal::{self, Action, Ending, Proposal, Refusal},
    rules::{self, GENERATION, Handover, QA, Situation},
};
use crate::{history::shorten, prompt::Rejected};

/// How often the model is asked in one turn.
const TRIES: u32 = 3;

/// The most tokens of a refused answer that the model sees again.
const MAX_REJECTED_TOKENS: usize = 800;

/// The most earlier results that specialists are given to learn from.
const MAX_PERFORMANCE: usize = 200;

/// What specialists know past performance by.
const PRIOR_PERFORMANCE: &str = "priorPerformance";

/// The strategy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Orchestrator;

impl Orchestrator {
    /// Its name in journals.
    pub(crate) const NAME: &str = "orchestrator";
}

impl Strategy for Orchestrator {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn next(&self, facts: &Facts) -> Next {
        match Play::of(facts) {
            Ok(mut play) => play.run(),
            Err(outcome) => Next::Finish(outcome),
        }
    }
}

/// How far an app run has come.
pub(crate) fn reached(facts: &Facts) -> Reached {
    match Play::of(facts) {
        Ok(mut play) => {
            play.run();
            play.reached
        }
        Err(_) => Reached::default(),
    }
}

/// A run, played from its beginning.
struct Play<'a> {
    facts: &'a Facts,
    input: Input,
    told: Instructions,
    /// The payload, and what the constraints add to it.
    material: Value,
    thread: Value,
    begun_with: Seen,
    reached: Reached,
    phase: &'static str,
    /// Whether a review asks for more than there is.
    asks_for_more: bool,
    has_generated: bool,
}

/// What the model proposes and the rules allow.
enum Accepted {
    Plan,
    Handover(Box<Handover>),
    Final(Ending, Option<String>),
    /// No proposal was allowed: why.
    Nothing(String),
}

impl<'a> Play<'a> {
    fn of(facts: &'a Facts) -> Result<Self, RunOutcome> {
        let input = Input::deserialize(facts.input()).map_err(|error| {
            RunOutcome::failed(format!("the run's input cannot be read: {error}"))
        })?;
        Ok(Self {
            facts,
            told: Instructions::new(&input.run, RULES),
            input,
            material: Value::Null,
            thread: Value::Null,
            begun_with: Seen::default(),
            reached: Reached::default(),
            phase: "",
            asks_for_more: false,
            has_generated: false,
        })
    }

    fn run(&mut self) -> Next {
        let next = (1..).find_map(|turn| self.turn(turn).err());
        next.expect("there is a last turn")
    }

    /// Goes through a turn that is over; otherwise the error is what is to be done.
    fn turn(&mut self, turn: u32) -> Result<(), Next> {
        if turn == 1 {
            self.enter(turn, note::PLANNING)?;
        }
        let seen = self.look(turn)?;
        if turn > self.max_turns() {
            let why = format!("the run has had its {} turns", self.max_turns());
            return Err(self.close(turn, &Ending::default(), Some(&why)));
        }
        match self.decide(turn, &seen)? {
            Accepted::Plan => Ok(()),
            Accepted::Handover(handover) => self.hand_over(turn, *handover),
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

    fn look(&mut self, turn: u32) -> Result<Seen, Next> {
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
        let seen = Seen::deserialize(seen).unwrap_or_default();
        if begins {
            self.begin(&seen);
        }
        Ok(seen)
    }

    /// Takes in what stays the same for the whole run.
    fn begin(&mut self, seen: &Seen) {
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

    fn situation<'s>(&'s self, turn: u32, seen: &'s Seen) -> Situation<'s> {
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

    fn decide(&mut self, turn: u32, seen: &Seen) -> Result<Accepted, Next> {
        let mut rejected = None;
        let mut last = None;
        for attempt in 1..=TRIES {
            let name = match attempt {
                1 => format!("turn-{turn}"),
                attempt => format!("turn-{turn}/try-{attempt}"),
            };
            let step = Step::new(name, Effect::Ask(Box::default()));
            let answer = match self.facts.result(&step) {
                None => {
                    let request = self.prompt(turn, seen, rejected.as_ref()).request();
                    let effect = Effect::Ask(Box::new(request));
                    return Err(Next::Steps(vec![Step { effect, ..step }]));
                }
                Some(StepResult::ModelAnswered(answer)) => &answer.text,
                Some(StepResult::Failed(failure)) => {
                    let error = format!("the orchestrator's model did not answer: {failure}");
                    return Err(Next::Finish(RunOutcome::failed(error)));
                }
                Some(_) => {
                    let error = "the orchestrator's model was not asked to the end";
                    return Err(Next::Finish(RunOutcome::failed(error)));
                }
            };
            let refused = format!("refused-{turn}-{attempt}");
            let refusal = match self.facts.noted(&StepId::new(&*refused)) {
                Some(noted) => {
                    last = proposal::parse(answer).ok();
                    Refusal::new(noted["data"]["reason"].as_str().unwrap_or_default())
                }
                None => match self.accept(turn, seen, answer, &mut last)? {
                    Ok(accepted) => return Ok(accepted),
                    Err(refusal) => refusal,
                },
            };
            self.note(&refused, note::refused(&refusal.to_string()))?;
            rejected = Some(Rejected {
                answer: shorten(answer, MAX_REJECTED_TOKENS),
                reason: refusal.to_string(),
            });
        }
        let why = rejected.map(|r| r.reason).unwrap_or_default();
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
        seen: &'p Seen,
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
            ready: rules::ready(&self.reached).into_iter().collect(),
            may_revise: self.situation(turn, seen).may_revise(),
            turns_left: self.turns_left(turn),
            rejected,
        }
    }

    /// Whether the answer is allowed; what follows from a plan that is, is taken in.
    fn accept(
        &mut self,
        turn: u32,
        seen: &Seen,
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
        seen: &Seen,
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

    fn admit(&self, seen: &Seen, patch: &Value) -> Result<Plan, Refusal> {
        let offers: Vec<Offer> = seen.offers.iter().map(|o| o.offer.clone()).collect();
        let begun: BTreeSet<String> = self.reached.steps.keys().cloned().collect();
        let is_failed = |step: &&String| rules::state_of(&self.reached, step) == StepState::Failed;
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
        let before = Admitted::trusted(self.reached.plan.clone());
        match admit_patch(&before, patch, &terms) {
            Ok(admitted) => Ok(admitted.plan().clone()),
            Err(faults) => {
                let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
                Err(Refusal::new(faults.join("; ")))
            }
        }
    }

    /// Has a step of the plan done.
    fn hand_over(&mut self, turn: u32, handover: Handover) -> Result<(), Next> {
        let Handover {
            name,
            step,
            offered,
            payload,
            depth,
        } = handover;
        let offer = offered.offer;
        self.enter(turn, note::phase_name(&offer.phase))?;
        self.note(
            &format!("handoff-{turn}/requested"),
            note::requested(&name, &offer),
        )?;
        if offer.phase == GENERATION {
            self.has_generated = true;
            self.asks_for_more &= depth == self.reached.depth;
            self.reached.depth = depth;
        }
        self.work(&name, |work| {
            work.agent.clone_from(&offer.agent);
            work.capability.clone_from(&offer.capability);
            work.phase.clone_from(&offer.phase);
        });
        let needs_yes = step.approval
            || self
                .input
                .brief
                .constraints
                .needs_approval(&offer.capability);
        if needs_yes && let Err(why) = self.allowed(turn, &name, &offer, &payload)? {
            return self.failed(turn, &name, WorkState::Failed, why);
        }
        self.work(&name, |work| work.state = WorkState::Working);
        match self.deliver(turn, &step.recovery, &step, &offer, &payload)? {
            Ok((agent, output)) => {
                self.work(&name, |work| {
                    work.agent.clone_from(&agent);
                    work.state = WorkState::Completed;
                });
                self.reached.outputs.insert(name.clone(), output.clone());
                match offer.phase == QA {
                    true => self.reviewed(turn, &name, &agent, &step.payload, &output),
                    false => Ok(()),
                }
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

    /// Who did it, and what came of it; or why nothing did.
    fn deliver(
        &self,
        turn: u32,
        recovery: &Recovery,
        step: &agenthub_sdk::runs::plan::PlanStep,
        offer: &Offer,
        payload: &HandoffPayload,
    ) -> Result<Result<(String, Value), String>, Next> {
        let mut agents = vec![(&*offer.agent, String::new())];
        if let Recovery::Fallback { agent } = recovery {
            agents.push((agent, "/fallback".to_owned()));
        }
        let mut why = String::new();
        for (agent, suffix) in agents {
            for attempt in 1..=step.retry.attempts.max(1) {
                let name = match attempt {
                    1 => format!("handoff-{turn}{suffix}"),
                    attempt => format!("handoff-{turn}{suffix}/attempt-{attempt}"),
                };
                let timeout_ms = step.timeout_ms.unwrap_or(self.input.handoff_ms);
                let handoff = payload.to(agent, &offer.capability);
                let sent = Step::new(&*name, Effect::Delegate(handoff)).timeout_ms(timeout_ms);
                match self.output(&sent, offer)? {
                    Ok(output) => return Ok(Ok((agent.to_owned(), output))),
                    Err(Unusable::Misfit(misfit)) => {
                        let handoff = payload.again_to(agent, &offer.capability, &misfit);
                        let again = Step::new(format!("{name}/again"), Effect::Delegate(handoff))
                            .timeout_ms(timeout_ms);
                        match self.output(&again, offer)? {
                            Ok(output) => return Ok(Ok((agent.to_owned(), output))),
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
        }
        Ok(Err(why))
    }

    fn output(&self, step: &Step, offer: &Offer) -> Result<Result<Value, Unusable>, Next> {
        let delegated = match self.facts.result(step) {
            None => return Err(Next::Steps(vec![step.clone()])),
            Some(StepResult::DelegationEnded(delegated)) => delegated,
            Some(StepResult::Failed(failure)) => {
                return Ok(Err(Unusable::Nothing(failure.to_string())));
            }
            Some(_) => return Ok(Err(Unusable::Nothing("it was called back".to_owned()))),
        };
        if delegated.state != "completed" {
            return Ok(Err(Unusable::Nothing(reason(delegated))));
        }
        let output = match delegated.data.iter().find(|data| data.is_object()) {
            Some(data) => data.clone(),
            None => json!({ "text": delegated.text }),
        };
        let faults = offer
            .output
            .as_ref()
            .map(|schema| violations(schema, &output));
        let faults = faults.unwrap_or_default();
        Ok(match faults.is_empty() {
            true => Ok(output),
            false => Err(Unusable::Misfit(Misfit(faults.join("; ")))),
        })
    }

    fn reviewed(
        &mut self,
        turn: u32,
        step: &str,
        agent: &str,
        payload: &Value,
        output: &Value,
    ) -> Result<(), Next> {
        let of: BTreeSet<String> = bundle::steps_in(payload).collect();
        let review = Review::of(
            step,
            agent,
            of.into_iter().collect(),
            output,
            self.reached.depth,
        );
        let threshold = self.input.brief.constraints.quality_threshold();
        self.note(&format!("review-{turn}"), note::review(&review, threshold))?;
        self.reached.reviews.push(review);
        self.asks_for_more = self.last_review_asks_for_more();
        Ok(())
    }

    fn last_review_asks_for_more(&self) -> bool {
        let last = self.reached.reviews.last();
        matches!(
            bundle::standing(last, &self.input.brief.constraints),
            Standing::Unmet(_)
        )
    }

    /// The end: what is noted of it first, then the bundle.
    fn close(&mut self, turn: u32, ending: &Ending, explanation: Option<&str>) -> Next {
        match self.noted_end(turn) {
            Err(next) => next,
            Ok(()) => Next::Finish(self.outcome(ending, explanation)),
        }
    }

    fn noted_end(&mut self, turn: u32) -> Result<(), Next> {
        self.enter(turn, note::FINALIZATION)?;
        if !self.has_generated && self.reached.depth == 0 {
            self.note("warning-generation", note::absent(GENERATION))?;
        }
        if self.reached.reviews.is_empty() {
            self.note("warning-qa", note::absent(QA))?;
        }
        Ok(())
    }

    fn outcome(&self, ending: &Ending, explanation: Option<&str>) -> RunOutcome {
        let constraints = &self.input.brief.constraints;
        let planned = &self.reached.plan.result;
        let proposed = Value::Object(ending.artifacts.clone());
        let form = match (planned, ending.artifacts.is_empty()) {
            (_, true) => self.form_of_the_best(),
            (Value::Object(planned), false) => {
                let mut form = planned.clone();
                form.extend(ending.artifacts.clone());
                form.into()
            }
            (_, false) => proposed,
        };
        let review = bundle::review_of(&self.reached, &form);
        let result = self.resolved(&form);
        let unmet = match bundle::standing(review, constraints) {
            Standing::Met => None,
            Standing::Unmet(why) => Some(why),
            Standing::NotReviewed => Some("nothing was reviewed".to_owned()),
        };
        let explanation = match (explanation, unmet) {
            (_, None) => None,
            (Some(explanation), Some(unmet)) => Some(format!("{unmet}; {explanation}")),
            (None, Some(unmet)) if self.reached.depth >= constraints.execution_depth() => {
                Some(format!(
                    "{unmet}; this is the best of {} rounds, and no further one is allowed",
                    self.reached.depth
                ))
            }
            (None, unmet) => unmet,
        };
        let closing = Closing {
            summary: &ending.summary,
            explanation: explanation.as_deref(),
        };
        let bundle = bundle::bundle(result, review, &self.reached, constraints, &closing);
        let text = match (&*ending.summary, &explanation) {
            ("", None) => "done".to_owned(),
            (summary, None) => summary.to_owned(),
            ("", Some(why)) => why.clone(),
            (summary, Some(why)) => format!("{summary}\n\n{why}"),
        };
        RunOutcome::Completed {
            text,
            data: json!({
                "bundle": bundle,
                "met": explanation.is_none(),
                "learned": learned(&self.reached, review),
            }),
        }
    }

    /// What the plan makes of the best that there is; without a form, the last that each capability made.
    fn form_of_the_best(&self) -> Value {
        let planned = &self.reached.plan.result;
        let is_empty = planned.as_object().is_some_and(Map::is_empty) || planned.is_null();
        if !is_empty {
            return planned.clone();
        }
        let best = bundle::best(&self.reached);
        let steps = self.reached.steps.iter();
        let made = steps.filter(|(step, work)| {
            work.phase == GENERATION && self.reached.outputs.contains_key(*step)
        });
        let chosen = made.filter(|(step, _)| {
            best.is_none_or(|review| review.of.is_empty() || review.of.contains(step))
        });
        let form =
            chosen.map(|(step, _)| (step.clone(), Value::from(format!("${{{step}.output}}"))));
        form.collect()
    }

    /// The result; what is not there is left out.
    fn resolved(&self, form: &Value) -> Value {
        let skipped = rules::skipped(&self.reached);
        let scope = Scope {
            objective: &self.input.brief.objective,
            input: &self.material,
            thread: &self.thread,
            outputs: &self.reached.outputs,
            skipped: &skipped,
        };
        match form {
            Value::Object(fields) => {
                let there =
                    |value: &Value| resolve(value, &scope).ok().filter(|value| !value.is_null());
                let resolved = fields
                    .iter()
                    .filter_map(|(name, value)| Some((name.clone(), there(value)?)));
                let resolved: Map<String, Value> = resolved.collect();
                match resolved.is_empty() {
                    true => Value::Null,
                    false => resolved.into(),
                }
            }
            other => resolve(other, &scope).unwrap_or_default(),
        }
    }
}

/// Why a handoff gave nothing that can be used.
enum Unusable {
    /// It does not fit the capability's schema.
    Misfit(Misfit),
    /// There is none.
    Nothing(String),
}

fn reason(delegated: &Delegated) -> String {
    let Delegated {
        agent,
        state,
        error,
        text,
        ..
    } = delegated;
    let said = [error, text].into_iter().find(|text| !text.is_empty());
    match said {
        Some(said) => format!("{agent} ({state}): {}", shorten(said, MAX_REJECTED_TOKENS)),
        None => format!("{agent}: {state}"),
    }
}

/// Where another run stood, for one that goes on from there: what was out then can go out again.
fn resumed(mut reached: Reached) -> Reached {
    reached
        .steps
        .retain(|_, work| matches!(work.state, WorkState::Completed | WorkState::Skipped));
    reached
}

/// What later runs of the series learn: which settings led to which score.
fn learned(reached: &Reached, review: Option<&Review>) -> Value {
    let of = review.map(|review| &review.of);
    let is_reviewed = |step: &&String| of.is_some_and(|of| of.contains(step));
    let outputs = || reached.outputs.iter().rev();
    let reviewed = outputs().filter(|(step, _)| is_reviewed(step));
    let knobs = reviewed
        .chain(outputs())
        .find_map(|(_, output)| knobs_in(output, 0));
    let score = review.and_then(|review| review.score);
    match (knobs, score) {
        (Some(knobs), Some(score)) => json!({"knobs": knobs, "metrics": {"qualityScore": score}}),
        _ => Value::Null,
    }
}

/// The settings that an output says it was made with: the first object named `knobs` whose members are numbers, or have one as their `value`.
fn knobs_in(value: &Value, level: usize) -> Option<Map<String, Value>> {
    let fields = value.as_object().filter(|_| level < 6)?;
    let setting = |knob: &Value| {
        let setting = knob.get("value").unwrap_or(knob);
        setting.is_number().then(|| setting.clone())
    };
    let here = fields.get("knobs").and_then(Value::as_object);
    let here = here.and_then(|knobs| {
        let settings = knobs
            .iter()
            .map(|(name, knob)| Some((name.clone(), setting(knob)?)));
        settings.collect::<Option<Map<String, Value>>>()
    });
    let here = here.filter(|settings| !settings.is_empty());
    here.or_else(|| fields.values().find_map(|field| knobs_in(field, level + 1)))
}

#[cfg(test)]
mod tests;
