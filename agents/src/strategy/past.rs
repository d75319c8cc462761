//! Past posts, as a payload tells of them: `{ knobs: { NAME: number }, metrics: { NAME: number } }` each. What is missing or wrong is
//! counted and left out, pair by pair.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::knob::Knob;

/// The most knobs, and metrics, that are looked at.
pub(super) const MAX_NAMES: usize = 16;

/// Reasons for leaving posts out of a comparison, and how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Missing {
    /// The value is absent or null.
    pub(super) absent: usize,
    /// The value is no finite number.
    pub(super) not_a_number: usize,
    /// The setting is outside the knob's range.
    pub(super) out_of_range: usize,
}

impl Missing {
    pub(super) fn total(self) -> usize {
        self.absent + self.not_a_number + self.out_of_range
    }

    fn count(&mut self, flaw: Flaw) {
        match flaw {
            Flaw::Absent => self.absent += 1,
            Flaw::NotANumber => self.not_a_number += 1,
            Flaw::OutOfRange => self.out_of_range += 1,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    Absent,
    NotANumber,
    OutOfRange,
}

fn number(value: Option<&Value>) -> Result<f64, Flaw> {
    match value {
        None | Some(Value::Null) => Err(Flaw::Absent),
        Some(value) => value
            .as_f64()
            .filter(|n| n.is_finite())
            .ok_or(Flaw::NotANumber),
    }
}

/// The setting and the metric of each post that has both, and what the others lack.
pub(super) fn pairs(posts: &[Value], knob: &Knob, metric: &str) -> (Vec<(f64, f64)>, Missing) {
    let mut missing = Missing::default();
    let mut pairs = Vec::new();
    for post in posts {
        let setting = number(post["knobs"].get(&knob.name)).and_then(|setting| {
            match (knob.min..=knob.max).contains(&setting) {
                true => Ok(setting),
                false => Err(Flaw::OutOfRange),
            }
        });
        let result = number(post["metrics"].get(metric));
        match setting.and_then(|setting| Ok((setting, result?))) {
            Ok(pair) => pairs.push(pair),
            Err(flaw) => missing.count(flaw),
        }
    }
    (pairs, missing)
}

/// The names that the posts have under this key, and how many posts have a number there, most first, then by name.
pub(super) fn names(posts: &[Value], key: &str) -> Vec<(String, usize)> {
    let all = posts.iter().filter_map(|post| post[key].as_object());
    let names: BTreeSet<&String> = all.flat_map(|fields| fields.keys()).collect();
    let usable = |name: &String| {
        let values = posts.iter().map(|post| number(post[key].get(name)));
        values.filter(Result::is_ok).count()
    };
    let mut counted: Vec<(String, usize)> = names
        .into_iter()
        .take(MAX_NAMES * 4)
        .map(|name| (name.clone(), usable(name)))
        .collect();
    counted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counted.truncate(MAX_NAMES);
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn knob() -> Knob {
        Knob::new("boldness", &json!(0.5))
    }

    #[test]
    fn what_a_post_lacks_is_counted_and_the_post_left_out() {
        let posts = [
            json!({"knobs": {"boldness": 0.5}, "metrics": {"likes": 3}}),
            json!({"knobs": {"boldness": null}, "metrics": {"likes": 3}}),
            json!({"knobs": {"boldness": 0.5}, "metrics": {}}),
            json!({"knobs": {"boldness": "NaN"}, "metrics": {"likes": 3}}),
            json!({"knobs": {"boldness": 0.5}, "metrics": {"likes": "many"}}),
            json!({"knobs": {"boldness": 1.5}, "metrics": {"likes": 3}}),
            json!({"knobs": [0.5], "metrics": "none"}),
            json!("a post"),
        ];
        let (pairs, missing) = pairs(&posts, &knob(), "likes");
        assert_eq!(pairs, [(0.5, 3.0)]);
        let expected = Missing {
            absent: 4,
            not_a_number: 2,
            out_of_range: 1,
        };
        assert_eq!((missing, missing.total()), (expected, 7));
    }

    #[test]
    fn names_come_with_how_often_they_are_there() {
        let posts = [
            json!({"metrics": {"likes": 1, "clicks": 2, "views": null}}),
            json!({"metrics": {"likes": 1, "views": "x"}}),
        ];
        let expected = [("likes", 2), ("clicks", 1), ("views", 0)];
        assert_eq!(
            names(&posts, "metrics"),
            expected.map(|(name, count)| (name.to_owned(), count))
        );
        assert_eq!(names(&posts, "knobs"), []);
    }
}
