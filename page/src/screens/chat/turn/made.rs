//! Files and data that a turn made beside words, and what its answer lacks.

use agenthub_proto::a2a::{Part, Task};
use agenthub_sdk::runs::Shortfall;
use maud::{Markup, html};
use serde_json::Value;

use super::handed::Handed;
use crate::parts::{Source, parts_that};

/// Files and data of an answer, and in words what it lacks beside what the agents that were asked say themselves.
pub(super) fn made(task: &Task, handed: &[Handed]) -> Markup {
    let update = task
        .status
        .as_ref()
        .and_then(|status| status.update.as_ref());
    let content = update
        .map(|update| update.content.as_slice())
        .unwrap_or_default();
    let is_shown = |part: &Part| part.as_text().is_none() && shortfall(part).is_none();
    html! {
        @for words in content.iter().filter_map(shortfall).filter_map(|shortfall| untold(shortfall, handed)) { p.about { (words) } }
        (parts_that(content, Source::Status { task: &task.id }, is_shown))
        @for artifact in &task.artifacts {
            (parts_that(&artifact.parts, Source::Artifact { task: &task.id, artifact: &artifact.artifact_id }, is_shown))
        }
    }
}

/// Words on what an answer lacks, without what stands with the agents that were asked: they are above, with their states and what they say.
fn untold(mut shortfall: Shortfall, handed: &[Handed]) -> Option<String> {
    let is_told = |result: &Value| handed.iter().any(|told| result["agent"] == *told.agent);
    shortfall.results.retain(|result| !is_told(result));
    let missing = shortfall.missing();
    let lacks = missing
        .iter()
        .map(|missing| format!("{} ({})", missing.name, missing.why));
    let lacks: Vec<String> = lacks.chain(shortfall.lacks.clone()).collect();
    (!lacks.is_empty()).then(|| format!("Not all of it was done, without: {}", lacks.join(", ")))
}

/// Lacks of an answer, of data that say nothing else.
fn shortfall(part: &Part) -> Option<Shortfall> {
    let data = part.as_data()?;
    let is_told = |name: &String| {
        ["partial", "undone", "lacks", "results", "message"].contains(&name.as_str())
    };
    let says_nothing_else = data.as_object()?.keys().all(is_told);
    Shortfall::of([&data]).filter(|_| says_nothing_else)
}

#[cfg(test)]
mod tests {
    use agenthub_proto::a2a::{Message, Role, TaskStatus};
    use serde_json::json;

    use super::*;

    /// Issue 26, chat: what stands with an agent that was asked is not said again.
    #[test]
    fn what_is_lacking_is_told_in_words_and_other_data_as_data() {
        let mut update = Message::new(Role::Agent, "so far");
        update.content.push(Part::data(&json!({"partial": true, "undone": "part", "results": [{"agent": "qa", "state": "failed", "error": "no text"}]})));
        update
            .content
            .push(Part::data(&json!({"partial": true, "score": 1})));
        let task = Task {
            id: "t".into(),
            status: Some(TaskStatus {
                update: Some(update),
                ..TaskStatus::default()
            }),
            ..Task::default()
        };
        let shown = made(&task, &[]).into_string();
        assert!(
            shown.contains("Not all of it was done, without: qa (no text)"),
            "{shown}"
        );
        assert!(
            !shown.contains("undone") && shown.contains("score"),
            "{shown}"
        );
        // The agent stands above with its state and its words.
        let asked = Handed {
            agent: "qa".into(),
            ..Handed::default()
        };
        let shown = made(&task, &[asked]).into_string();
        assert!(!shown.contains("Not all of it"), "{shown}");
    }
}
