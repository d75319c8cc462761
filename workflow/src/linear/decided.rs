//! Outputs of a `conditional` as other systems have them: `condition_result`, `branch_taken`, `branch_step_id` and `branch_output`.
//!
//! Here a decision has ended before its branches begin, so references to these are read as expressions of the decision and of the steps
//! of its branches.

use std::collections::BTreeMap;

use serde_json::Value;

/// The steps of a conditional, where its condition is true and where it is not.
#[derive(Debug)]
struct Branches {
    yes: Option<String>,
    no: Option<String>,
}

/// The document of a file in the linear form, with references to what a conditional gives elsewhere as expressions.
pub(crate) fn with_decided(document: &Value) -> Value {
    let steps = document["steps"].as_object();
    let conditionals: BTreeMap<&str, Branches> = steps
        .into_iter()
        .flatten()
        .filter(|(_, step)| step["type"] == "conditional")
        .map(|(name, step)| {
            let target = |field: &str| step[field].as_str().map(str::to_owned);
            let branches = Branches {
                yes: target("if_true_step"),
                no: target("if_false_step"),
            };
            (name.as_str(), branches)
        })
        .collect();
    let mut document = document.clone();
    if !conditionals.is_empty() && document.get("start_step").is_some() {
        replace(&mut document, &conditionals);
    }
    document
}

fn replace(value: &mut Value, conditionals: &BTreeMap<&str, Branches>) {
    match value {
        Value::String(text) if text.contains("${") => *text = replaced(text, conditionals),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| replace(item, conditionals)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| replace(field, conditionals)),
        _ => {}
    }
}

fn replaced(text: &str, conditionals: &BTreeMap<&str, Branches>) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        made += before;
        let Some(end) = from.find('}') else {
            rest = from;
            break;
        };
        let (insert, behind) = from.split_at(end + 1);
        match expression(&insert[2..end], conditionals) {
            Some(expression) => made += &format!("${{{expression}}}"),
            None => made += insert,
        }
        rest = behind;
    }
    made + rest
}

/// The expression for a reference such as `check.output.branch_output.score`.
fn expression(reference: &str, conditionals: &BTreeMap<&str, Branches>) -> Option<String> {
    let reference = reference.trim();
    let reference = reference.strip_prefix("steps.").unwrap_or(reference);
    let (name, path) = reference.split_once(".output.")?;
    let branches = conditionals.get(name)?;
    let (field, path) = match path.split_once('.') {
        Some((field, path)) => (field, format!(".{path}")),
        None => (path, String::new()),
    };
    let decision = format!("steps[\"{name}\"].output.decision");
    let either = |yes: String, no: String| format!("{yes} if {decision} else {no}");
    let of = |step: &Option<String>, value: fn(&str) -> String| match step {
        Some(step) => value(step),
        None => "none".to_owned(),
    };
    let named = |step: &str| format!("\"{step}\"");
    let output = |step: &str| format!("steps[\"{step}\"].output");
    Some(match field {
        "condition_result" => decision,
        "branch_taken" => either("\"then\"".to_owned(), "\"else\"".to_owned()),
        "branch_step_id" => either(of(&branches.yes, named), of(&branches.no, named)),
        "branch_output" => {
            let output = |step| match of(step, output) {
                none if step.is_none() => none,
                output => format!("{output}{path}"),
            };
            either(output(&branches.yes), output(&branches.no))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outputs_of_a_conditional_are_read_as_expressions_of_its_branches() {
        let document = json!({
            "start_step": "check",
            "steps": {
                "check": { "type": "conditional", "if_true_step": "good", "if_false_step": null },
                "good": {},
                "end": { "input_mapping": {
                    "a": "${check.output.branch_output.text}",
                    "b": "it took ${steps.check.output.branch_taken}, ${other.output.branch_taken} and ${open",
                    "c": "${check.output.condition_result}",
                    "d": "${check.output.branch_step_id}",
                    "e": "${check.output.decision}",
                } },
            },
        });
        let decision = r#"steps["check"].output.decision"#;
        let expected = json!({
            "a": format!("${{steps[\"good\"].output.text if {decision} else none}}"),
            "b": format!("it took ${{\"then\" if {decision} else \"else\"}}, ${{other.output.branch_taken}} and ${{open"),
            "c": format!("${{{decision}}}"),
            "d": format!("${{\"good\" if {decision} else none}}"),
            "e": "${check.output.decision}",
        });
        assert_eq!(
            with_decided(&document)["steps"]["end"]["input_mapping"],
            expected
        );
    }
}
