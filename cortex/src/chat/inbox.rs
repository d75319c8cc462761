//! Choice of the messages that Cortex answers.

use agenthub_proto::a2a::{Message, Role};

use crate::origin::{CHAT_REQUEST, CORTEX};

/// True if Cortex answers the message. `to` is the recipient that the sender named; empty if it named none.
///
/// Users are answered if they mean Cortex, or anybody and nothing of a particular kind. What agents say is answered
/// only as a task for Cortex: an answer to an answer would never end.
pub(crate) fn is_answered(message: &Message, to: &str) -> bool {
    let is_directed = to == CORTEX || to.split_once('@').is_some_and(|(id, _)| id == CORTEX);
    let is_chat = matches!(message.task_type(), "" | CHAT_REQUEST);
    match message.role() {
        Role::Agent => is_directed && !message.task_id.is_empty() && is_chat,
        Role::User | Role::Unspecified => is_directed || is_chat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: HUB-3
    #[test]
    fn users_are_answered_and_agents_only_when_they_ask() {
        use Role::{Agent, User};
        let cases = [
            (User, "", "", "", true),
            (User, "chat_request", "", "", true),
            (User, "echo_request", "", "", false),
            (User, "echo_request", "", "cortex", true),
            (User, "", "t", "cortex@1.0.0", true),
            (Agent, "", "", "", false),
            (Agent, "echo_result", "", "cortex", false),
            (Agent, "chat_request", "", "cortex", false),
            (Agent, "chat_response", "t", "cortex", false),
            (Agent, "chat_request", "t", "", false),
            (Agent, "chat_request", "t", "cortex", true),
        ];
        for (role, task_type, task_id, to, answered) in cases {
            let mut message = Message::new(role, "hello").with_metadata("task_type", task_type);
            message.task_id = task_id.to_owned();
            assert_eq!(
                is_answered(&message, to),
                answered,
                "{role:?} {task_type:?} {task_id:?} {to:?}"
            );
        }
    }
}
