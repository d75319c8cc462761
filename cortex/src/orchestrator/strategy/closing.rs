//! The end of a run: its last notes, and the bundle.

use std::collections::BTreeSet;

use agenthub_sdk::runs::{
    Next, RunOutcome,
    plan::{Scope, Source, references, resolve},
};
use serde_json::{Map, Value, json};

use super::{
    super::{
        bundle::{self, Closing, PassedOver},
        echoed::ECHOED,
        handed_on,
        kept::{Reached, WorkState},
        left_aside, note,
        proposal::Ending,
        rounds::{self, Best},
        rules::{self, GENERATION, QA},
        verdicts::{NOTHING_REVIEWED, Standing, Verdicts},
    },
    Play,
};
use crate::brief::{ACCEPTANCE_CRITERIA, QUALITY_THRESHOLD};

/// A run without a result.
const NOTHING_MADE: &str = "nothing was made";

impl Play<'_> {
    /// The end: what is noted of it first, then the bundle.
    pub(super) fn close(&mut self, turn: u32, ending: &Ending, explanation: Option<&str>) -> Next {
        match self.noted_end(turn) {
            Err(next) => next,
            Ok(()) => Next::Finish(self.outcome(ending, explanation)),
        }
    }

    /// The end of a run that cannot go on: what was made until then, if anything was.
    pub(super) fn cut_short(&self, error: &str) -> RunOutcome {
        let outcome = self.outcome(&Ending::default(), Some(error));
        match &outcome {
            RunOutcome::Completed { data, .. } if data["bundle"]["quality"]["made"] == true => {
                outcome
            }
            _ => RunOutcome::failed(error),
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
            (_, true) => self.planned_form(),
            (Value::Object(planned), false) => {
                let mut form = planned.clone();
                form.extend(ending.artifacts.clone());
                form.into()
            }
            (_, false) => proposed,
        };
        let (form, unreviewed) = rounds::reviewed(&self.reached, form);
        let Best { form, is_earlier } = rounds::best(&self.reached, form);
        let is_earlier = is_earlier || !unreviewed.is_empty();
        let verdicts = Verdicts::of(&self.reached, &form);
        let result = self.resolved(&form);
        let standing = verdicts.standing(constraints);
        let is_unchecked = matches!(standing, Standing::Unchecked(_));
        let unmet = match standing {
            Standing::Met => None,
            Standing::Unmet(why) | Standing::Unchecked(why) | Standing::NotReviewed(why) => {
                Some(why)
            }
        };
        let is_echo = self.is_echo(&form);
        let is_made = !is_echo && self.is_made(&form, &result);
        let passed_over = match is_made {
            true => self.passed_over(&form, &verdicts),
            false => PassedOver::default(),
        };
        let is_unchecked = is_unchecked || unmet.is_none() || is_echo;
        let unmet = match (unmet, passed_over.in_words()) {
            (Some(unmet), Some(over)) => Some(format!("{unmet}; {over}")),
            (unmet, over) => unmet.or(over),
        };
        let unmet = match (unmet, is_made) {
            // What was repeated meets no criterion, however it measures.
            _ if is_echo => Some(ECHOED.to_owned()),
            (None, false) => Some(NOTHING_MADE.to_owned()),
            // Why there is no review is no matter where there is nothing to review.
            (Some(unmet), false) if unmet == NOTHING_REVIEWED => Some(NOTHING_MADE.to_owned()),
            (unmet, _) => unmet,
        };
        let is_last = is_made && !is_earlier && !self.last_round_failed();
        let said = unmet.as_deref().unwrap_or_default();
        let failed = (!is_last).then(|| self.came_to_nothing(said)).flatten();
        let away = (!is_made || verdicts.gap.is_some())
            .then(|| self.away())
            .flatten();
        let is_over = self.reached.depth >= constraints.execution_depth();
        let explanation = unmet.map(|unmet| {
            let best = format!(
                "this is the best of {} rounds, and no further one is allowed",
                self.reached.depth
            );
            let later = (!unreviewed.is_empty()).then(|| {
                let steps = unreviewed.join(" and ");
                format!(
                    "the output of {steps} was not reviewed: the result is an earlier one that was"
                )
            });
            let is_repeated = explanation.is_some_and(|why| why.starts_with(&unmet));
            let parts = [
                self.refused(),
                failed,
                later,
                (!is_repeated).then_some(unmet),
                away,
                match explanation {
                    Some(explanation) => Some(explanation.to_owned()),
                    None => (!is_unchecked && is_over).then_some(best),
                },
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            parts.join("; ")
        });
        let summary = match is_made {
            true => ending.summary.clone(),
            false => without_scores(&ending.summary),
        };
        let closing = Closing {
            summary: &summary,
            explanation: explanation.as_deref(),
            is_made,
            not_taken: self.not_taken(),
            passed_over,
            unreviewed,
        };
        let bundle = bundle::bundle(result, &verdicts, &self.reached, constraints, &closing);
        let text = match (&*summary, &explanation) {
            ("", None) => "done".to_owned(),
            (summary, None) => summary.to_owned(),
            ("", Some(why)) => why.clone(),
            (summary, Some(why)) if is_unchecked => format!("{why}\n\n{summary}"),
            (summary, Some(why)) => format!("{summary}\n\n{why}"),
        };
        let data = json!({
            "bundle": bundle,
            "met": explanation.is_none(),
            "learned": if is_made { learned(&self.reached, &verdicts) } else { Value::Null },
            "scores": scores(&self.reached),
        });
        RunOutcome::with_data(text, data)
    }

    /// The wishes that a result of this form passes over: the parts of the payload that reached nobody whose work is in it, or in whose place
    /// something else stands, and what its makers and reviewers say that they left aside.
    fn passed_over(&self, form: &Value, verdicts: &Verdicts<'_>) -> PassedOver {
        let reached = &self.reached;
        // The run itself is held to these.
        let is_own = |key: &str| [ACCEPTANCE_CRITERIA, QUALITY_THRESHOLD].contains(&key);
        let untaken = self.not_taken();
        let payload = self.input.brief.payload.iter();
        let payload = payload.filter(|(key, _)| !is_own(key) && !untaken.contains(key));
        let payload: Map<String, Value> = payload.map(|(k, v)| (k.clone(), v.clone())).collect();
        let steps = left_aside::contributing(reached, form, verdicts);
        let works = steps.iter().filter_map(|step| reached.steps.get(step));
        let mut handed: BTreeSet<Vec<String>> =
            works.flat_map(|work| work.handed.iter().cloned()).collect();
        let shown = references(form).filter(|reference| *reference.source() == Source::Input);
        handed.extend(shown.map(|reference| reference.path().to_vec()));
        let outputs = steps.iter().filter_map(|step| {
            let is_review = reached.steps.get(step)?.phase == QA;
            reached.outputs.get(step).filter(|_| !is_review)
        });
        let not_handed_on = handed_on::not_handed(&payload, &handed);
        // What nobody was handed is named once.
        let payload = payload.into_iter();
        let payload: Map<String, Value> = payload
            .filter(|(key, _)| !not_handed_on.contains(key))
            .collect();
        PassedOver {
            replaced: handed_on::replaced(&payload, outputs),
            not_handed_on,
            left_aside: left_aside::of_result(reached, form, verdicts, self.begun_with.is_stand_in),
        }
    }

    /// True if something was to be made in the last round, and nothing was.
    fn last_round_failed(&self) -> bool {
        let last = self.reached.steps.values();
        let mut last = last
            .filter(|work| work.phase == GENERATION && work.depth == self.reached.depth)
            .peekable();
        last.peek().is_some() && last.all(|work| work.state != WorkState::Completed)
    }

    /// Agents that were away when the run began and whose kind of work was not done, in words.
    fn away(&self) -> Option<String> {
        let is_done = |phase: &str| {
            let mut steps = self.reached.steps.values();
            steps.any(|work| work.phase == phase && work.state == WorkState::Completed)
        };
        let away = self.begun_with.away.iter();
        let away = away.filter(|away| !is_done(&away.phase));
        let named: Vec<String> = away
            .map(|away| format!("{} ({})", away.agent, away.capability))
            .collect();
        (!named.is_empty())
            .then(|| format!("these agents are known and away: {}", named.join(", ")))
    }

    /// The steps that came to nothing without a person's doing, in words; without those of which it is said already.
    fn came_to_nothing(&self, said: &str) -> Option<String> {
        let steps = self.reached.steps.iter();
        let steps = steps.filter(|(_, work)| {
            !work.is_refused && matches!(work.state, WorkState::Failed | WorkState::Skipped)
        });
        let told: Vec<String> = steps
            .map(|(step, work)| format!("step {step} came to nothing: {}", work.error))
            .filter(|told| !said.contains(told.trim_start_matches("step ")))
            .collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// The parts of the payload that no capability takes by its name, and no step of the plan refers to. Capabilities do not take values
    /// that do not fit.
    fn not_taken(&self) -> Vec<String> {
        let inputs = self.begun_with.offers.iter();
        let inputs: Vec<&Value> = inputs.filter_map(|o| o.offer.input.as_ref()).collect();
        let plan = &self.reached.plan;
        let used: String = plan
            .steps
            .values()
            .map(|step| step.payload.to_string())
            .collect();
        let used = used + &plan.result.to_string();
        let refers_to = |key: &str| {
            let refers = |end: &str| used.contains(&format!("${{input.{key}{end}"));
            ["}", ".", "["].into_iter().any(refers) || used.contains("${input}")
        };
        let payload = self.input.brief.payload.iter();
        let untaken = payload.filter(|(key, _)| !refers_to(key));
        let untaken = untaken.filter_map(|(key, value)| {
            let takers = || inputs.iter().filter(|schema| is_named(schema, key));
            if takers().any(|schema| fits(schema, key, value)) {
                return None;
            }
            Some(match takers().next() {
                None => key.clone(),
                Some(_) => format!("{key} (its value does not fit)"),
            })
        });
        untaken.collect()
    }

    /// The steps that a person refused, in words.
    fn refused(&self) -> Option<String> {
        let steps = self.reached.steps.iter();
        let steps = steps.filter(|(_, work)| {
            work.is_refused && matches!(work.state, WorkState::Failed | WorkState::Skipped)
        });
        let told: Vec<String> = steps
            .map(|(step, work)| format!("a person refused step {step}: {}", work.error))
            .collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// The result that the plan makes of what there is; without a form, what was reviewed last.
    fn planned_form(&self) -> Value {
        let planned = &self.reached.plan.result;
        let is_empty = planned.as_object().is_some_and(Map::is_empty) || planned.is_null();
        if !is_empty {
            return planned.clone();
        }
        let last = self.reached.reviews.last();
        let steps = self.reached.steps.iter();
        let made = steps.filter(|(step, work)| {
            work.phase == GENERATION && self.reached.outputs.contains_key(*step)
        });
        let chosen = made.filter(|(step, _)| {
            last.is_none_or(|review| review.of.is_empty() || review.of.contains(step))
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

/// The scores of reviewed work, each with its maker.
pub(crate) fn scores(reached: &Reached) -> Vec<(String, f64)> {
    let reviews = reached.reviews.iter();
    let scored = reviews.filter_map(|review| Some((review, review.score?)));
    let made = scored.flat_map(|(review, score)| {
        let steps = review.of.iter().filter_map(|step| reached.steps.get(step));
        let made =
            steps.filter(|work| work.phase == GENERATION && work.state == WorkState::Completed);
        made.map(move |work| (work.agent.clone(), score))
    });
    made.collect()
}

/// The summary of a run that made nothing, without the sentences that name a score: a score is of something.
fn without_scores(summary: &str) -> String {
    let sentences = summary.split_inclusive(". ");
    let kept: String = sentences
        .filter(|sentence| {
            let mut words = sentence.split(|c: char| !c.is_alphanumeric());
            !words.any(|word| matches!(&*word.to_lowercase(), "score" | "scores" | "scored"))
        })
        .collect();
    kept.trim_end().to_owned()
}

/// The lesson for later runs of the series: which settings led to which score.
fn learned(reached: &Reached, verdicts: &Verdicts<'_>) -> Value {
    let is_reviewed = |step: &&String| {
        verdicts
            .reviews
            .iter()
            .any(|review| review.of.contains(step))
    };
    let outputs = || reached.outputs.iter().rev();
    let reviewed = outputs().filter(|(step, _)| is_reviewed(step));
    let knobs = reviewed
        .chain(outputs())
        .find_map(|(_, output)| knobs_in(output, 0));
    let score = verdicts.score();
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

/// True if an object of this schema has a field of this name.
fn is_named(schema: &Value, key: &str) -> bool {
    schema["properties"].get(key).is_some()
}

/// True if the value of a field is as the schema of its object wants it, and if nobody can tell.
fn fits(schema: &Value, key: &str, value: &Value) -> bool {
    let field = json!({
        "$defs": schema["$defs"].as_object().cloned().unwrap_or_default(),
        "properties": {key: schema["properties"][key]},
    });
    match jsonschema::validator_for(&field) {
        Ok(validator) => validator.is_valid(&json!({ key: value })),
        Err(_) => true,
    }
}
