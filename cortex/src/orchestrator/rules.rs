//! Is what the model proposes allowed?
//!
//! The rules of ORC-2.1 and ORC-5.1 that no prompt can be trusted with: who may be handed what and when, how often something may be made, when a
//! run may end, and that nothing in the result is the orchestrator's own. Whether a plan can be carried out, `agenthub_runs::plan` says.

use std::collections::BTreeSet;

use agenthub_sdk::runs::plan::{PlanStep, Reference, Scope, StepName, violations};
use serde_json::Value;

use super::{
    handoff::{Arguments, HandoffPayload, Instructions, Words},
    kept::{Offered, Reached, WorkState},
    proposal::{Ending, Refusal, Transfer},
    rounds,
    verdicts::{Standing, Verdicts},
};
use crate::brief::Constraints;

/// The phases that rules speak of.
pub(crate) const GENERATION: &str = "generation";
pub(crate) const QA: &str = "qa";

/// The longest name of a part of the result, in characters: more would be words of the orchestrator's own.
const MAX_NAME: usize = 64;

/// State of a run when something is proposed.
pub(super) struct Situation<'a> {
    pub(super) told: &'a Instructions,
    pub(super) objective: &'a str,
    pub(super) input: &'a Value,
    pub(super) thread: &'a Value,
    pub(super) constraints: &'a Constraints,
    pub(super) offers: &'a [Offered],
    pub(super) reached: &'a Reached,
    /// True if the last review asks for another round.
    pub(super) asks_for_more: bool,
    pub(super) turns_left: u32,
    /// True if the answer before this one wanted to end the run too, and was refused.
    pub(super) insists: bool,
}

/// A handoff that is allowed.
pub(super) struct Handover {
    /// The step of the plan.
    pub(super) name: String,
    pub(super) step: PlanStep,
    /// The agent that does it.
    pub(super) offered: Offered,
    pub(super) payload: HandoffPayload,
    /// The payload before its references were resolved.
    pub(super) used: Value,
    /// Number of rounds, once this one is made.
    pub(super) depth: u32,
}

/// The steps that came to nothing, and that the plan goes on without.
pub(super) fn skipped(reached: &Reached) -> BTreeSet<String> {
    let steps = reached
        .steps
        .iter()
        .filter(|(_, work)| work.state == WorkState::Skipped);
    steps.map(|(step, _)| step.clone()).collect()
}

