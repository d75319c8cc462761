//! Comparison of past posts: the setting of a knob that went with good results.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    knob::Knob,
    past::{self, Missing},
    statistics::{best_third_and_rest, interval, spearman},
};

/// With fewer posts nothing is said.
const FEWEST: usize = 5;

/// From so many posts on a clear relation is trusted fully.
const MANY: usize = 20;

/// Confidence in a suggestion. None of these says that the knob is the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Confidence {
    /// Fewer than 5 usable posts, or all alike: nothing can be said.
    TooLittleData,
    /// A relation may be chance: the 95 % interval of the correlation holds 0.
    Low,
    /// A relation in few posts.
    Moderate,
    /// A relation in 20 posts or more.
    High,
}

impl Confidence {
    /// Share of the way from the wish to what the best posts had that is suggested.
    fn weight(self) -> f64 {
        match self {
            Self::TooLittleData | Self::Low => 0.0,
            Self::Moderate => 0.5,
            Self::High => 1.0,
        }
    }

    pub(super) fn told(self) -> &'static str {
        match self {
            Self::TooLittleData => "too little data",
            Self::Low => "low",
            Self::Moderate => "moderate",
            Self::High => "high",
        }
    }
}

/// Evidence of past posts on one knob and one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Comparison {
    pub(super) knob: String,
    pub(super) metric: String,
    /// The posts that have both.
    pub(super) posts: usize,
    pub(super) missing: Missing,
    /// The rank correlation, and its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) spearman: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) interval: Option<(f64, f64)>,
    /// The mean setting of the third of the posts with the best results, and of the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) best_third: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) difference: Option<f64>,
    /// Within the knob's range.
    pub(super) suggested: f64,
    pub(super) confidence: Confidence,
    pub(super) why: String,
}

/// Compares the settings of a knob with the results by a metric.
pub(super) fn compare(posts: &[Value], knob: &Knob, metric: &str) -> Comparison {
    let (pairs, missing) = past::pairs(posts, knob, metric);
    let mut comparison = Comparison {
        knob: knob.name.clone(),
        metric: metric.to_owned(),
        posts: pairs.len(),
        missing,
        spearman: None,
        interval: None,
        best_third: None,
        rest: None,
        difference: None,
        suggested: rounded(knob.fallback()),
        confidence: Confidence::TooLittleData,
        why: String::new(),
    };
    let kept = match knob.wish {
        Some(wish) => format!("the wished setting {} stays", rounded(wish)),
        None => format!(
            "the middle of its range, {}, is taken",
            comparison.suggested
        ),
    };
    if pairs.len() < FEWEST {
        let count = counted(pairs.len(), "usable post");
        comparison.why = format!("too little data ({count}, {FEWEST} needed): {kept}");
        return comparison;
    }
    let Some(correlation) = spearman(&pairs) else {
        comparison.why = format!("too little data (all settings or all results are alike): {kept}");
        return comparison;
    };
    let (best, rest) = best_third_and_rest(&pairs);
    comparison.best_third = Some(rounded(best));
    comparison.rest = Some(rounded(rest));
    comparison.difference = Some(rounded(best - rest));
    let interval = interval(correlation, pairs.len());
    let is_clear = interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
    let confidence = match (is_clear, pairs.len() >= MANY) {
        (false, _) => Confidence::Low,
        (true, false) => Confidence::Moderate,
        (true, true) => Confidence::High,
    };
    let base = knob.fallback();
    let suggested = base + confidence.weight() * (best - base);
    comparison.spearman = Some(rounded(correlation));
    comparison.interval = interval.map(|(low, high)| (rounded(low), rounded(high)));
    comparison.suggested = rounded(suggested).clamp(knob.min, knob.max);
    comparison.confidence = confidence;
    comparison.why = match confidence {
        Confidence::TooLittleData | Confidence::Low => {
            format!("no clear relation in {} posts: {kept}", pairs.len())
        }
        Confidence::Moderate => format!(
            "a relation in only {} posts: half of the way to the {} of the best third",
            pairs.len(),
            rounded(best)
        ),
        Confidence::High => format!(
            "a relation in {} posts: the {} of the best third",
            pairs.len(),
            rounded(best)
        ),
    };
    comparison
}

