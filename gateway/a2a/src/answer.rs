//! The answer to a message (specification §3.1.1): its task, or the agent's message alone where the agent wants that.

use agenthub_sdk::proto::a2a::{Message, Task, TaskState};

use crate::{
    convert::{message_from_hub, task_from_hub},
    v1::send_message_response::Payload,
};

/// The answer that a task gives which was waited for. One with artifacts, and one that was not completed, is a task.
pub(crate) fn answer_of(mut task: Task) -> Payload {
    let may_be_alone = task.state() == TaskState::Completed && task.artifacts.is_empty();
    let status = task.status.as_mut();
    if may_be_alone
        && let Some(message) = status.and_then(|status| status.update.as_mut())
        && take_mark(message)
    {
        let mut message = message_from_hub(std::mem::take(message));
        // There is no task that it is of.
        message.task_id.clear();
        return Payload::Message(message);
    }
    Payload::Task(task_from_hub(task))
}

/// Removes the mark of a message that wants to be alone; false if it has none.
fn take_mark(message: &mut Message) -> bool {
    let Some(metadata) = &mut message.metadata else {
        return false;
    };
    let is_marked = metadata.fields.remove(Message::MESSAGE_ONLY).is_some();
    if is_marked && metadata.fields.is_empty() {
        message.metadata = None;
    }
    is_marked
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::proto::a2a::{Artifact, Role, TaskStatus};

    use super::*;

    fn task(state: TaskState, message: Message) -> Task {
        let status = TaskStatus {
            state: state.into(),
            update: Some(message),
            ..Default::default()
        };
        Task {
            id: "t".to_owned(),
            status: Some(status),
            ..Default::default()
        }
    }

    /// spec: A2A 1.0.1 §3.1.1
    #[test]
    fn an_answer_is_a_message_only_if_the_agent_wants_that_and_a_message_has_it_all() {
        let plain = || Message {
            task_id: "t".to_owned(),
            ..Message::new(Role::Agent, "hi")
        };
        let marked = || plain().with_metadata(Message::MESSAGE_ONLY, true);
        let Payload::Message(message) = answer_of(task(TaskState::Completed, marked())) else {
            panic!("a message");
        };
        assert_eq!((message.task_id.as_str(), message.metadata), ("", None));

        let artifacts = vec![Artifact::default()];
        let drawn = Task {
            artifacts,
            ..task(TaskState::Completed, marked())
        };
        let others = [
            task(TaskState::Completed, plain()),
            task(TaskState::InputRequired, marked()),
            drawn,
        ];
        for other in others {
            let Payload::Task(task) = answer_of(other) else {
                panic!("a task");
            };
            assert!(task.status.is_some_and(|status| status.message.is_some()));
        }
    }
}
