//! Outcome of a run: the result first, then the report on it, then the data, folded.

use agenthub_terminal::run::parts;
use maud::{Markup, html};
use serde_json::Value;

use super::approval::fields;
use crate::{
    elements::{Cell, Row, data, table},
    markdown,
};

/// Characters of a line in a report that is words.
const WIDTH: usize = 110;

/// Criteria of a result: how many are met, and how many there are; `None` without any.
pub(super) fn criteria(result: &Value) -> Option<(usize, usize)> {
    let report = result["acceptance-report"].as_array()?;
    let met = report
        .iter()
        .filter(|line| line["verdict"] == "pass")
        .count();
    (!report.is_empty()).then_some((met, report.len()))
}

/// The result, with all of it as data.
pub(super) fn drawn(result: &Value) -> Markup {
    html! {
        (reported(result))
        details id="result-data" { summary { "All of it as data" } (data(result)) }
    }
}

/// The result and the report on it.
pub(in crate::screens) fn reported(result: &Value) -> Markup {
    let words = parts(result, WIDTH);
    html! {
        @match serde_json::from_str::<Value>(&words.result) {
            Ok(made @ Value::Object(_)) => (fields(&made)),
            Ok(made @ Value::Array(_)) => (data(&made)),
            _ if words.result.is_empty() => p.nothing { "There is none." },
            _ => (markdown::rendered(&words.result)),
        }
        (report(result, &words.report))
    }
}

/// The report: what the verdict is, each criterion with its evidence, and each check of a review.
fn report(result: &Value, words: &str) -> Markup {
    // The table of criteria has what stands below the words.
    let words = words.split("\n\n").next().unwrap_or_default();
    let criteria = result["acceptance-report"].as_array();
    let rows: Vec<Row> = criteria.into_iter().flatten().map(criterion).collect();
    let lines = labelled(words);
    html! {
        @if !lines.is_empty() || !rows.is_empty() {
            h3 { "Report" }
            @if !lines.is_empty() {
                dl {
                    @for (label, text) in &lines { dt { (label) } dd { (text) } }
                }
            }
            @if !rows.is_empty() { (table(&["Verdict", "Criterion", "What shows it"], &rows, "")) }
        }
    }
}

fn criterion(line: &Value) -> Row {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let (kind, mark, words) = match line["verdict"].as_str() {
        Some("pass") => ("good", "✓", "met"),
        Some("fail") => ("bad", "✗", "not met"),
        _ => ("idle", "·", "not checked"),
    };
    Row::new([
        Cell::new(html! { span class={ "state " (kind) } { (mark) " " (words) } }),
        Cell::words(text(&line["criterion"])),
        Cell::words(text(&line["evidence"])),
    ])
}

/// The lines of a report: a label and its text. A line without a label goes on with the one before.
fn labelled(words: &str) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for line in words.lines().filter(|line| !line.trim().is_empty()) {
        let label = line.split(' ').next().unwrap_or_default();
        let text = line[label.len()..].trim().to_owned();
        match (label, lines.last_mut()) {
            ("", Some((_, before))) => {
                let joint = if before.ends_with('.') { "" } else { ";" };
                *before = format!("{before}{joint} {text}");
            }
            _ => lines.push((label.to_owned(), text)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bundle() -> Value {
        json!({
            "result": {"draft": {"text": "**Hello** <script>"}},
            "quality": {"made": true, "met": false, "score": 0.8, "threshold": 0.7, "depth": 2, "executionDepth": 3},
            "acceptance-report": [
                {"criterion": "is short", "verdict": "pass", "evidence": "3 words"},
                {"criterion": "is <kind>", "verdict": "unknown"},
            ],
        })
    }

    /// Issue 26, runs: the result with its report. Each criterion is a row, and nothing points to options of a terminal.
    #[test]
    fn a_result_is_text_with_its_report_as_a_table_and_all_of_it_as_data() {
        let shown = drawn(&bundle()).into_string();
        assert!(
            shown.starts_with("<div class=\"markdown\"><p><strong>Hello</strong>"),
            "{shown}"
        );
        assert!(
            shown.contains("✓ met") && shown.contains("· not checked"),
            "{shown}"
        );
        assert!(shown.contains("is &lt;kind&gt;") && !shown.contains("<script>"));
        assert!(
            shown.contains("<dt>verdict</dt>") && shown.contains("<dt>quality</dt>"),
            "{shown}"
        );
        assert!(!shown.contains("--json"), "{shown}");
        assert_eq!(criteria(&bundle()), Some((1, 2)));
        assert_eq!(criteria(&json!({"message": "x"})), None);
    }

    #[test]
    fn lines_without_a_label_go_on_with_the_one_before() {
        let lines = labelled("issues   Too long.\n         Too plain\n         Too late");
        let text = "Too long. Too plain; Too late";
        assert_eq!(lines, [("issues".to_owned(), text.to_owned())]);
    }

    #[test]
    fn an_output_of_fields_is_a_list_of_them() {
        let message = json!({"sent": 2, "first": "Hello"}).to_string();
        let shown = drawn(&json!({"message": message})).into_string();
        assert!(shown.contains("<dt>sent</dt><dd>2</dd>"), "{shown}");
    }
}