/// `1 post`, `2 posts`.
pub(super) fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// To three digits after the point, so that equal data is told in equal words.
fn rounded(number: f64) -> f64 {
    let rounded = (number * 1e3).round() / 1e3;
    match rounded.is_finite() {
        true => rounded,
        false => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn post(setting: Value, result: Value) -> Value {
        json!({"knobs": {"k": setting}, "metrics": {"m": result}})
    }

    fn rising(count: u32) -> Vec<Value> {
        let post = |n: u32| post(json!(f64::from(n) / f64::from(count)), json!(n * n));
        (1..=count).map(post).collect()
    }

    fn of(posts: &[Value], said: Value) -> Comparison {
        compare(posts, &Knob::new("k", &said), "m")
    }

    /// spec: ORC-2.2
    #[test]
    fn a_clear_relation_in_many_posts_gives_the_setting_of_the_best_third() {
        // The best 8 of 24 have 17/24 to 24/24: 0.854 in the mean; the other 16 have 0.354.
        let found = of(&rising(24), json!(0.2));
        assert_eq!((found.posts, found.confidence), (24, Confidence::High));
        assert_eq!(
            (found.spearman, found.best_third, found.rest),
            (Some(1.0), Some(0.854), Some(0.354))
        );
        assert_eq!((found.difference, found.suggested), (Some(0.5), 0.854));
    }

    #[test]
    fn few_posts_move_a_wish_half_of_the_way() {
        // The best 2 of 6 have 5/6 and 6/6: 0.917.
        let found = of(&rising(6), json!(0.2));
        assert_eq!(found.confidence, Confidence::Moderate);
        assert_eq!(found.suggested, 0.558);
    }

    #[test]
    fn a_relation_that_may_be_chance_leaves_the_wish() {
        let posts: Vec<Value> = [(0.1, 5), (0.9, 4), (0.2, 9), (0.8, 8), (0.5, 1), (0.4, 7)]
            .map(|(k, m)| post(json!(k), json!(m)))
            .to_vec();
        let found = of(&posts, json!(0.25));
        assert_eq!((found.confidence, found.suggested), (Confidence::Low, 0.25));
        assert!(
            found.why.contains("no clear relation in 6 posts"),
            "{}",
            found.why
        );
    }

    #[test]
    fn too_little_data_is_said_and_nothing_made_of_it() {
        let mut posts = rising(4);
        posts.push(post(json!("NaN"), json!(1)));
        posts.push(post(Value::Null, json!(1)));
        let found = of(&posts, json!({"min": 0, "max": 10}));
        assert_eq!((found.posts, found.missing.total()), (4, 2));
        assert_eq!(
            (found.confidence, found.suggested),
            (Confidence::TooLittleData, 5.0)
        );
        assert!(
            found.why.starts_with("too little data (4 usable posts"),
            "{}",
            found.why
        );
        let alike: Vec<Value> = (0..9).map(|n| post(json!(0.5), json!(n))).collect();
        let found = of(&alike, json!(0.7));
        assert_eq!(
            (found.confidence, found.suggested),
            (Confidence::TooLittleData, 0.7)
        );
        assert!(found.why.contains("alike"), "{}", found.why);
        assert_eq!(of(&[], Value::Null).suggested, 0.5);
    }

    #[test]
    fn ten_thousand_posts_are_looked_at() {
        let found = of(&rising(10_000), Value::Null);
        assert_eq!((found.posts, found.confidence), (10_000, Confidence::High));
    }

    fn anything() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<f64>().prop_map(|n| json!(n)),
            (0.0..1.0).prop_map(|n: f64| json!(n)),
            "\\PC{0,6}".prop_map(Value::from),
            Just(Value::Null),
            Just(json!([1])),
        ]
    }

    proptest! {
        #[test]
        fn whatever_the_data_the_suggestion_is_in_range(
            values in prop::collection::vec((anything(), anything()), 0..40),
            said in anything(),
        ) {
            let posts: Vec<Value> = values.into_iter().map(|(k, m)| post(k, m)).collect();
            let found = of(&posts, said);
            prop_assert!((0.0..=1.0).contains(&found.suggested));
            prop_assert_eq!(found.posts + found.missing.total(), posts.len());
            let told = serde_json::to_value(&found).expect("it is JSON");
            prop_assert_eq!(serde_json::from_value::<Comparison>(told).expect("it is read back"), found);
        }
    }
}
