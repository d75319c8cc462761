//! Questions to people, as they are shown: the question of a workflow's author, or the work that an agent is to do.

use serde_json::Value;

use super::bundle::laid_out;

/// A question in one line. A step of a workflow that asks itself has no agent, and its question among the arguments.
pub(crate) fn headline(agent: &str, capability: &str, step: &str, arguments: &Value) -> String {
    match own_question(agent, arguments) {
        Some(question) => format!("{question} (step {step})"),
        None => format!("{agent} is to do {capability} (step {step})"),
    }
}

/// The rest of what is asked: the input that an agent would get, beside the objective, or what a workflow's author shows with the question.
pub(crate) fn details(agent: &str, arguments: &Value, level: usize) -> String {
    if own_question(agent, arguments).is_some() {
        return match &arguments["input"] {
            Value::Null => String::new(),
            input => format!("With it:\n{}", laid_out(input, level)),
        };
    }
    match arguments.as_object() {
        Some(fields) if fields.is_empty() => "It would get the objective alone.".to_owned(),
        _ => format!("It would get:\n{}", laid_out(arguments, level)),
    }
}

/// The question of a workflow's author.
pub(crate) fn own_question<'a>(agent: &str, arguments: &'a Value) -> Option<&'a str> {
    let question = arguments["question"].as_str();
    question.filter(|_| agent.is_empty())
}
