//! A plan that can be carried out.

use std::collections::{BTreeMap, BTreeSet};

use super::{Offer, Plan, PlanStep, StepName, Terms, fits, references};

/// A plan that was admitted: no step waits for itself or for one that is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    plan: Plan,
    needs: BTreeMap<StepName, BTreeSet<StepName>>,
}

/// What is known of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// Not begun.
    Waiting,
    /// Begun, and not over.
    Out,
    /// Over, with an output.
    Done,
    /// Over without one, and the run goes on.
    Skipped,
    /// Failed for good.
    Failed,
}

impl Admitted {
    /// A plan that was admitted before, as it was journaled.
    pub fn trusted(plan: Plan) -> Self {
        let needs = plan.steps.iter().map(|(n, step)| (n.clone(), needs(step)));
        Self {
            needs: needs.collect(),
            plan,
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The steps that must be done or skipped before this one: those that it names, and those that it refers to.
    pub fn dependencies(&self, step: &str) -> BTreeSet<String> {
        let needs = self.needs.get(step).into_iter().flatten();
        needs.map(|name| name.as_str().to_owned()).collect()
    }

    /// The offers that the step can go to: by the agent that it names, or by any; what goes into the step fits them. The fallback is
    /// not among them.
    pub fn fitting<'t>(&self, step: &str, terms: &Terms<'t>) -> Vec<&'t Offer> {
        let Some(planned) = self.plan.steps.get(step) else {
            return Vec::new();
        };
        let is_meant = |offer: &&Offer| {
            offer.capability == planned.capability
                && planned
                    .agent
                    .as_ref()
                    .is_none_or(|agent| *agent == offer.agent)
        };
        let meant = terms.offers.iter().filter(is_meant);
        meant
            .filter(|offer| fits(&self.plan, step, offer, terms).is_ok())
            .collect()
    }

    /// The steps that can go out: those that wait for nothing, in the order of the plan.
    pub fn ready(&self, state: impl Fn(&str) -> StepState) -> Vec<&str> {
        let is_over = |name: &StepName| {
            let is_there = self.plan.steps.contains_key(name);
            is_there && matches!(state(name.as_str()), StepState::Done | StepState::Skipped)
        };
        let names = self.plan.steps.keys();
        names
            .filter(|name| state(name.as_str()) == StepState::Waiting)
            .filter(|name| self.needs.get(*name).into_iter().flatten().all(is_over))
            .map(StepName::as_str)
            .collect()
    }
}

/// What the step needs to be over: what it names, and what its payload refers to.
pub(super) fn needs(step: &PlanStep) -> BTreeSet<StepName> {
    let referred = references(&step.payload).filter_map(|r| r.step().cloned());
    step.depends_on.iter().cloned().chain(referred).collect()
}
