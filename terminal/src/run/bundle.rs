//! Bundle of a run, as people read it: the data, the result, and the report on it.

mod verdict;

use serde_json::Value;

pub(crate) use self::verdict::Verdict;
use self::verdict::{acceptance, lacking, quality};
use crate::output::plain;

/// The lines of a part of a result that is no text; of a longer one the beginning is shown.
const MAX_LINES: usize = 12;

/// Text in place of a result that there is not.
const NOTHING: &str = "(nothing was made)";

/// The result of a run for people.
#[derive(Debug, Default, PartialEq)]
pub struct Parts {
    /// Data that was made beside the texts, of much of it the beginning.
    pub data: String,
    /// The result: the text that was made, or several under their names; where none was, the data, whole.
    pub result: String,
    /// The quality report; in chat mode what the answer lacks, if anything.
    pub report: String,
}

impl Parts {
    /// The same without a result: what there is led to none.
    fn beside(self) -> Self {
        let mut data = vec![self.data, self.result];
        data.retain(|part| !part.is_empty());
        Self {
            data: data.join("\n\n"),
            ..Self::default()
        }
    }

    /// All of it, as one text.
    pub fn together(self) -> String {
        let mut parts = vec![self.data, self.result, self.report];
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n")
    }
}

/// The result of a run for a reader whose lines have this width.
pub fn parts(result: &Value, width: usize) -> Parts {
    let parts = match (result.get("result"), result["message"].as_str()) {
        (Some(made), _) => {
            let table = result["acceptance-report"].as_array();
            let table = table.and_then(|report| acceptance(report, width));
            let is_made = Verdict::of(result) != Verdict::Failed;
            // Nothing meets a criterion where nothing was made.
            let report = [Some(quality(result)), table.filter(|_| is_made)];
            let report: Vec<String> = report.into_iter().flatten().collect();
            let made = match is_made {
                false => made_of(made).beside(),
                true => made_of(made),
            };
            Parts {
                report: report.join("\n\n"),
                ..made
            }
        }
        (None, Some(message)) => {
            let said = Parts {
                result: message.to_owned(),
                ..Parts::default()
            };
            let said = match Verdict::of(result) {
                Verdict::Failed => said.beside(),
                _ => said,
            };
            Parts {
                report: lacking(result).unwrap_or_default(),
                ..said
            }
        }
        (None, None) => Parts {
            result: laid_out(result, 0),
            ..Parts::default()
        },
    };
    let plain = |text: String| plain(&text).into_owned();
    Parts {
        data: plain(parts.data),
        result: plain(parts.result),
        report: plain(parts.report),
    }
}

/// The result: the texts, and beside them the data.
fn made_of(result: &Value) -> Parts {
    let result = without_gaps(result);
    let Some(fields) = result.as_object().filter(|fields| !fields.is_empty()) else {
        return match &result {
            Value::Null | Value::Object(_) => Parts {
                data: NOTHING.to_owned(),
                ..Parts::default()
            },
            other => Parts {
                result: laid_out(other, 0),
                ..Parts::default()
            },
        };
    };
    let (texts, data): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| is_text(value));
    if texts.is_empty() {
        return Parts {
            result: laid_out(&result, 0),
            ..Parts::default()
        };
    }
    let mut shown: Vec<String> = data
        .into_iter()
        .map(|(name, value)| beginning(name, value))
        .collect();
    let mut whole = Vec::new();
    for (name, value) in &texts {
        let text = value.as_str().or_else(|| value["text"].as_str());
        let text = text.unwrap_or_default().trim_end();
        whole.push(match texts.len() {
            1 => text.to_owned(),
            _ => format!("── {name}\n{text}"),
        });
        let mut rest = (*value).clone();
        if let Some(fields) = rest.as_object_mut() {
            fields.shift_remove("text");
            if !fields.is_empty() {
                shown.push(beginning(name, &rest));
            }
        }
    }
    Parts {
        data: shown.join("\n\n"),
        result: whole.join("\n\n"),
        ..Parts::default()
    }
}

/// The first lines of data under its name.
fn beginning(name: &str, value: &Value) -> String {
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
}

/// True if a part of a result is a text, or has one as its main thing.
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
#[path = "bundle_tests.rs"]
mod tests;
