//! Check that a step's capability is offered, by an agent whose input the payload fits.

use std::collections::BTreeMap;

use jsonschema::Validator;

use super::{
    Fault, Offer, Plan, PlanStep, Recovery, StepName, Terms,
    faults::{excerpt, listed},
    fitting::{misfits, unfit},
    schemas::compiled,
};

/// The offers, with schemas compiled on demand.
pub(super) struct Offers<'a> {
    terms: &'a Terms<'a>,
    validators: BTreeMap<usize, Option<Validator>>,
}

impl<'a> Offers<'a> {
    pub(super) fn new(terms: &'a Terms<'a>) -> Self {
        Self {
            terms,
            validators: BTreeMap::new(),
        }
    }

    /// Faults of the step's agent and capability and, if its references are valid, of its payload.
    pub(super) fn faults(
        &mut self,
        plan: &Plan,
        name: &StepName,
        step: &PlanStep,
        is_sound: bool,
    ) -> Vec<Fault> {
        let fallback = match &step.recovery {
            Recovery::Fallback { agent } => Some(Some(agent)),
            Recovery::Fail | Recovery::Skip => None,
        };
        let mut faults = Vec::new();
        for agent in [Some(step.agent.as_ref()), fallback].into_iter().flatten() {
            match self.meant(name, step, agent) {
                Err(fault) => faults.push(fault),
                Ok(meant) if is_sound => faults.extend(self.nearest(plan, name, step, &meant)),
                Ok(_) => {}
            }
        }
        faults.dedup();
        faults
    }

    /// Indexes of the offers that the step can be sent to.
    fn meant(
        &self,
        name: &StepName,
        step: &PlanStep,
        agent: Option<&String>,
    ) -> Result<Vec<usize>, Fault> {
        let offers = || self.terms.offers.iter().enumerate();
        let able: Vec<_> = offers()
            .filter(|(_, o)| o.capability == step.capability)
            .collect();
        if able.is_empty() {
            let mut offered: Vec<_> = offers().map(|(_, offer)| &offer.capability).collect();
            offered.sort();
            offered.dedup();
            return Err(Fault::NotOffered {
                step: name.to_string(),
                capability: excerpt(&step.capability),
                offered: listed(offered),
            });
        }
        let is_meant = |offer: &Offer| agent.is_none_or(|agent| *agent == offer.agent);
        let meant = able.iter().filter(|(_, offer)| is_meant(offer));
        let meant: Vec<_> = meant.map(|(at, _)| *at).collect();
        match (meant.is_empty(), agent) {
            (true, Some(agent)) => Err(Fault::NotOfferedBy {
                step: name.to_string(),
                agent: excerpt(agent),
                capability: excerpt(&step.capability),
                agents: listed(able.iter().map(|(_, offer)| &offer.agent)),
            }),
            _ => Ok(meant),
        }
    }

    /// `None` if one of the offers fits, else the mismatches of the nearest one.
    fn nearest(
        &mut self,
        plan: &Plan,
        name: &StepName,
        step: &PlanStep,
        meant: &[usize],
    ) -> Vec<Fault> {
        let mut nearest: Option<Vec<Fault>> = None;
        for at in meant {
            let offer = &self.terms.offers[*at];
            let compile = || offer.input.as_ref().and_then(compiled);
            let validator = self.validators.entry(*at).or_insert_with(compile);
            let misfits = misfits(plan, step, offer, validator.as_ref(), self.terms);
            if misfits.is_empty() {
                return Vec::new();
            }
            if nearest
                .as_ref()
                .is_none_or(|faults| misfits.len() < faults.len())
            {
                let faults = misfits
                    .into_iter()
                    .map(|why| unfit(name.as_str(), offer, why));
                nearest = Some(faults.collect());
            }
        }
        nearest.unwrap_or_default()
    }
}
