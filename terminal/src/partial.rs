//! Answers that are not all that was asked for: what they had to do without.

use agenthub_sdk::Outcome;

use crate::output;

/// The exit code of such an answer: it is the best there is.
pub const EXIT_CODE: u8 = 3;

/// The longest reason in a warning, in characters.
const MAX_WHY: usize = 300;

/// Warns that an answer is without what this agent or tool, which failed or could not start, would have given.
pub fn warn(name: &str, what: &str, why: &str) {
    let why = output::cut(why, MAX_WHY);
    output::aside(format!(
        "warning: the answer is without {name}, which {what}: {why}"
    ));
}

/// The agents and tools without which an answer had to do, and why, as the outcome's data say it.
pub fn failed(outcome: &Outcome) -> Vec<(String, String)> {
    let data = outcome.message.as_ref().and_then(|m| m.data().next());
    let Some(data) = data.filter(|data| data["partial"] == true) else {
        return Vec::new();
    };
    let results = data["results"].as_array().into_iter().flatten();
    results
        .filter(|result| result["state"] != "completed")
        .map(|result| {
            let text = |key: &str| result[key].as_str().unwrap_or_default();
            let why = match text("error") {
                "" => text("state"),
                error => error,
            };
            let who = match text("agent") {
                "" => text("tool"),
                agent => agent,
            };
            (who.to_owned(), why.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use agenthub_proto::a2a::{Message, Part, Role, TaskState};
    use serde_json::{Value, json};

    use super::*;

    /// spec: SOP-8.7
    #[test]
    fn a_partial_answer_names_who_failed() {
        let outcome = |data: &Value| {
            let mut message = Message::new(Role::Agent, "so far");
            message.content.push(Part::data(data));
            Outcome {
                task_id: String::new(),
                agent: String::new(),
                state: TaskState::Completed,
                text: String::new(),
                artifacts: Vec::new(),
                message: Some(message),
                error: String::new(),
                spent: None,
                model: String::new(),
            }
        };
        let data = json!({"partial": true, "results": [
            {"agent": "a", "state": "completed", "text": "x"},
            {"agent": "b", "state": "failed", "error": "no model"},
            {"agent": "c", "state": "away"},
            {"tool": "table", "state": "failed", "error": "it is locked"},
        ]});
        let expected = [("b", "no model"), ("c", "away"), ("table", "it is locked")]
            .map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(failed(&outcome(&data)), expected);
        assert!(failed(&outcome(&json!({"partial": false}))).is_empty());
    }
}
