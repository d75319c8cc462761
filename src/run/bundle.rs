//! What came of a run, as people read it, and what the exit code says of it.

use serde_json::Value;

use crate::output::{plain, wrapped};

/// The narrowest and the widest report, in characters.
const WIDTH: std::ops::RangeInclusive<usize> = 60..=120;

/// The lines of a part of a result that is no text; of a longer one the beginning is shown.
const MAX_LINES: usize = 12;

/// What there is to say about a result that is none.
const NOTHING: &str = "(nothing was made)";

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The constraints are met.
    Met,
    /// There is a result, but the constraints are not met.
    BestEffort,
    /// There is no result.
    Failed,
}

impl Verdict {
    /// Of what a run that completed gives: a bundle, or in chat mode a message.
    pub(crate) fn of(result: &Value) -> Self {
        match result.get("quality") {
            Some(quality) if quality["met"] != true => Self::BestEffort,
            _ => Self::Met,
        }
    }

    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Met => 0,
            Self::BestEffort => 3,
            Self::Failed => 1,
        }
    }
}

/// The result of a run for a reader whose lines have this width.
pub(crate) fn readable(result: &Value, width: usize) -> String {
    let text = match (result.get("result"), result["message"].as_str()) {
        (Some(made), _) => {
            let mut parts = vec![made_of(made), quality(&result["quality"])];
            let report = result["acceptance-report"].as_array();
            parts.extend(report.and_then(|report| acceptance(report, width)));
            parts.retain(|part| !part.is_empty());
            parts.join("\n\n")
        }
        (None, Some(message)) => message.to_owned(),
        (None, None) => laid_out(result, 0),
    };
    plain(&text).into_owned()
}

/// What was made, part by part: what is data first, of much of it the beginning, and then the texts, whole.
fn made_of(result: &Value) -> String {
    let result = without_gaps(result);
    let Some(fields) = result.as_object().filter(|fields| !fields.is_empty()) else {
        return match &result {
            Value::Null | Value::Object(_) => NOTHING.to_owned(),
            other => laid_out(other, 0),
        };
    };
    let (texts, data): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| is_text(value));
    let data = data.into_iter().map(|(name, value)| {
        let lines = laid_out(value, 0);
        let all = lines.lines().count();
        let mut shown: Vec<&str> = lines.lines().take(MAX_LINES).collect();
        let rest = format!(
            "… ({} lines more with --output or --json)",
            all - shown.len()
        );
        if all > shown.len() {
            shown.push(&rest);
        }
        format!("── {name}\n{}", shown.join("\n"))
    });
    let texts = texts.into_iter().map(|(name, value)| {
        let text = value.as_str().or_else(|| value["text"].as_str());
        let mut part = format!("── {name}\n{}", text.unwrap_or_default().trim_end());
        let mut rest = value.clone();
        if let Some(fields) = rest.as_object_mut() {
            fields.shift_remove("text");
            if !fields.is_empty() {
                part += &format!("\n\n{}", laid_out(&rest, 0));
            }
        }
        part
    });
    let parts: Vec<String> = data.chain(texts).collect();
    parts.join("\n\n")
}

/// Whether a part of a result is a text, or has one as its main thing.
fn is_text(value: &Value) -> bool {
    value.is_string() || value["text"].is_string()
}

/// The value without fields that say nothing.
fn without_gaps(value: &Value) -> Value {
    let says_something = |value: &Value| match value {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(k, v)| (k.clone(), without_gaps(v)));
            Value::Object(fields.filter(|(_, v)| says_something(v)).collect())
        }
        Value::Array(items) => items.iter().map(without_gaps).collect(),
        other => other.clone(),
    }
}

fn quality(quality: &Value) -> String {
    let number = |field: &str| quality[field].as_f64();
    let mut lines = Vec::new();
    let wanted = number("threshold").unwrap_or_default();
    let score = match number("score") {
        Some(score) => format!("{score:.2}, at least {wanted:.2} is wanted"),
        None => format!("nobody gave a score, at least {wanted:.2} is wanted"),
    };
    let met = match quality["met"] == true {
        true => "all constraints are met",
        false => "the constraints are NOT met: this is the best there is",
    };
    lines.push(format!("quality  {score}; {met}"));
    if let (Some(depth), Some(most)) = (number("depth"), number("executionDepth")) {
        lines.push(format!("rounds   {depth} of at most {most}"));
    }
    for (label, field) in [("summary", "summary"), ("because", "explanation")] {
        let text = quality[field].as_str().unwrap_or_default().trim();
        if !text.is_empty() {
            lines.push(format!("{label:<9}{text}"));
        }
    }
    let issues = quality["issues"].as_array().into_iter().flatten();
    for (index, issue) in issues.filter_map(Value::as_str).enumerate() {
        let label = if index == 0 { "issues" } else { "" };
        lines.push(format!("{label:<9}{issue}"));
    }
    lines.join("\n")
}

