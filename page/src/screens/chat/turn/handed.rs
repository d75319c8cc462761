//! Work that an agent was given in a turn of a conversation: how it stands, and what came back.

use agenthub_proto::{a2a::Task, cortex::Approval};
use agenthub_terminal::listing::{refusal::Refusal, state::task as task_state};
use maud::{Markup, html};
use serde_json::Value;

use crate::{
    elements::{agent, id_link, line, refused, state},
    parts::{Source, parts},
    screens::waits::Absence,
};

/// Characters of a line that says what came back.
const LINE: usize = 160;

/// Work that an agent was given.
#[derive(Debug, Default)]
pub(in crate::screens::chat) struct Handed {
    pub(in crate::screens::chat) agent: String,
    pub(in crate::screens::chat) task_id: String,
    /// The agent's latest words while it works.
    pub(super) says: String,
    /// State of the task; empty until it has ended.
    pub(super) state: String,
    /// The task once it has ended.
    pub(in crate::screens::chat) task: Option<Task>,
    /// The approval that the agent waits for: its run and its id.
    pub(in crate::screens::chat) asks: Option<(String, String)>,
    /// The same with all that would be sent.
    pub(in crate::screens::chat) approval: Option<Approval>,
    /// The run in which the agent asked for a yes; empty if it never did.
    pub(in crate::screens::chat) asked_in: String,
    /// Absence of the agent while it is waited for.
    pub(in crate::screens::chat) absence: Option<Absence>,
    /// Refusals by a person in that run; `None` until they are read.
    pub(in crate::screens::chat) refusals: Option<Vec<Refusal>>,
}

impl Handed {
    /// Takes in the next stage of the handover.
    pub(super) fn take(&mut self, stage: &str, data: &Value) {
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        match stage {
            "returned" => {
                self.state = Some(text("state"))
                    .filter(|state| !state.is_empty())
                    .unwrap_or_else(|| "completed".to_owned());
                self.asks = None;
            }
            "progress" => {
                self.says = text("text");
                let approval = &data["approval"];
                self.asks = approval["run"]
                    .as_str()
                    .zip(approval["id"].as_str())
                    .map(|(run, id)| (run.to_owned(), id.to_owned()));
                if let Some((run, _)) = &self.asks {
                    self.asked_in.clone_from(run);
                }
            }
            _ => {}
        }
    }

    /// True if it has asked for a yes, has ended, and what was decided is not read yet.
    pub(in crate::screens::chat) fn is_undecided(&self) -> bool {
        !self.state.is_empty() && !self.asked_in.is_empty() && self.refusals.is_none()
    }

    /// True if its agent is waited for.
    pub(in crate::screens::chat) fn is_waited_for(&self) -> bool {
        self.state.is_empty()
    }

    /// True if it has ended and what came of it is not read yet.
    pub(in crate::screens::chat) fn is_unread(&self) -> bool {
        !self.state.is_empty() && self.task.is_none() && !self.task_id.is_empty()
    }

    pub(super) fn drawn(&self) -> Markup {
        let refusals = self.refusals.as_deref().unwrap_or_default();
        let state_now = match (&*self.state, &self.task) {
            ("", _) => "working".to_owned(),
            ("failed", _) if !refusals.is_empty() => "refused".to_owned(),
            (_, Some(task)) => task_state(task),
            (state, None) => state.to_owned(),
        };
        html! {
            "Cortex asked " (agent(&self.agent)) " "
            @match &self.absence {
                Some(absence) if self.state.is_empty() => { span.refused { "and it " (absence.words()) } " " },
                _ => { (state(&state_now)) " " },
            }
            @for refusal in refusals { (refused(refusal)) }
            @if let Some(task) = &self.task {
                @let said = said(task);
                @if !said.is_empty() { "“" (line(&said, LINE)) "” " }
                details id={ "came-" (self.task_id) } {
                    summary { "What was asked and what came back" }
                    @for asked in task.history.iter().take(1) {
                        h3 { "Asked" }
                        (parts(&asked.content, Source::Message { task: &task.id, message: &asked.message_id }))
                    }
                    h3 { "Came back" }
                    @if let Some(update) = task.status.as_ref().and_then(|status| status.update.as_ref()) {
                        (parts(&update.content, Source::Status { task: &task.id }))
                    }
                    @for artifact in &task.artifacts {
                        (parts(&artifact.parts, Source::Artifact { task: &task.id, artifact: &artifact.artifact_id }))
                    }
                }
            } @else if !self.says.is_empty() {
                (line(&self.says, LINE)) " "
            }
            @if !self.task_id.is_empty() { (id_link("/ui/tasks/", &self.task_id)) }
        }
    }
}

/// Words of a task that has ended.
fn said(task: &Task) -> String {
    let status = task.status.as_ref().map(|status| status.text());
    match status.filter(|words| !words.trim().is_empty()) {
        Some(words) => words,
        None => task
            .artifacts
            .iter()
            .map(|artifact| artifact.text())
            .collect::<Vec<_>>()
            .join(" "),
    }
}
