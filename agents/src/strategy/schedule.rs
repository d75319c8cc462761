//! A schedule from the constraints of a payload, by the calendar alone.

use jiff::{Span, civil::Date};
use serde_json::{Value, json};

use super::asked::Asked;
use crate::{fields::MAX_POSTS, text::sentences};

/// Number of posts where nothing says so.
const POSTS: u64 = 3;

/// The days between two posts where nothing says so.
const DAYS: u64 = 7;

/// The posts: when, and what each is about. Texts come from the brief, one sentence after the other.
pub(super) fn schedule(asked: &Asked) -> Vec<Value> {
    let said = &asked.schedule;
    let date = |key: &str| {
        said[key]
            .as_str()
            .and_then(|text| text.parse::<Date>().ok())
    };
    let number = |key: &str| said[key].as_u64().filter(|&n| n > 0);
    let (start, end) = (date("start"), date("end"));
    let span = start.zip(end).and_then(|(start, end)| days(start, end));
    let fitting = span.map(|span| span / number("everyDays").unwrap_or(DAYS) + 1);
    let count = number("posts").or(fitting).unwrap_or(POSTS).min(MAX_POSTS);
    let between = match (number("everyDays"), span) {
        (Some(days), _) => days,
        (None, Some(span)) => span / count.saturating_sub(1).max(1),
        (None, None) => DAYS,
    };
    let about = sentences::of(match asked.brief.is_empty() {
        true => &asked.objective,
        false => &asked.brief,
    });
    (0..count)
        .map(|n| {
            let after = n.saturating_mul(between);
            let when = start.and_then(|start| day(start, after));
            let when = when.map_or_else(
                || format!("day {}", after.saturating_add(1)),
                |d| d.to_string(),
            );
            let place = usize::try_from(n).unwrap_or(0) % about.len().max(1);
            let mut post =
                json!({ "when": when, "what": about.get(place).copied().unwrap_or_default() });
            if let Some(platform) = &asked.platform {
                post["platform"] = platform.as_str().into();
            }
            post
        })
        .collect()
}

/// The reason why the posts cannot be as far apart as is asked for between start and end, if they cannot.
pub(super) fn fault(asked: &Asked) -> Option<String> {
    let said = &asked.schedule;
    let date = |key: &str| said[key].as_str()?.parse::<Date>().ok();
    let (start, end) = (date("start")?, date("end")?);
    let (posts, apart) = (said["posts"].as_u64()?, said["everyDays"].as_u64()?);
    let last = day(start, posts.saturating_sub(1).saturating_mul(apart));
    let is_over = last.is_none_or(|last| last > end);
    is_over.then(|| {
        format!(
            "the schedule cannot be kept: {posts} posts, one every {apart} days from {start} on, go beyond {end}; ask for fewer posts, or leave out everyDays"
        )
    })
}

/// The days from one date to another, if it is not earlier.
fn days(start: Date, end: Date) -> Option<u64> {
    let span = start.until(end).ok()?;
    u64::try_from(span.get_days()).ok()
}

fn day(start: Date, after: u64) -> Option<Date> {
    let after = i64::try_from(after).ok()?;
    start.checked_add(Span::new().try_days(after).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn days_of(schedule_said: Value) -> Vec<String> {
        let asked =
            Asked::read(&json!({"brief": "One. Two.", "schedule": schedule_said, "platform": "p"}));
        let posts = schedule(&asked);
        posts
            .iter()
            .map(|p| p["when"].as_str().expect("a text").to_owned())
            .collect()
    }

    #[test]
    fn posts_that_go_beyond_the_end_are_a_fault() {
        let fault =
            |schedule: Value| fault(&Asked::read(&json!({"brief": "b", "schedule": schedule})));
        let of = |posts: u64, days: u64| json!({"start": "2027-06-01", "end": "2027-06-15", "posts": posts, "everyDays": days});
        assert_eq!(fault(of(3, 7)), None);
        assert_eq!(
            fault(json!({"start": "2027-06-01", "end": "2027-06-03", "posts": 10})),
            None
        );
        let why = fault(of(4, 7)).expect("the last is on 22 June");
        assert!(
            why.contains("4 posts, one every 7 days from 2027-06-01 on, go beyond 2027-06-15"),
            "{why}"
        );
    }

    #[test]
    fn the_posts_are_spread_as_the_constraints_say() {
        for (said, expected) in [
            (
                json!({"start": "2026-12-28", "end": "2027-01-11"}),
                vec!["2026-12-28", "2027-01-04", "2027-01-11"],
            ),
            (
                json!({"start": "2026-02-27", "posts": 2, "everyDays": 2}),
                vec!["2026-02-27", "2026-03-01"],
            ),
            (
                json!({"start": "2026-03-01", "end": "2026-03-11", "posts": 3}),
                vec!["2026-03-01", "2026-03-06", "2026-03-11"],
            ),
            (json!({"posts": 2}), vec!["day 1", "day 8"]),
            (json!({"start": "soon", "posts": 1}), vec!["day 1"]),
            (json!("weekly"), vec!["day 1", "day 8", "day 15"]),
        ] {
            assert_eq!(days_of(said.clone()), expected, "{said}");
        }
    }

    #[test]
    fn each_post_is_about_a_sentence_of_the_brief() {
        let asked = Asked::read(&json!({"brief": "One thing. Another!", "platform": "p"}));
        let posts = schedule(&asked);
        let what: Vec<&Value> = posts.iter().map(|p| &p["what"]).collect();
        assert_eq!(what, ["One thing.", "Another!", "One thing."]);
        assert_eq!(posts[0]["platform"], "p");
    }

    proptest! {
        #[test]
        fn any_constraints_are_survived(
            start in "[0-9]{4}-[0-9]{2}-[0-9]{2}|9999-12-31", end in "[0-9]{4}-[0-9]{2}-[0-9]{2}", posts: u64, every: u64,
        ) {
            let said = json!({"start": start, "end": end, "posts": posts, "everyDays": every});
            let count = days_of(said).len() as u64;
            prop_assert!((1..=MAX_POSTS).contains(&count));
        }
    }
}
