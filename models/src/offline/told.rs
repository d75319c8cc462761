//! Results of tools, in words.

use agenthub_runs::{Shortfall, tool_loop::FIND_AGENTS};
use serde::Deserialize;
use serde_json::Value;

use super::decision::Outcome;
use super::layout::without_mark;
use crate::Undone;

/// True if a result is an error.
pub(super) fn is_error(value: &Value) -> bool {
    value.get("error").is_some_and(says_something)
}

/// True of anything but null, false, 0 and what is empty.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is_so) => *is_so,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// Extent of what a result leaves undone, as it says itself: it is an error, or data with one of the usual marks of a failure or of a part.
pub(super) fn left_undone(value: &Value) -> Option<Undone> {
    let cut = is_cut(value).then_some(Undone::Part);
    // Agents say it in a form of their own.
    if value.get("agent").is_some() || is_error(value) {
        return is_error(value).then_some(Undone::All).or(cut);
    }
    let is = |key: &str, mark: bool| {
        value.get(key).is_some_and(|said| match said {
            Value::String(text) => text.eq_ignore_ascii_case(&mark.to_string()),
            said => *said == mark,
        })
    };
    let says = |key: &str, words: &[&str]| {
        let said = value.get(key).and_then(Value::as_str);
        said.is_some_and(|said| words.iter().any(|word| said.eq_ignore_ascii_case(word)))
    };
    let has_errors = value.get("errors").is_some_and(says_something);
    let text = value.as_str().unwrap_or_default().trim_start();
    let is_text_of_error = text
        .get(..6)
        .is_some_and(|head| head.eq_ignore_ascii_case("error:"));
    let has_failed = [is("ok", false), is("success", false), is("isError", true)];
    let is_nothing = has_failed.contains(&true)
        || ["status", "state"]
            .iter()
            .any(|key| says(key, &["failed", "failure", "error"]))
        || says("undone", &["all"])
        || is("rejected", true)
        || has_errors
        || is_text_of_error;
    let is_part = is("partial", true)
        || says("undone", &["part"])
        || says("status", &["partial"])
        || ["failures", "rejected"]
            .iter()
            .any(|key| value.get(key).is_some_and(says_something));
    match (is_nothing, is_part) {
        (true, _) => Some(Undone::All),
        (_, true) => Some(Undone::Part),
        _ => left_undone_within(value).or(cut),
    }
}

/// The same of the items of a list, or of a `result` within an object.
fn left_undone_within(value: &Value) -> Option<Undone> {
    let Some(items) = value.as_array() else {
        return value.get("result").and_then(left_undone);
    };
    let ends: Vec<Option<Undone>> = items.iter().map(left_undone).collect();
    match ends.iter().flatten().next() {
        None => None,
        Some(_) if ends.iter().all(|end| *end == Some(Undone::All)) => Some(Undone::All),
        Some(_) => Some(Undone::Part),
    }
}

/// True if a part of the result was left out because it is long: its text has the mark of that, such as `[… 7 bytes left out]`.
fn is_cut(value: &Value) -> bool {
    let text = value.get("text").unwrap_or(value).as_str();
    text.is_some_and(is_cut_text)
}

/// The same of a text.
pub(super) fn is_cut_text(text: &str) -> bool {
    let is_mark = |behind: &str| {
        let mark = behind.split(']').next().unwrap_or_default();
        mark.trim_end_matches([' ', '…']).ends_with(" left out")
    };
    text.split("[… ").skip(1).any(is_mark)
}

/// A result in a sentence that names who gave it.
pub(super) fn told(name: &str, value: &Value) -> String {
    let agent = value.get("agent").and_then(Value::as_str);
    let who = agent.unwrap_or(name);
    if let Some(error) = value
        .get("error")
        .filter(|error| says_something(error))
        .map(|error| error.get("message").unwrap_or(error))
    {
        let error = plain(error);
        if error.contains(who) {
            return error;
        }
        if !error.is_empty() {
            return format!("{who} failed: {error}");
        }
    }
    if let Some(found) = value.get("agents").filter(|_| name == FIND_AGENTS) {
        let ids = found.as_array().into_iter().flatten();
        let ids: Vec<String> = ids
            .map(|agent| plain(agent.get("id").unwrap_or(agent)))
            .collect();
        return match ids.is_empty() {
            true => "I found no agent for that.".to_owned(),
            false => format!("I found {}.", ids.join(", ")),
        };
    }
    let said = value.get("text").map(plain).filter(|text| !text.is_empty());
    if agent.is_some()
        && let Ok(outcome) = Outcome::deserialize(value)
    {
        return outcome.told();
    }
    match said.unwrap_or_else(|| plain(value)) {
        text if text.is_empty() => {
            format!("{name} ended without an error and gave no output.")
        }
        text => format!("{name} says: {text}"),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The result's text, without a word about who gave it; nothing where it is an error, empty, or words on what was not done.
pub(super) fn content(value: &Value) -> Option<String> {
    if is_error(value) {
        return None;
    }
    // An agent that says that it did nothing gave nothing.
    let data = value["data"].as_array().into_iter().flatten();
    if Shortfall::of(data).is_some_and(|shortfall| shortfall.is_nothing()) {
        return None;
    }
    let text = value.get("text").map(plain).filter(|text| !text.is_empty());
    let data = || value.get("data").map(plain).filter(|text| !text.is_empty());
    let ended = value.get("state").is_none();
    let text = text.or_else(data).or_else(|| ended.then(|| plain(value)))?;
    Some(without_mark(&text)).filter(|text| !text.is_empty())
}
