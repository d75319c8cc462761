//! An agent's answer, as its events come to it.

use agenthub_a2a::v1::{
    Artifact, Message, Part, SendMessageResponse, StreamResponse, Task, TaskState,
    send_message_response, stream_response::Payload,
};

use crate::content::text_of;

/// An answer so far.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    artifacts: Vec<Artifact>,
    /// The agent's last words.
    words: Option<Message>,
    /// The task's state; `None` while there is none.
    state: Option<TaskState>,
    task_id: String,
}

/// The end of a task that did not come to what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsuccessful(pub(crate) String);

impl Answer {
    /// Takes an event in. Gives the texts that it adds to the answer, as they are streamed.
    pub(crate) fn take(&mut self, event: StreamResponse) -> Vec<String> {
        match event.payload {
            Some(Payload::Task(task)) => self.take_task(task),
            Some(Payload::Message(message)) => self.take_message(message),
            Some(Payload::StatusUpdate(update)) => {
                let Some(status) = update.status else {
                    return Vec::new();
                };
                self.state = Some(status.state());
                self.task_id = update.task_id;
                status
                    .message
                    .map_or_else(Vec::new, |m| self.take_message(m))
            }
            Some(Payload::ArtifactUpdate(update)) => {
                let Some(artifact) = update.artifact else {
                    return Vec::new();
                };
                let texts = texts(&artifact.parts);
                self.take_artifact(artifact, update.append);
                texts
            }
            None => Vec::new(),
        }
    }

    /// Takes the answer to a message in.
    pub(crate) fn take_response(&mut self, response: SendMessageResponse) {
        match response.payload {
            Some(send_message_response::Payload::Task(task)) => {
                self.take_task(task);
            }
            Some(send_message_response::Payload::Message(message)) => {
                self.take_message(message);
            }
            None => {}
        }
    }

    /// Id of the task that is still at work; `None` if there is nothing to wait for.
    pub(crate) fn working_task(&self) -> Option<&str> {
        let is_working = matches!(
            self.state,
            Some(TaskState::Unspecified | TaskState::Submitted | TaskState::Working)
        );
        is_working.then_some(self.task_id.as_str())
    }

    /// Parts of the answer so far: those of all artifacts, with the data of the agent's last words, or else these words.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let made = self.artifacts.iter().flat_map(|artifact| &artifact.parts);
        let mut made: Vec<Part> = made.cloned().collect();
        let said = self.words.iter().flat_map(|words| &words.parts);
        match made.is_empty() {
            true => said.cloned().collect(),
            false => {
                made.extend(said.filter(|part| is_data(part)).cloned());
                made
            }
        }
    }

    /// The answer in the end.
    ///
    /// # Errors
    ///
    /// The task failed, or waits for somebody, whom a workflow does not have at hand.
    pub(crate) fn end(&self) -> Result<Vec<Part>, Unsuccessful> {
        use TaskState as S;
        let failed = match self.state {
            None | Some(S::Completed) => return Ok(self.parts()),
            Some(S::Failed) => "the agent failed",
            Some(S::Rejected) => "the agent does not do this",
            Some(S::Canceled) => "the task was cancelled at the agent",
            Some(S::InputRequired) => "the agent waits for an answer",
            Some(S::AuthRequired) => "the agent waits until somebody has signed in",
            Some(S::Unspecified | S::Submitted | S::Working) => {
                "the agent did not say how it ended"
            }
        };
        let words = self.words.as_ref().map(|words| texts(&words.parts));
        let words = words.unwrap_or_default().join("\n");
        Err(Unsuccessful(match words.as_str() {
            "" => failed.to_owned(),
            words => format!("{failed}: {words}"),
        }))
    }

    fn take_task(&mut self, task: Task) -> Vec<String> {
        self.task_id = task.id;
        let mut added = Vec::new();
        for artifact in task.artifacts {
            added.extend(texts(&artifact.parts));
            self.take_artifact(artifact, false);
        }
        if let Some(status) = task.status {
            self.state = Some(status.state());
            if let Some(message) = status.message {
                added.extend(self.take_message(message));
            }
        }
        added
    }

    fn take_message(&mut self, message: Message) -> Vec<String> {
        let texts = texts(&message.parts);
        self.words = Some(message);
        texts
    }

    fn take_artifact(&mut self, artifact: Artifact, appends: bool) {
        let known = self
            .artifacts
            .iter_mut()
            .find(|known| known.artifact_id == artifact.artifact_id);
        match known {
            None => self.artifacts.push(artifact),
            Some(known) if appends => artifact.parts.into_iter().for_each(|p| append(known, p)),
            Some(known) => *known = artifact,
        }
    }
}

