//! A review in words for people.

use agenthub_sdk::runs::share;
use serde_json::{Value, json};

use super::scoring::EXISTENCE;

/// Checks and issues that are told; the rest is counted.
const MOST_TOLD: usize = 60;

/// Characters of a draft that are quoted to say which it is.
const MOST_QUOTED: usize = 80;

/// The review, which is an output of [`schema`], in words.
pub(super) fn told(output: &Value) -> String {
    let qa = &output["qa"];
    let empty = Vec::new();
    let list = |field: &str| qa[field].as_array().unwrap_or(&empty);
    let mut lines = vec![verdict(qa, list("checks"))];
    let issues = list("issues");
    if !issues.is_empty() {
        lines.push("\nTo do:".to_owned());
        lines.extend(first(issues, |issue| {
            format!("- {}", issue.as_str().unwrap_or_default())
        }));
    }
    lines.push("\nChecked:".to_owned());
    lines.extend(first(list("checks"), |check| {
        let text = |field: &str| check[field].as_str().unwrap_or_default();
        let verdict = text("verdict").replace('_', " ");
        format!("- {}: {verdict} ({})", text("name"), text("evidence"))
    }));
    lines.join("\n")
}

/// The words that were taken as the draft of a request that has none apart from its words.
pub(super) fn taken(words: &str) -> String {
    let mut shown: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = shown.char_indices().nth(MOST_QUOTED) {
        shown.truncate(end);
        shown.push('…');
    }
    format!(
        "The words of the request are the draft here: \"{shown}\". Another draft goes into the payload as `draft`."
    )
}

/// The first line: whether the draft passes, and how much of it was checked.
fn verdict(qa: &Value, checks: &[Value]) -> String {
    let number = |field: &str| qa[field].as_f64().unwrap_or_default();
    let is_rule = |check: &&Value| check["rule"] == true;
    let is_made = |check: &&Value| check["verdict"] != "not_checked";
    let made = || checks.iter().filter(is_made);
    let rules = checks.iter().filter(is_rule).count();
    let kept = made().filter(is_rule).count();
    let wanted = number("qualityThreshold");
    let score = format!(
        "The score of these is {}, and {} is wanted.",
        share::score(number("score"), wanted),
        share::exact(wanted)
    );
    if made().all(|check| check["id"] == EXISTENCE) && issues_of(qa) == 0 {
        return "The draft does not pass: nothing was checked but that there is one.".to_owned();
    }
    let were = if made().count() == 1 { "was" } else { "were" };
    let count = format!("{} of {} checks {were} made", made().count(), checks.len());
    let is_whole = made().count() == checks.len();
    match (qa["pass"] == true, rules) {
        (true, _) if is_whole => format!("The draft passes: {count}. {score}"),
        (true, 0) => format!("The draft passes as far as it was checked: {count}. {score}"),
        (true, _) => format!(
            "The draft passes as far as it was checked: {count}, and {kept} of {rules} things that were asked for {} checked. {score}",
            if kept == 1 { "was" } else { "were" }
        ),
        (false, 1..) if kept == 0 => {
            format!(
                "The draft does not pass: nothing that was asked for was checked. {count}. {score}"
            )
        }
        (false, _) => format!("The draft does not pass: {count}. {score}"),
    }
}

fn issues_of(qa: &Value) -> usize {
    qa["issues"].as_array().map_or(0, Vec::len)
}

fn first(items: &[Value], line: impl Fn(&Value) -> String) -> Vec<String> {
    let mut lines: Vec<String> = items.iter().take(MOST_TOLD).map(line).collect();
    if items.len() > MOST_TOLD {
        lines.push(format!("- and {} more", items.len() - MOST_TOLD));
    }
    lines
}

/// The JSON Schema of a review.
pub(super) fn schema() -> Value {
    let share = json!({ "type": "number", "minimum": 0, "maximum": 1 });
    let text = json!({ "type": "string" });
    let check = json!({
        "type": "object",
        "required": ["id", "name", "verdict", "evidence", "weight", "hard", "by"],
        "properties": {
            "id": text,
            "name": text,
            "verdict": { "enum": ["pass", "fail", "not_checked"] },
            "score": share,
            "evidence": text,
            "weight": { "type": "number", "minimum": 0 },
            "hard": { "type": "boolean", "description": "Whether a draft that fails this fails as a whole" },
            "rule": { "type": "boolean", "description": "Whether the request asks for this: where it is not checked, nobody knows whether the request is met" },
            "by": { "enum": ["code", "model"] },
            "criterion": { "type": "string", "description": "The acceptance criterion that this decides" },
            "kind": text,
            "issue": text,
            "fix": { "type": "object" },
        },
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["qa"],
        "properties": { "qa": {
            "type": "object",
            "required": ["pass", "score", "issues", "checks"],
            "properties": {
                "pass": { "type": "boolean", "description": "False also where nothing was checked" },
                "score": share,
                "qualityThreshold": share,
                "issues": { "type": "array", "items": text, "description": "What to change, one sentence each" },
                "checks": { "type": "array", "items": check },
            },
        } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_told_in_words() {
        let output = json!({ "qa": {
            "pass": false, "score": 0.5, "qualityThreshold": 0.7, "issues": ["too_long: it is long; cut it."],
            "checks": [{ "name": "Length", "verdict": "not_checked", "evidence": "nothing to count" }],
        } });
        assert_eq!(
            told(&output),
            "The draft does not pass: 0 of 1 checks were made. The score of these is 0.50, and 0.70 is wanted.\n\nTo do:\n- too_long: it is long; cut it.\n\nChecked:\n\
             - Length: not checked (nothing to count)"
        );
    }

    #[test]
    fn a_long_list_is_cut() {
        let issues = vec!["a"; 100];
        let text = told(&json!({ "qa": { "issues": issues } }));
        assert!(text.contains("- and 40 more"), "{text}");
    }
}
