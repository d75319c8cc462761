//! Events line by line, as people read them: the tools of an agent under the agent.

use std::{collections::HashMap, time::Duration};

use agenthub_proto::{
    agenthub::{AgentEvent, TaskStatusUpdateEvent, agent_event::Payload},
    json,
    wkt::Timestamp,
};
use serde_json::Value;

use super::event;
use crate::output::cut;

/// The calls whose beginnings are remembered, to tell how long they took.
const MAX_CALLS: usize = 4_096;

/// The longest of what a tool is called with that is shown, in characters.
const MAX_ARGUMENTS: usize = 80;

/// The longest line about a tool, in characters.
const MAX_TEXT: usize = 200;

/// The events so far.
#[derive(Debug, Default)]
pub struct Watched {
    /// The task and the agent of the last line.
    last: (String, String),
    /// Beginning of each call that is out.
    calls: HashMap<Call, Timestamp>,
}

/// A call of a tool: its task, its name and the model's id for it or the task that it made.
type Call = (String, String, String);

impl Watched {
    /// The lines for an event; `None` for what is not worth one. Of a text that grows only its beginning is shown: it comes whole at
    /// its end.
    pub fn lines(&mut self, event: &AgentEvent) -> Option<String> {
        match event.payload.as_ref()? {
            Payload::StatusUpdate(update) => match tool(update) {
                Some(tool) => Some(self.tool(event, update, &tool)),
                None => self.plain(event, &update.task_id),
            },
            Payload::ArtifactUpdate(update) if update.append => None,
            Payload::ArtifactUpdate(update) => self.plain(event, &update.task_id),
            Payload::Message(message) => self.plain(event, &message.task_id),
            Payload::Task(task) => self.plain(event, &task.id),
            Payload::AgentCard(_) => self.plain(event, ""),
        }
    }

    fn plain(&mut self, happened: &AgentEvent, task_id: &str) -> Option<String> {
        self.last = (task_id.to_owned(), happened.sender().to_owned());
        event(happened)
    }

    fn tool(&mut self, event: &AgentEvent, update: &TaskStatusUpdateEvent, tool: &Value) -> String {
        let time = event.timestamp.map(|t| t.to_string()).unwrap_or_default();
        let here = (update.task_id.clone(), event.sender().to_owned());
        let heading = match here == self.last {
            true => String::new(),
            false => format!(
                "{time}  {}\n",
                cut(&format!("{} working {}", here.0, here.1), MAX_TEXT)
            ),
        };
        self.last = here;
        let text = update.status.clone().unwrap_or_default().text();
        let after = match tool.get("arguments") {
            Some(arguments) => format!("  {}", cut(&arguments.to_string(), MAX_ARGUMENTS)),
            None => String::new(),
        };
        let took = match self.took(update, event.timestamp, tool) {
            Some(took) => format!("  ({})", seconds(took)),
            None => String::new(),
        };
        format!("{heading}{time}      {}{after}{took}", cut(&text, MAX_TEXT))
    }

    /// Duration of a call that is over.
    fn took(
        &mut self,
        update: &TaskStatusUpdateEvent,
        now: Option<Timestamp>,
        tool: &Value,
    ) -> Option<Duration> {
        let of = |key| tool.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = match of("taskId") {
            "" => of("callId"),
            task_id => task_id,
        };
        let call = (update.task_id.clone(), of("name").to_owned(), id.to_owned());
        if tool.get("arguments").is_some() {
            if self.calls.len() < MAX_CALLS {
                self.calls.insert(call, now?);
            }
            return None;
        }
        let is_over = tool.get("result").is_some() || tool.get("error").is_some();
        let begun = is_over.then(|| self.calls.remove(&call))??;
        let took = millis(&now?).saturating_sub(millis(&begun));
        Some(Duration::from_millis(took))
    }
}

/// A status of a tool.
fn tool(update: &TaskStatusUpdateEvent) -> Option<Value> {
    let metadata = update.metadata.as_ref().map(json::from_struct)?;
    metadata
        .get("tool")
        .filter(|tool| tool.is_object())
        .cloned()
}

fn millis(at: &Timestamp) -> u64 {
    let seconds = u64::try_from(at.seconds).unwrap_or_default();
    seconds * 1_000 + u64::try_from(at.nanos).unwrap_or_default() / 1_000_000
}

fn seconds(took: Duration) -> String {
    match took.as_millis() {
        millis @ ..1_000 => format!("{millis} ms"),
        _ => format!("{:.1} s", took.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Artifact, Message, Part, Role, TaskState, TaskStatus},
        agenthub::{AgentEventMetadata, TaskArtifactUpdateEvent},
    };
    use serde_json::json;

    use super::*;

    fn event(second: i64, agent: &str, payload: Payload) -> AgentEvent {
        AgentEvent {
            timestamp: Some(Timestamp {
                seconds: second,
                nanos: 250_000_000,
            }),
            routing: Some(AgentEventMetadata {
                from_agent_id: agent.into(),
                ..Default::default()
            }),
            payload: Some(payload),
            ..Default::default()
        }
    }

    fn status(second: i64, agent: &str, text: &str, tool: Option<Value>) -> AgentEvent {
        let update = TaskStatusUpdateEvent {
            task_id: format!("task-of-{agent}"),
            status: Some(TaskStatus {
                state: TaskState::Working.into(),
                update: Some(Message::new(Role::Agent, text)),
                timestamp: None,
            }),
            metadata: tool.map(|tool| json::to_struct(&json!({"tool": tool}))),
            ..Default::default()
        };
        event(second, agent, Payload::StatusUpdate(update))
    }

    /// spec: AGT-3.5, AGT-7.1, AGT-7.2, AGT-7.3, AGT-7.5
    #[test]
    fn tools_stand_under_their_agent_with_their_times() {
        let call = |id: &str| json!({"name": "sum", "callId": id, "arguments": {"n": [1, 2]}});
        let mut watched = Watched::default();
        let lines: Vec<String> = [
            status(0, "lead", "", None),
            status(1, "lead", "Invoking tool: sum", Some(call("c1"))),
            status(2, "lead", "Invoking tool: sum", Some(call("c2"))),
            status(3, "other", "half done", None),
            status(
                4,
                "lead",
                "Tool sum completed successfully",
                Some(json!({"name": "sum", "callId": "c1", "result": 3})),
            ),
            status(
                4,
                "lead",
                "Tool sum failed: too \u{1b}[31mlarge",
                Some(json!({"name": "sum", "callId": "c2", "error": "too large"})),
            ),
        ]
        .iter()
        .filter_map(|event| watched.lines(event))
        .collect();
        insta::assert_snapshot!(lines.join("\n"));
        assert!(watched.calls.is_empty());
    }

    #[test]
    fn a_text_that_grows_is_shown_once() {
        let piece = |append| {
            let update = TaskArtifactUpdateEvent {
                task_id: "t".into(),
                artifact: Some(Artifact {
                    artifact_id: "answer".into(),
                    parts: vec![Part::text("so")],
                    ..Default::default()
                }),
                append,
                ..Default::default()
            };
            event(0, "lead", Payload::ArtifactUpdate(update))
        };
        let mut watched = Watched::default();
        assert!(watched.lines(&piece(false)).is_some());
        assert_eq!(watched.lines(&piece(true)), None);
    }
}