/// The report as a table; `None` where nothing was to be fulfilled.
fn acceptance(report: &[Value], width: usize) -> Option<String> {
    if report.is_empty() {
        return None;
    }
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let rows = report.iter().map(|line| {
        let verdict = match line["verdict"].as_str() {
            Some("pass") => "✓ pass",
            Some("fail") => "✗ fail",
            _ => "· not checked",
        };
        [
            verdict.to_owned(),
            text(&line["criterion"]),
            text(&line["evidence"]),
        ]
    });
    let width = width.clamp(*WIDTH.start(), *WIDTH.end());
    Some(wrapped(
        ["ACCEPTANCE", "CRITERION", "EVIDENCE"],
        rows,
        width,
    ))
}

/// A value as indented lines.
pub(super) fn laid_out(value: &Value, level: usize) -> String {
    let indent = "  ".repeat(level);
    let nested = |label: String, value: &Value| match value {
        Value::Object(fields) if !fields.is_empty() => {
            format!("{indent}{label}\n{}", laid_out(value, level + 1))
        }
        Value::Array(items) if !items.is_empty() => {
            format!("{indent}{label}\n{}", laid_out(value, level + 1))
        }
        Value::String(text) if text.contains('\n') => {
            let deeper = format!("\n{indent}  ");
            let text = text.trim_end().replace('\n', &deeper);
            format!("{indent}{label}{deeper}{text}")
        }
        other => format!("{indent}{label} {}", scalar(other)),
    };
    let lines: Vec<String> = match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            fields.map(|(k, v)| nested(format!("{k}:"), v)).collect()
        }
        Value::Array(items) => items.iter().map(|item| listed(item, level)).collect(),
        other => vec![format!("{indent}{}", scalar(other))],
    };
    lines.join("\n")
}

/// An entry of a list: its first line behind a dash.
fn listed(item: &Value, level: usize) -> String {
    let deeper = laid_out(item, level + 1);
    let first = deeper.get((level + 1) * 2..).unwrap_or_default();
    format!("{}- {first}", "  ".repeat(level))
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        Value::Object(_) | Value::Array(_) => "(none)".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bundle(met: bool) -> Value {
        json!({
            "result": {
                "post": "Meet us in May.\n\nBring a friend.\n",
                "schedule": [{"when": "2027-05-03", "what": "teaser"}, {"when": "2027-05-10", "what": "post"}],
            },
            "quality": {
                "score": 0.864, "threshold": 0.7, "met": met, "depth": 2, "executionDepth": 3,
                "issues": if met { json!([]) } else { json!(["too long", "no date"]) },
                "summary": "Planned, written, reviewed twice.",
                "explanation": if met { Value::Null } else { json!("`says when` is not fulfilled") },
            },
            "acceptance-report": [
                {"criterion": "says when", "verdict": "pass", "evidence": "\"in May\" at character 9"},
                {"criterion": "is at most 280 characters long, links included", "verdict": "fail",
                 "evidence": "it has 312 characters, which is 32 more than the 280 that the criterion allows"},
                {"criterion": "sounds friendly", "verdict": "not_checked", "evidence": "this needs a model"},
            ],
        })
    }

    /// spec: ORC-2.4
    #[test]
    fn a_bundle_is_readable() {
        let parts = [readable(&bundle(true), 100), readable(&bundle(false), 72)];
        insta::assert_snapshot!(parts.join("\n\n======\n\n"));
    }

    /// spec: ORC-2.4
    #[test]
    fn texts_are_shown_whole_and_behind_the_data() {
        let result = json!({
            "draft": {"text": "Hello.\n", "metadata": {"notes": [], "knobs": {"warmth": 0.5}}},
            "analysis": {"items": (0..40).collect::<Vec<u32>>(), "gap": null},
            "title": "Hi",
        });
        let shown = made_of(&result);
        let parts: Vec<&str> = shown.split("── ").collect();
        assert!(parts[1].starts_with("analysis\nitems:\n  - 0\n"), "{shown}");
        assert!(parts[1].contains("… (29 lines more"), "{shown}");
        assert_eq!(
            parts[2],
            "draft\nHello.\n\nmetadata:\n  knobs:\n    warmth: 0.5\n\n"
        );
        assert_eq!(parts[3], "title\nHi");
        assert_eq!(made_of(&json!({"x": {}})), NOTHING);
    }

    /// spec: ORC-3.1
    #[test]
    fn a_chat_s_result_is_its_message() {
        let chat = json!({"message": "Good \u{1b}[2Jday"});
        assert_eq!(readable(&chat, 80), "Good [2Jday");
        assert_eq!(Verdict::of(&chat), Verdict::Met);
    }

    /// spec: ORC-11.3
    #[test]
    fn the_exit_code_tells_whether_the_constraints_are_met() {
        let codes = [
            Verdict::of(&bundle(true)),
            Verdict::of(&bundle(false)),
            Verdict::Failed,
        ];
        assert_eq!(codes.map(Verdict::code), [0, 3, 1]);
    }
}