impl Situation<'_> {
    /// True if something may be made once more.
    pub(super) fn may_revise(&self) -> bool {
        self.reached.depth < self.constraints.execution_depth()
    }

    /// # Errors
    ///
    /// The reason of a refusal, for the model.
    pub(super) fn handover(&self, transfer: &Transfer) -> Result<Handover, Refusal> {
        let name = self.step(transfer)?;
        let step = self.reached.plan.steps.get(&*name).cloned();
        let step = step.ok_or_else(|| Refusal::new(format!("the plan has no step `{name}`")))?;
        let payload = match transfer.payload.is_empty() {
            true => step.payload.clone(),
            false => Value::Object(transfer.payload.clone()),
        };
        let skipped = skipped(self.reached);
        let scope = Scope {
            objective: self.objective,
            input: self.input,
            thread: self.thread,
            outputs: &self.reached.outputs,
            skipped: &skipped,
        };
        let arguments = Arguments::resolve(&payload, &scope, self.told)
            .map_err(|unfit| Refusal::new(format!("the payload of `{name}`: {unfit}")))?;
        let offers = self.offered(transfer, &step)?;
        let fault = |offered: &&&Offered| misfit(offered.offer.input.as_ref(), arguments.value());
        let Some(offered) = offers.iter().find(|offered| fault(offered).is_none()) else {
            let faults = offers.iter().find_map(|offered| fault(&offered));
            let faults = faults.unwrap_or_default();
            return Err(Refusal::new(format!(
                "the payload of `{name}` does not fit: {faults}"
            )));
        };
        let depth = self.depth(offered)?;
        let handed = HandoffPayload::new(Words::of_the_person(self.objective), arguments);
        Ok(Handover {
            name,
            offered: (*offered).clone(),
            step,
            used: payload,
            payload: handed,
            depth,
        })
    }

    /// The ready step that is meant.
    fn step(&self, transfer: &Transfer) -> Result<String, Refusal> {
        let ready = self.reached.ready();
        let listed = |steps: &[String]| match steps.is_empty() {
            true => "no step is ready: change the plan, or finish".to_owned(),
            false => format!("ready: {}", steps.join(", ")),
        };
        if !transfer.step.is_empty() {
            return match ready.contains(&transfer.step) {
                true => Ok(transfer.step.clone()),
                false => {
                    let why = match self.reached.steps.get(&transfer.step) {
                        Some(_) => "has begun already, or is over",
                        None if self.reached.plan.steps.contains_key(&*transfer.step) => {
                            "waits for others"
                        }
                        None => "is not in the plan",
                    };
                    let step = &transfer.step;
                    Err(Refusal::new(format!(
                        "step `{step}` {why}; {}",
                        listed(&ready)
                    )))
                }
            };
        }
        let is_for = |name: &&String| {
            let step = self.reached.plan.steps.get(name.as_str());
            step.is_some_and(|step| step.capability == transfer.capability)
        };
        let fitting: Vec<&String> = ready.iter().filter(is_for).collect();
        match *fitting {
            [step] => Ok(step.clone()),
            [] => {
                let capability = &transfer.capability;
                let why = format!(
                    "no ready step of the plan is for `{capability}`; {}",
                    listed(&ready)
                );
                Err(Refusal::new(why))
            }
            _ => Err(Refusal::new(format!(
                "several steps are for that, name one as stepId; {}",
                listed(&ready)
            ))),
        }
    }

    /// The agents that can do it: those the plan names, else those the model names, else all that offer it, the preferred one first.
    fn offered(&self, transfer: &Transfer, step: &PlanStep) -> Result<Vec<&Offered>, Refusal> {
        if step.capability != transfer.capability {
            let (is, said) = (&step.capability, &transfer.capability);
            return Err(Refusal::new(format!(
                "that step is for `{is}`, not for `{said}`"
            )));
        }
        let wanted = match (&step.agent, &*transfer.to) {
            (Some(agent), "") => agent,
            (Some(agent), to) if agent != to => {
                return Err(Refusal::new(format!(
                    "the plan gives that step to `{agent}`, not to `{to}`"
                )));
            }
            (_, to) => to,
        };
        let offers = || {
            self.offers
                .iter()
                .filter(|o| o.offer.capability == step.capability)
        };
        let is_meant = |offered: &&Offered| wanted.is_empty() || offered.offer.agent == *wanted;
        let found: Vec<&Offered> = offers().filter(is_meant).collect();
        if found.is_empty() {
            let agents: Vec<&str> = offers().map(|o| &*o.offer.agent).collect();
            let capability = &step.capability;
            return Err(match agents.is_empty() {
                true => Refusal::new(format!("nobody here offers `{capability}`"))
                    .advising("change the plan, or finish and say so"),
                false => Refusal::new(format!(
                    "`{wanted}` does not offer `{capability}`; offered by {}",
                    agents.join(", ")
                )),
            });
        }
        Ok(found)
    }

    /// Number of rounds, once this one is made.
    fn depth(&self, offered: &Offered) -> Result<u32, Refusal> {
        let reached = self.reached.depth;
        let depth = match &*offered.offer.phase {
            GENERATION if reached == 0 => 1,
            GENERATION if self.asks_for_more => reached + 1,
            _ => reached,
        };
        let most = self.constraints.execution_depth();
        match depth > most {
            true => Err(
                Refusal::new(format!("the execution depth of {most} is reached"))
                    .advising("finish with the best that there is"),
            ),
            false => Ok(depth),
        }
    }

    /// Checks whether the run may end so.
    ///
    /// # Errors
    ///
    /// Why it may not, for the model.
    pub(super) fn ending(&self, ending: &Ending) -> Result<(), Refusal> {
        for (name, value) in &ending.artifacts {
            self.is_made_by_others(name, value)?;
        }
        let reached = self.reached;
        let wanted = Value::Object(ending.artifacts.clone());
        let result = match ending.artifacts.is_empty() {
            true => &reached.plan.result,
            false => &wanted,
        };
        let offers = |phase: &str| self.offers.iter().any(|o| o.offer.phase == phase);
        if reached.outputs.is_empty() {
            let capabilities: Vec<&str> =
                self.offers.iter().map(|o| &*o.offer.capability).collect();
            return match self.insists || capabilities.is_empty() || self.turns_left <= 1 {
                true => Ok(()),
                false => Err(Refusal::new("nothing was done").advising(format!(
                    "offered are {}. If none of these can help, finish again and say what is missing",
                    capabilities.join(", ")
                ))),
            };
        }
        let form = rounds::best(reached, result.clone()).form;
        match Verdicts::of(reached, &form).standing(self.constraints) {
            // Another round would not have it checked.
            Standing::Met | Standing::Unchecked(_) => Ok(()),
            Standing::NotReviewed(why) if offers(QA) && self.turns_left > 2 => {
                Err(Refusal::new(why).advising("have it reviewed first"))
            }
            Standing::Unmet(why)
                if self.may_revise() && offers(GENERATION) && self.turns_left > 3 =>
            {
                let (depth, most) = (reached.depth, self.constraints.execution_depth());
                let why = format!("{why}, and only {depth} of {most} rounds were used");
                Err(Refusal::new(why).advising("plan another round"))
            }
            Standing::Unmet(_) | Standing::NotReviewed(_) => Ok(()),
        }
    }

    /// True if everything in it was made by others, so that it can be taken where nothing better comes.
    pub(super) fn is_harmless(&self, ending: &Ending) -> bool {
        let mut parts = ending.artifacts.iter();
        parts.all(|(name, value)| self.is_made_by_others(name, value).is_ok())
    }

    /// A part of the result is a reference to what a step gave, or is made of such.
    fn is_made_by_others(&self, name: &str, value: &Value) -> Result<(), Refusal> {
        if name.chars().count() > MAX_NAME {
            let why = format!("the name of an artifact has more than {MAX_NAME} characters");
            return Err(Refusal::new(why));
        }
        match value {
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| self.is_made_by_others(name, item)),
            Value::Object(fields) => fields
                .iter()
                .try_for_each(|(name, field)| self.is_made_by_others(name, field)),
            Value::String(text) => {
                let reference: Option<Reference> = text.trim().parse().ok();
                let step = reference
                    .as_ref()
                    .and_then(Reference::step)
                    .map(StepName::as_str);
                match step {
                    Some(step) if self.reached.outputs.contains_key(step) => Ok(()),
                    Some(step) => Err(Refusal::new(format!(
                        "artifact `{name}`: step `{step}` has no output"
                    ))),
                    None => Err(own_words(name)),
                }
            }
            _ => Err(own_words(name)),
        }
    }
}

/// The parts of a value that do not fit a schema, if there is one.
pub(crate) fn misfit(schema: Option<&Value>, value: &Value) -> Option<String> {
    let faults = violations(schema?, value);
    (!faults.is_empty()).then(|| faults.join("; "))
}

fn own_words(name: &str) -> Refusal {
    Refusal::new(format!(
        "artifact `{name}` is not a reference to the output of a step"
    ))
    .advising(
        "refer to one, as by \"${draft.output.text}\": you write no part of the result yourself",
    )
}
