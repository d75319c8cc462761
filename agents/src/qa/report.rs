//! A review in words for people.

use serde_json::{Value, json};

/// Checks and issues that are told; the rest is counted.
const MOST_TOLD: usize = 60;

/// The review, which is an output of [`schema`], in words.
pub(super) fn told(output: &Value) -> String {
    let qa = &output["qa"];
    let number = |field: &str| qa[field].as_f64().unwrap_or_default();
    let passes = match qa["pass"].as_bool() {
        Some(true) => "The draft passes",
        _ => "The draft does not pass",
    };
    let mut lines = vec![format!(
        "{passes}: its score is {:.2}, and {:.2} is wanted.",
        number("score"),
        number("qualityThreshold")
    )];
    let empty = Vec::new();
    let list = |field: &str| qa[field].as_array().unwrap_or(&empty);
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
                "pass": { "type": "boolean" },
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
            "The draft does not pass: its score is 0.50, and 0.70 is wanted.\n\nTo do:\n- too_long: it is long; cut it.\n\nChecked:\n\
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
