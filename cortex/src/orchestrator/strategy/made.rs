//! Things that a run was to make, and whether they are there.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    super::{criteria::words, echoed, rounds, rules::GENERATION},
    Play,
};

impl Play<'_> {
    /// True if what was to be made in the end is there: of the parts of the result that are made, one that no other is made from. Where no
    /// part of it is to be made, anything is.
    pub(super) fn is_made(&self, form: &Value, result: &Value) -> bool {
        let outputs = &self.reached.outputs;
        let last = self.last_to_be_made(form);
        match last.is_empty() {
            true => !result.is_null(),
            false => last.iter().any(|step| outputs.contains_key(step)),
        }
    }

    /// True if what is there of what was to be made in the end is by stand-ins for a model, and only repeats the request.
    pub(super) fn is_echo(&self, form: &Value) -> bool {
        let reached = &self.reached;
        let criteria = &self.input.brief.constraints.acceptance_criteria;
        let criteria: Vec<String> = criteria.iter().map(words).collect();
        let asked = || {
            let criteria = criteria.iter().map(String::as_str);
            criteria.chain([&*self.input.brief.objective])
        };
        let last = self.last_to_be_made(form);
        let made = last.iter().filter_map(|step| {
            let work = reached.steps.get(step)?;
            Some((work.is_stand_in, reached.outputs.get(step)?))
        });
        let made: Vec<(bool, &Value)> = made.collect();
        let is_echo = |(is_stand_in, output): &(bool, &Value)| {
            *is_stand_in && echoed::is_echo(output, asked())
        };
        !made.is_empty() && made.iter().all(is_echo)
    }

    /// The parts of a result of this form that are to be made and that no other is made from.
    fn last_to_be_made(&self, form: &Value) -> Vec<String> {
        let reached = &self.reached;
        let offers = &self.begun_with.offers;
        let is_generation = |step: &String| match (
            reached.steps.get(step),
            reached.plan.steps.get(step.as_str()),
        ) {
            (Some(work), _) => work.phase == GENERATION,
            (None, Some(planned)) => offers.iter().any(|offered| {
                offered.offer.capability == planned.capability && offered.offer.phase == GENERATION
            }),
            (None, None) => false,
        };
        let made: BTreeSet<String> = rounds::steps_in(form).filter(is_generation).collect();
        let goes_into_another = |step: &String| {
            let mut others = made.iter().filter(|other| *other != step);
            others.any(|other| rounds::origins(reached, other).contains(step))
        };
        let last = made.iter().filter(|step| !goes_into_another(step));
        last.cloned().collect()
    }
}
