//! Schemas of what a plan is made of: times, and past posts.

use serde_json::{Value, json};

/// The most posts of a schedule.
pub(crate) const MAX_POSTS: u64 = 52;

/// The times at which something is to be published.
pub(crate) fn schedule() -> Value {
    let date = json!({ "type": ["string", "null"], "format": "date" });
    let days = json!({ "type": ["integer", "null"], "minimum": 1 });
    let posts = json!({ "type": ["integer", "null"], "minimum": 1, "maximum": MAX_POSTS });
    json!({
        "type": ["object", "null"],
        "description": "start and end (YYYY-MM-DD), posts, everyDays",
        "properties": { "start": date, "end": date, "posts": posts, "everyDays": days },
        "additionalProperties": false,
        "x-ascending": ["start", "end"],
    })
}

/// Past posts. What is missing or wrong among their numbers is left out, and counted.
pub(crate) fn prior_performance() -> Value {
    let object =
        |description: &str| json!({ "type": ["object", "null"], "description": description });
    let post = json!({ "type": "object", "properties": {
        "knobs": object("Setting by knob; null where it is not known"),
        "metrics": object("Result by metric; null where it is not known"),
    } });
    json!({
        "type": ["array", "null"], "items": post,
        "description": "Past posts: { knobs: { NAME: number }, metrics: { NAME: number } }",
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{right, wrong},
        *,
    };

    #[test]
    fn schedules_that_make_no_sense_are_found() {
        let schedule = schedule();
        right(
            &schedule,
            &[
                json!({"start": "2027-05-03", "end": "2027-05-03", "posts": 3, "everyDays": 2}),
                json!({"start": null}),
            ],
        );
        wrong(
            &schedule,
            &[
                (
                    json!({"start": "2027-05-11", "end": "2027-05-03"}),
                    "has `start` 2027-05-11 after `end` 2027-05-03",
                ),
                (
                    json!({"start": "2027-02-30"}),
                    "start is \"2027-02-30\", which is no date",
                ),
                (json!({"start": "next week"}), "no date"),
                (json!({"posts": -3}), "posts is -3; it is at least 1"),
                (
                    json!({"posts": 2.5}),
                    "posts is 2.5; it takes a whole number",
                ),
                (json!({"posts": 99}), "posts is 99; it is at most 52"),
                (json!({"everyDay": 2}), "everyDay is no field of it"),
            ],
        );
    }

    #[test]
    fn past_posts_may_leave_open_what_is_not_known() {
        wrong(
            &prior_performance(),
            &[
                (json!([1]), "[0] is 1; it takes an object"),
                (json!([{"metrics": 5}]), "[0].metrics"),
            ],
        );
        right(
            &prior_performance(),
            &[json!([{"id": "p", "knobs": {"a": 7.5}, "metrics": {"likes": null}}])],
        );
    }
}
