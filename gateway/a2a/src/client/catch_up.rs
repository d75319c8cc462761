//! The part of a task that was shown, and what of a later look at it was not: so that a stream that broke goes on without a gap.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

use prost::Message;

use crate::v1::{
    Artifact, Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent, stream_response::Payload,
};

/// The most messages of a task that are remembered as shown.
const MAX_MESSAGES: usize = 10_000;

/// Messages that were shown, by the hashes of their ids: the latest [`MAX_MESSAGES`].
#[derive(Debug, Default)]
struct SeenMessages {
    hashes: HashSet<u64>,
    oldest_first: VecDeque<u64>,
}

impl SeenMessages {
    /// False if it is there already.
    fn insert(&mut self, id: &str) -> bool {
        let hash = hash(id);
        let is_new = self.hashes.insert(hash);
        if is_new {
            self.oldest_first.push_back(hash);
        }
        if self.oldest_first.len() > MAX_MESSAGES
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.hashes.remove(&oldest);
        }
        is_new
    }

    fn contains(&self, id: &str) -> bool {
        self.hashes.contains(&hash(id))
    }
}

/// The part of a task that was shown.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) task_id: String,
    pub(super) context_id: String,
    /// The message that the requester sent last; empty if not known.
    sent: String,
    state: Option<TaskState>,
    /// Messages that were shown.
    messages: SeenMessages,
    /// Parts of artifacts that were shown, by their hashes.
    artifacts: HashMap<String, Vec<u64>>,
    /// The answer was a message, without a task.
    is_message: bool,
}

impl Progress {
    /// Progress since this message was sent; empty if it is not known which.
    pub(super) fn after(sent: &str) -> Self {
        Self {
            sent: sent.to_owned(),
            ..Self::default()
        }
    }

    /// State that was shown last.
    pub(super) fn state(&self) -> Option<TaskState> {
        self.state
    }

    /// True if nothing follows: the task has ended or waits for its requester, or there is none.
    pub(super) fn is_over(&self) -> bool {
        self.is_message || self.state.is_some_and(is_stop)
    }

    /// The part of an event that was not shown yet.
    pub(super) fn take(&mut self, event: StreamResponse) -> Vec<StreamResponse> {
        match event.payload {
            Some(Payload::Task(task)) if self.task_id.is_empty() => {
                self.begin(&task);
                vec![shown(Payload::Task(task))]
            }
            Some(Payload::Task(task)) => self.catch_up(task),
            Some(Payload::Message(message)) => {
                self.is_message = true;
                vec![shown(Payload::Message(message))]
            }
            Some(Payload::StatusUpdate(update)) => {
                self.name(&update.task_id, &update.context_id);
                if let Some(status) = &update.status {
                    self.enter(status);
                }
                vec![shown(Payload::StatusUpdate(update))]
            }
            Some(Payload::ArtifactUpdate(update)) => {
                self.name(&update.task_id, &update.context_id);
                if let Some(artifact) = &update.artifact {
                    let hashes = self.artifacts.entry(artifact.artifact_id.clone());
                    let hashes = hashes.or_default();
                    if !update.append {
                        hashes.clear();
                    }
                    hashes.extend(artifact.parts.iter().map(part_hash));
                }
                vec![shown(Payload::ArtifactUpdate(update))]
            }
            None => Vec::new(),
        }
    }

    fn name(&mut self, task_id: &str, context_id: &str) {
        if self.task_id.is_empty() {
            task_id.clone_into(&mut self.task_id);
            context_id.clone_into(&mut self.context_id);
        }
    }

    fn begin(&mut self, task: &Task) {
        self.name(&task.id, &task.context_id);
        for message in &task.history {
            self.messages.insert(&message.message_id);
        }
        for artifact in &task.artifacts {
            let hashes = artifact.parts.iter().map(part_hash).collect();
            self.artifacts.insert(artifact.artifact_id.clone(), hashes);
        }
        if is_before(task, &self.sent) {
            self.state = Some(TaskState::Working);
        } else if let Some(status) = &task.status {
            self.enter(status);
        }
    }

    fn enter(&mut self, status: &TaskStatus) {
        self.state = Some(status.state());
        if let Some(message) = &status.message {
            self.messages.insert(&message.message_id);
        }
    }

