//! A question to a person: exactly what would be sent, as a list of fields, and the two answers.

use agenthub_proto::cortex::Approval;
use agenthub_sdk::proto::json;
use maud::{Markup, html};
use serde_json::Value;

use crate::elements::{agent, data, id_link, segment, text, time};

/// The question, with its form.
pub(in crate::screens) fn asked(approval: &Approval) -> Markup {
    let arguments = approval.arguments.as_ref().map(json::from_value);
    let arguments = arguments.unwrap_or_default();
    let question = arguments["question"].as_str();
    let question = question.filter(|_| approval.agent.is_empty());
    let sent = match question {
        Some(_) => &arguments["input"],
        None => &arguments,
    };
    html! {
        section.asks id={ "approval-" (approval.id) } aria-label="Approval" {
            h2 {
                @match question {
                    Some(question) => (question),
                    None => { "May " (agent(&approval.agent)) " do " b { (approval.capability) } "?" },
                }
            }
            p.about {
                "Step " code { (approval.step) } " of run " (id_link("/ui/runs/", &approval.run_id))
                ", asked " (time(approval.asked_at.as_ref()))
            }
            @if is_empty(sent) {
                @if question.is_none() { p { "It would get the objective alone." } }
            } @else {
                h3 { @if question.is_none() { "It would get" } @else { "What it is about" } }
                (fields(sent))
            }
            form method="post" action={ "/ui/runs/" (segment(&approval.run_id)) "/decide" } {
                input type="hidden" name="approval" value=(approval.id);
                label { span { "Comment, for the record" } input name="comment"; }
                button.good name="answer" value="allow" { "Allow" }
                " "
                button.bad name="answer" value="refuse" { "Refuse" }
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Data as a list of its fields: words as words, and data within them as data.
pub(in crate::screens) fn fields(value: &Value) -> Markup {
    html! {
        @match value {
            Value::Object(fields) => {
                dl.fields {
                    @for (name, value) in fields { dt { (name) } dd { (plain(value)) } }
                }
            },
            other => (plain(other)),
        }
    }
}

fn plain(value: &Value) -> Markup {
    let are_plain = |items: &[Value]| {
        items
            .iter()
            .all(|item| !item.is_object() && !item.is_array())
    };
    html! {
        @match value {
            Value::String(words) => (text(words)),
            Value::Array(items) if are_plain(items) => ul { @for item in items { li { (plain(item)) } } },
            Value::Object(of) if of.values().all(|value| !value.is_object() && !value.is_array()) => (fields(value)),
            Value::Object(_) | Value::Array(_) => (data(value)),
            Value::Null => "none",
            Value::Bool(true) => "yes",
            Value::Bool(false) => "no",
            Value::Number(number) => (number),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Issue 26, runs: an approval shows exactly what will be sent.
    #[test]
    fn a_question_shows_what_would_be_sent_as_fields_and_is_asked_once() {
        let approval = Approval {
            id: "a1".into(),
            run_id: "r".into(),
            step: "allowed".into(),
            arguments: Some(json::to_value(&json!({
                "question": "Send this?",
                "input": {"invitation": "You are <b>invited</b>.", "people": ["Ann", "Bob"], "loud": false},
            }))),
            ..Approval::default()
        };
        let shown = asked(&approval).into_string();
        assert_eq!(shown.matches("Send this?").count(), 1, "{shown}");
        assert!(!shown.contains('{') && !shown.contains("<b>"), "{shown}");
        assert!(shown.contains("<dt>invitation</dt><dd><pre class=\"text\">You are &lt;b&gt;invited&lt;/b&gt;.</pre></dd>"));
        assert!(
            shown.contains("Ann") && shown.contains("<dt>loud</dt><dd>no</dd>"),
            "{shown}"
        );
        let of_agent = Approval {
            agent: "writer".into(),
            capability: "write".into(),
            arguments: Some(json::to_value(&json!({"question": "why?"}))),
            ..approval
        };
        let shown = asked(&of_agent).into_string();
        assert!(
            shown.contains("<dt>question</dt>"),
            "it is an input of the agent: {shown}"
        );
    }
}