/// Adds a part to an artifact: text goes on where text of its type ended.
fn append(artifact: &mut Artifact, part: Part) {
    use agenthub_a2a::v1::part::Content;
    if let Some(last) = artifact.parts.last_mut()
        && last.media_type == part.media_type
        && let (Some(Content::Text(text)), Some(Content::Text(more))) =
            (&mut last.content, &part.content)
    {
        text.push_str(more);
        return;
    }
    artifact.parts.push(part);
}

fn is_data(part: &Part) -> bool {
    use agenthub_a2a::v1::part::Content;
    matches!(part.content, Some(Content::Data(_)))
}

fn texts(parts: &[Part]) -> Vec<String> {
    let texts = parts.iter().filter_map(text_of);
    texts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use agenthub_a2a::json::from_json;
    use serde_json::{Value, json};

    use super::*;
    use crate::content::content_of;

    /// What these events stream, and what they come to.
    fn check(events: &[Value], streamed: &[&str], expected: Result<&str, &str>) {
        let mut answer = Answer::default();
        let mut all = Vec::new();
        for event in events {
            all.extend(answer.take(from_json(event.clone()).expect("an event")));
        }
        assert_eq!(all, streamed);
        let ended = answer.end().map(|parts| content_of(&parts).0);
        let ended = ended.as_ref().map(|content| &content[..]);
        match (ended, expected) {
            (Ok(content), Ok(expected)) => assert_eq!(content, expected.as_bytes()),
            (Err(Unsuccessful(why)), Err(expected)) => assert_eq!(why, expected),
            (ended, expected) => panic!("{ended:?}, not {expected:?}"),
        }
    }

    fn said(text: &str) -> Value {
        json!({ "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": text }] })
    }

    fn state(state: &str) -> Value {
        json!({ "statusUpdate": { "taskId": "t", "status": { "state": state } } })
    }

    fn artifact(id: &str, text: &str, append: bool) -> Value {
        let artifact = json!({ "artifactId": id, "parts": [{ "text": text }] });
        json!({ "artifactUpdate": { "taskId": "t", "artifact": artifact, "append": append } })
    }

    #[test]
    fn a_message_is_the_answer() {
        check(&[json!({ "message": said("hi") })], &["hi"], Ok("hi"));
    }

    /// spec: EXE-6.1
    #[test]
    fn tokens_that_are_appended_are_one_text() {
        let events = [
            state("TASK_STATE_WORKING"),
            artifact("a", "one ", false),
            artifact("a", "two ", true),
            artifact("b", "other", false),
            artifact("a", "three", true),
            state("TASK_STATE_COMPLETED"),
        ];
        let streamed = ["one ", "two ", "other", "three"];
        check(&events, &streamed, Ok("one two three\nother"));
    }

    #[test]
    fn words_on_the_way_are_not_the_answer_if_something_was_made() {
        let words = json!({ "statusUpdate": { "taskId": "t", "status": { "state": "TASK_STATE_COMPLETED", "message": said("done") } } });
        check(std::slice::from_ref(&words), &["done"], Ok("done"));
        let made = [artifact("a", "made", false), words];
        check(&made, &["made", "done"], Ok("made"));
    }

    #[test]
    fn data_beside_what_was_made_is_of_the_answer() {
        let status = json!({ "state": "TASK_STATE_COMPLETED", "message": {
            "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": "done" }, { "data": { "partial": true } }],
        } });
        let words = json!({ "statusUpdate": { "taskId": "t", "status": status } });
        let all = r#"{"parts":[{"text":"made"},{"data":{"partial":true}}]}"#;
        check(
            &[artifact("a", "made", false), words],
            &["made", "done"],
            Ok(all),
        );
    }

    #[test]
    fn another_end_than_completed_is_a_failure_with_the_agents_words() {
        for (name, why) in [
            ("FAILED", "the agent failed"),
            ("REJECTED", "the agent does not do this"),
            ("CANCELED", "the task was cancelled at the agent"),
            ("INPUT_REQUIRED", "the agent waits for an answer"),
            ("WORKING", "the agent did not say how it ended"),
        ] {
            let name = format!("TASK_STATE_{name}");
            check(&[state(&name)], &[], Err(why));
            let words = json!({ "task": { "id": "t", "status": { "state": name, "message": said("no") } } });
            check(&[words], &["no"], Err(&format!("{why}: no")));
        }
    }

    #[test]
    fn a_task_at_work_is_waited_for() {
        for (name, expected) in [
            ("WORKING", Some("t")),
            ("COMPLETED", None),
            ("FAILED", None),
        ] {
            let mut answer = Answer::default();
            let event = from_json(state(&format!("TASK_STATE_{name}"))).expect("an event");
            answer.take(event);
            assert_eq!(answer.working_task(), expected, "{name}");
        }
        assert_eq!(Answer::default().working_task(), None);
    }
}