    /// The missing changes of a task as it is now, in the order in which they can have been.
    fn catch_up(&mut self, task: Task) -> Vec<StreamResponse> {
        let mut missed = Vec::new();
        let is_before = is_before(&task, &self.sent);
        let (task_id, context_id) = (task.id, task.context_id);
        let update = |status| {
            shown(Payload::StatusUpdate(TaskStatusUpdateEvent {
                task_id: task_id.clone(),
                context_id: context_id.clone(),
                status: Some(status),
                metadata: None,
            }))
        };
        let latest = task.status.unwrap_or_default();
        let last_words = latest.message.as_ref().map(|m| m.message_id.as_str());
        for message in task.history {
            let is_last = last_words == Some(message.message_id.as_str());
            let is_agents = message.role() == Role::Agent && !is_last;
            if is_agents && self.messages.insert(&message.message_id) {
                missed.push(update(TaskStatus {
                    state: TaskState::Working.into(),
                    message: Some(message),
                    timestamp: None,
                }));
            }
        }
        for artifact in task.artifacts {
            missed.extend(self.rest_of(artifact).map(|(artifact, append)| {
                shown(Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
                    task_id: task_id.clone(),
                    context_id: context_id.clone(),
                    artifact: Some(artifact),
                    append,
                    last_chunk: false,
                    metadata: None,
                }))
            }));
        }
        if is_before {
            return missed;
        }
        let is_told = latest
            .message
            .as_ref()
            .is_none_or(|m| self.messages.contains(&m.message_id));
        if self.state != Some(latest.state()) || !is_told {
            self.enter(&latest);
            missed.push(update(latest));
        }
        missed
    }

    /// The part of an artifact that was not shown; the whole, if what was shown is no part of it.
    fn rest_of(&mut self, mut artifact: Artifact) -> Option<(Artifact, bool)> {
        let now: Vec<u64> = artifact.parts.iter().map(part_hash).collect();
        let known = self
            .artifacts
            .insert(artifact.artifact_id.clone(), now.clone());
        match known {
            Some(known) if known == now => None,
            Some(known) if !known.is_empty() && now.starts_with(&known) => {
                artifact.parts.drain(..known.len());
                Some((artifact, true))
            }
            _ => Some((artifact, false)),
        }
    }
}

/// True if a task waits for the very message that was sent: the agent has not taken it yet. Its question is in the history then, before the
/// message, or nowhere any more.
fn is_before(task: &Task, sent: &str) -> bool {
    let Some(status) = task.status.as_ref().filter(|s| is_interrupted(s.state())) else {
        return false;
    };
    let place = |id: &str| task.history.iter().position(|m| m.message_id == id);
    let (Some(sent_at), false) = (place(sent), sent.is_empty()) else {
        return false;
    };
    match &status.message {
        Some(question) => place(&question.message_id).is_some_and(|at| at < sent_at),
        None => sent_at + 1 == task.history.len(),
    }
}

fn is_interrupted(state: TaskState) -> bool {
    matches!(state, TaskState::InputRequired | TaskState::AuthRequired)
}

/// True if an agent does no more in this state by itself.
pub(super) fn is_stop(state: TaskState) -> bool {
    use TaskState as S;
    !matches!(state, S::Unspecified | S::Submitted | S::Working)
}

