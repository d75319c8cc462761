//! A strategy without a model: the tools are called, and the schedule and the reasons are made from their numbers.

use agenthub_sdk::model::Request;
use serde_json::{Map, Value, json};

use super::{
    asked::Asked,
    comparison::{Comparison, Confidence, counted},
    schedule::schedule,
    tools::{COMPARE, SURVEY},
};
use crate::offline::{Answer, result};

const IN_WORDS: &str = "I make content strategies: a schedule, settings of the knobs, and the reasons. Give me a brief as data (`brief`, and where you \
    have them `objective`, `audience`, `knobs`, `schedule` and `priorPerformance`, the past posts with their knobs and metrics): I compute which \
    settings went with good results, how far that can be trusted, and what follows. I work without a language model here, so I cannot discuss it in words.";

/// The next tool, or the strategy once the tools have said what they can.
pub(super) fn answer(request: &Request) -> Answer {
    let Some(input) = request
        .data("input")
        .filter(|input| input["brief"].is_string())
    else {
        return Answer::Unable(IN_WORDS);
    };
    let Some(survey) = result(request, SURVEY) else {
        return Answer::Call(SURVEY, json!({}));
    };
    let metric = &survey["metricOfTheObjective"];
    let compared = result(request, COMPARE);
    if metric.is_string() && compared.is_none() {
        return Answer::Call(COMPARE, json!({ "metric": metric }));
    }
    let comparisons = compared.map(|value| &value["comparisons"]);
    let comparisons: Vec<Comparison> = comparisons
        .and_then(|list| serde_json::from_value(list.clone()).ok())
        .unwrap_or_default();
    let asked = Asked::read(input);
    let schedule = schedule(&asked);
    let unwritten = unwritten(&asked, schedule.len());
    let strategy = json!({
        "schedule": schedule,
        "rationale": rationale(&asked, survey, metric.as_str(), &comparisons),
        "knobs": settings(survey, &comparisons),
    });
    Answer::Computed(json!({ "strategy": strategy }).to_string(), unwritten)
}

/// The posts of a schedule that was asked for are planned here, and none of them is written.
fn unwritten(asked: &Asked, posts: usize) -> Vec<String> {
    let is_any = !asked.schedule.is_null() && posts > 1;
    let told =
        || format!("{posts} posts are planned, and the text of each is to be asked for by itself");
    is_any.then(told).into_iter().collect()
}

/// The setting that was found for each knob, or else its wish or the middle of its range.
fn settings(survey: &Value, comparisons: &[Comparison]) -> Map<String, Value> {
    let knobs = survey["knobs"].as_array().into_iter().flatten();
    let setting = |knob: &Value| {
        let name = knob["name"].as_str()?;
        let found = comparisons.iter().find(|c| c.knob == name);
        let number = |key: &str| knob[key].as_f64();
        let setting = match found {
            Some(comparison) => comparison.suggested,
            None => number("wish").unwrap_or(f64::midpoint(number("min")?, number("max")?)),
        };
        Some((name.to_owned(), json!(setting)))
    };
    knobs.filter_map(setting).collect()
}

fn rationale(
    asked: &Asked,
    survey: &Value,
    metric: Option<&str>,
    comparisons: &[Comparison],
) -> String {
    let mut paragraphs = Vec::new();
    let goal = match asked.objective.is_empty() {
        true => &asked.brief,
        false => &asked.objective,
    };
    let goal = goal.trim_end_matches(['.', '!', ' ']);
    paragraphs.push(match asked.audience.is_empty() {
        true => format!("Objective: {goal}."),
        false => format!(
            "Objective: {goal}. Audience: {}.",
            asked.audience.trim_end_matches('.')
        ),
    });
    let posts = survey["posts"]
        .as_u64()
        .and_then(|n| usize::try_from(n).ok());
    let posts = counted(posts.unwrap_or(0), "past post");
    match metric {
        Some(metric) => {
            let lines = comparisons.iter().map(told).collect::<Vec<_>>();
            let heading = format!("From {posts}, by {metric}:");
            paragraphs.push(format!("{heading}\n{}", lines.join("\n")));
            if comparisons.iter().any(|c| c.confidence > Confidence::Low) {
                paragraphs.push("This is what went together, not what caused it: change one knob at a time to learn more.".to_owned());
            }
        }
        None => paragraphs.push(
            "Past posts say nothing yet (too little data): the wished settings are taken, or the middle of the range.".to_owned(),
        ),
    }
    if asked.schedule.is_null() {
        paragraphs.push("No schedule was given: the posts are a week apart.".to_owned());
    }
    paragraphs.join("\n\n")
}

fn told(comparison: &Comparison) -> String {
    let Comparison {
        knob,
        suggested,
        confidence,
        why,
        ..
    } = comparison;
    let mut line = match confidence {
        Confidence::TooLittleData => format!("- {knob}: {suggested}; {why}"),
        confidence => format!(
            "- {knob}: {suggested}, confidence {}; {why}",
            confidence.told()
        ),
    };
    if let (Some(correlation), Some((low, high))) = (comparison.spearman, comparison.interval) {
        line.push_str(&format!(
            "; rank correlation {correlation}, 95 % interval {low} to {high}"
        ));
    }
    let missing = comparison.missing.total();
    if missing > 0 {
        let posts = counted(missing, "post");
        line.push_str(&format!("; {posts} without usable values left out"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: ORC-2.3
    #[test]
    fn posts_that_were_asked_for_and_that_nobody_writes_are_told() {
        let told = |schedule: Value| {
            let asked = Asked::read(&json!({"brief": "b", "schedule": schedule}));
            unwritten(&asked, super::schedule(&asked).len())
        };
        assert_eq!(told(json!({"posts": 1})), [""; 0]);
        assert_eq!(told(Value::Null), [""; 0]);
        let three = "3 posts are planned, and the text of each is to be asked for by itself";
        assert_eq!(told(json!({"posts": 3})), [three]);
    }
}
