//! How a run ends: what is noted of it, and the bundle.

use agenthub_sdk::runs::{
    Next, RunOutcome,
    plan::{Scope, resolve},
};
use serde_json::{Map, Value, json};

use super::{
    super::{
        bundle::{self, Closing, Standing},
        kept::{Reached, Review},
        note,
        proposal::Ending,
        rules::{self, GENERATION, QA},
    },
    Play,
};

impl Play<'_> {
    /// The end: what is noted of it first, then the bundle.
    pub(super) fn close(&mut self, turn: u32, ending: &Ending, explanation: Option<&str>) -> Next {
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