fn part_hash(part: &Part) -> u64 {
    hash(part.encode_to_vec().as_slice())
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn shown(payload: Payload) -> StreamResponse {
    StreamResponse {
        payload: Some(payload),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{from_json, to_json};
    use serde_json::{Value, json};

    fn task(state: &str, history: &[&str], artifacts: Value) -> StreamResponse {
        let history: Vec<Value> = history
            .iter()
            .map(|id| json!({"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": id}]}))
            .collect();
        let task = json!({
            "id": "t", "contextId": "c", "history": history, "artifacts": artifacts,
            "status": {"state": format!("TASK_STATE_{state}")},
        });
        from_json(json!({ "task": task })).expect("an event")
    }

    fn artifact(id: &str, texts: &[&str]) -> Value {
        let parts: Vec<Value> = texts.iter().map(|text| json!({ "text": text })).collect();
        json!({"artifactId": id, "parts": parts})
    }

    fn chunk(id: &str, text: &str, append: bool) -> StreamResponse {
        from_json(json!({"artifactUpdate": {
            "taskId": "t", "contextId": "c", "artifact": artifact(id, &[text]), "append": append,
        }}))
        .expect("an event")
    }

    fn words(state: &str, id: &str) -> StreamResponse {
        from_json(
            json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {
                "state": format!("TASK_STATE_{state}"),
                "message": {"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": id}]},
            }}}),
        )
        .expect("an event")
    }

    /// Part that is shown of the last of these events.
    fn check(events: Vec<StreamResponse>, expected: &[StreamResponse]) {
        let mut progress = Progress::default();
        let mut last = Vec::new();
        for event in events {
            last = progress.take(event);
        }
        let json = |all: &[StreamResponse]| all.iter().map(to_json).collect::<Vec<_>>();
        assert_eq!(json(&last), json(expected));
    }

    #[test]
    fn the_first_look_is_shown_as_it_is() {
        let first = task("WORKING", &["a"], json!([artifact("x", &["1"])]));
        check(vec![first.clone()], &[first]);
        let message: StreamResponse =
            from_json(json!({"message": {"messageId": "m", "role": "ROLE_AGENT"}})).expect("one");
        let mut progress = Progress::default();
        assert_eq!(progress.take(message).len(), 1);
        assert!(progress.is_over());
    }

    #[test]
    fn a_later_look_shows_what_was_missed_alone() {
        let begin = || task("WORKING", &[], json!([]));
        check(vec![begin(), begin()], &[]);
        check(
            vec![
                begin(),
                words("WORKING", "one"),
                chunk("x", "a", false),
                task(
                    "WORKING",
                    &["one", "two"],
                    json!([artifact("x", &["a", "b"]), artifact("y", &["c"])]),
                ),
            ],
            &[
                words("WORKING", "two"),
                chunk("x", "b", true),
                chunk("y", "c", false),
            ],
        );
        // What was shown is no part of what there is: it begins anew.
        check(
            vec![
                begin(),
                chunk("x", "a", false),
                chunk("x", "b", true),
                task("WORKING", &[], json!([artifact("x", &["ab"])])),
            ],
            &[chunk("x", "ab", false)],
        );
        let ended: StreamResponse =
            from_json(json!({"statusUpdate": {"taskId": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_COMPLETED"}}}))
            .expect("one");
        check(vec![begin(), task("COMPLETED", &[], json!([]))], &[ended]);
    }

    #[test]
    fn an_endless_stream_fills_no_memory() {
        let mut progress = Progress::default();
        for number in 0..=MAX_MESSAGES {
            progress.take(words("WORKING", &number.to_string()));
        }
        let seen = &progress.messages;
        assert_eq!(seen.hashes.len(), MAX_MESSAGES);
        assert_eq!(seen.oldest_first.len(), MAX_MESSAGES);
        assert!(!seen.contains("0") && seen.contains("1"));
    }

    #[test]
    fn a_question_that_was_answered_ends_nothing() {
        let over = |history: &[&str], question: Option<&str>| {
            let mut event = task("INPUT_REQUIRED", history, json!([]));
            if let (Some(Payload::Task(task)), Some(id)) = (&mut event.payload, question) {
                let message =
                    json!({"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": id}]});
                let status = task.status.get_or_insert_default();
                status.message = Some(from_json(message).expect("a message"));
            }
            let mut progress = Progress::after("answer");
            progress.take(event);
            progress.is_over()
        };
        assert!(!over(&["ask", "which?", "answer"], Some("which?")));
        assert!(!over(&["ask", "which?", "answer"], None));
        assert!(over(&["ask", "which?", "answer"], Some("and?")));
        assert!(over(&["ask", "which?", "answer", "and?"], Some("and?")));
        assert!(over(&["ask", "which?", "answer", "and?"], None));
        assert!(over(&[], Some("and?")));
    }

    #[test]
    fn a_stream_is_over_when_the_agent_does_no_more_by_itself() {
        for (state, over) in [
            ("SUBMITTED", false),
            ("WORKING", false),
            ("INPUT_REQUIRED", true),
            ("AUTH_REQUIRED", true),
            ("COMPLETED", true),
            ("FAILED", true),
            ("CANCELED", true),
            ("REJECTED", true),
        ] {
            let mut progress = Progress::default();
            progress.take(task(state, &[], json!([])));
            assert_eq!(progress.is_over(), over, "{state}");
        }
    }
}
