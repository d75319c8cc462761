//! Tools of the strategy agent. They look at the posts of the request, all of them.

use agenthub_sdk::{Failure, Tool, ToolContext, schemars};
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::Asked;

pub(super) const SURVEY: &str = "survey_performance";
pub(super) const COMPARE: &str = "compare_settings";

/// The metric to compare by.
#[derive(Deserialize, schemars::JsonSchema)]
struct By {
    /// The name of a metric, as the survey has it.
    metric: String,
}

/// A tool that tells what there is to compare.
pub(super) fn survey() -> Tool {
    Tool::new(
        SURVEY,
        "Tells how many past posts there are, the knobs with their ranges and wishes, and the metrics, each with the number of posts that have it",
        json!({"type": "object", "additionalProperties": false}),
        async |context: ToolContext, _: Value| Ok(surveyed(&asked(&context))),
    )
}

/// A tool that compares the settings of each knob with the results by one metric.
pub(super) fn compare() -> Tool {
    Tool::typed(
        COMPARE,
        "Compares the setting of each knob with the results of past posts by one metric: usable and missing values, rank correlation with its \
         95 % interval, mean setting of the best third and of the rest, a suggested setting and how far it can be trusted",
        async |context: ToolContext, by: By| compared(&asked(&context), &by.metric),
    )
}

fn asked(context: &ToolContext) -> Asked {
    Asked::read(&context.data().unwrap_or_default())
}

pub(super) fn surveyed(asked: &Asked) -> Value {
    let usable = super::past::names(&asked.posts, "knobs");
    let usable = |name: &str| {
        usable
            .iter()
            .find(|(n, _)| n == name)
            .map_or(0, |(_, n)| *n)
    };
    let knobs = asked.knobs.iter().map(|knob| {
        json!({
            "name": knob.name, "min": knob.min, "max": knob.max, "wish": knob.wish, "posts": usable(&knob.name),
        })
    });
    let metrics = asked.metrics().into_iter();
    let metrics = metrics.map(|(name, posts)| json!({ "name": name, "posts": posts }));
    json!({
        "posts": asked.posts.len(),
        "knobs": knobs.collect::<Vec<_>>(),
        "metrics": metrics.collect::<Vec<_>>(),
        "metricOfTheObjective": asked.metric(),
    })
}

fn compared(asked: &Asked, metric: &str) -> Result<Value, Failure> {
    let metrics: Vec<String> = asked.metrics().into_iter().map(|(name, _)| name).collect();
    if !metrics.iter().any(|name| name == metric) {
        let metrics = metrics.join(", ");
        return Err(Failure::failed(format!(
            "no past post has the metric {metric:?}; there are: {metrics}"
        )));
    }
    Ok(json!({ "metric": metric, "comparisons": asked.compared(metric) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        Asked::read(&json!({
            "brief": "b",
            "knobs": {"k": {"value": 2, "max": 4}, "other": 0.5},
            "priorPerformance": [{"knobs": {"k": 1}, "metrics": {"likes": 2}}, {"knobs": {"k": null}, "metrics": {"likes": 3}}],
        }))
    }

    #[test]
    fn the_survey_tells_what_there_is() {
        let expected = json!({
            "posts": 2,
            "knobs": [
                {"name": "k", "min": 0.0, "max": 4.0, "wish": 2.0, "posts": 1},
                {"name": "other", "min": 0.0, "max": 1.0, "wish": 0.5, "posts": 0},
            ],
            "metrics": [{"name": "likes", "posts": 2}],
            "metricOfTheObjective": "likes",
        });
        assert_eq!(surveyed(&asked()), expected);
    }

    #[test]
    fn each_knob_is_compared_and_an_unknown_metric_is_an_error_that_helps() {
        let found = compared(&asked(), "likes").expect("there is the metric");
        let knobs: Vec<&Value> = found["comparisons"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|c| &c["knob"])
            .collect();
        assert_eq!(knobs, ["k", "other"]);
        let error = compared(&asked(), "sales")
            .expect_err("there is none")
            .to_string();
        assert!(error.contains("there are: likes"), "{error}");
    }
}
