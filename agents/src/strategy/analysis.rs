//! The output's account of the numbers that it rests on.

use serde_json::{Value, json};

use super::{asked::Asked, comparison::Confidence};

/// The metrics that are compared; the one of the objective is the first.
const MAX_METRICS: usize = 6;

/// The computed numbers, their evidence and their limits.
pub(super) fn of(asked: &Asked) -> Value {
    let lead = asked.metric();
    let others = asked.metrics().into_iter().map(|(name, _)| name);
    let others = others.filter(|name| Some(name) != lead.as_ref());
    let metrics: Vec<String> = lead
        .clone()
        .into_iter()
        .chain(others)
        .take(MAX_METRICS)
        .collect();
    let comparisons: Vec<_> = metrics
        .iter()
        .flat_map(|metric| asked.compared(metric))
        .collect();
    let clear = comparisons
        .iter()
        .filter(|c| c.confidence > Confidence::Low)
        .count();
    let mut limits = Vec::new();
    match (asked.posts.is_empty(), comparisons.is_empty()) {
        (true, _) => limits.push("There is no past performance: the settings are the wished ones, or the middle of their range.".to_owned()),
        (false, true) => limits.push("The past posts have no metric, or there is no knob: nothing could be compared.".to_owned()),
        (false, false) => {
            limits.push("Past posts show what went together, not what caused it.".to_owned());
            let count = comparisons.len();
            limits.push(format!(
                "{clear} of {count} comparisons show a clear relation; of that many, {:.1} would by chance alone.",
                count as f64 * 0.05
            ));
        }
    }
    let missing: usize = comparisons.iter().map(|c| c.missing.total()).sum();
    if missing > 0 {
        limits.push(format!(
            "{missing} values were missing or unusable and are left out, pair by pair."
        ));
    }
    json!({
        "posts": asked.posts.len(),
        "metric": lead,
        "comparisons": comparisons,
        "limits": limits,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_the_numbers_are_told() {
        let limits = |payload: Value| of(&Asked::read(&payload))["limits"].to_string();
        assert!(limits(json!({})).contains("no past performance"));
        assert!(limits(json!({"priorPerformance": [{}]})).contains("nothing could be compared"));
        let post = |k: u64| json!({"knobs": {"k": k}, "metrics": {"m": k, "n": null}});
        let posts: Vec<Value> = (0..6).map(|k| post(k % 2)).collect();
        let told = limits(json!({"priorPerformance": posts}));
        assert!(
            told.contains("1 of 2 comparisons show a clear relation; of that many, 0.1"),
            "{told}"
        );
        assert!(told.contains("6 values were missing"), "{told}");
    }
}
