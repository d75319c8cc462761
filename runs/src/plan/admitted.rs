//! AdmittedPlan plans.

use std::collections::{BTreeMap, BTreeSet};

use super::{Offer, Plan, PlanStep, StepName, Terms, fits, references};

/// An admitted plan: no step depends on itself or on a missing step.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmittedPlan {
    plan: Plan,
    needs: BTreeMap<StepName, BTreeSet<StepName>>,
}

/// State of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// Not begun.
    Waiting,
    /// In flight.
    Out,
    /// Ended with an output.
    Done,
    /// Ended without an output; the run continues.
    Skipped,
    /// Failed for good.
    Failed,
}

impl AdmittedPlan {
    /// Wraps a journaled plan that was admitted before.
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

    /// Steps that must be done or skipped before this one: those in `depends_on` and those that its payload references.
    pub fn dependencies(&self, step: &str) -> BTreeSet<String> {
        let needs = self.needs.get(step).into_iter().flatten();
        needs.map(|name| name.as_str().to_owned()).collect()
    }

    /// Offers that the step can be sent to: of its agent or, without one, of any agent, if the payload fits their
    /// input. The fallback agent is not included.
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

    /// Steps that can begin, in the plan's order.
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

/// Dependencies of a step: its `depends_on` and the steps that its payload references.
pub(super) fn needs(step: &PlanStep) -> BTreeSet<StepName> {
    let referred = references(&step.payload).filter_map(|r| r.step().cloned());
    step.depends_on.iter().cloned().chain(referred).collect()
}
