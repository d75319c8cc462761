//! The echo agent: it repeats what it is told.

use std::time::SystemTime;

use agenthub_sdk::proto::{
    a2a::{Message, Part, Role},
    event::timestamp,
};
use agenthub_sdk::runs::Shortfall;
use agenthub_sdk::{Agent, AgentBuilder, Card, Failure, Skill, TaskContext, model::Undone};
use serde_json::{Value, json};
use uuid::Uuid;

/// The name that it has if no other is given.
pub const NAME: &str = "agent_echo";

/// The agent under this name. It takes tasks of the types `echo_request` and `echo`.
pub fn agent(name: &str) -> AgentBuilder {
    Agent::worker(card(name))
        .on_task_type("echo_request", echo)
        .on_task_type("echo", echo)
}

fn card(name: &str) -> Card {
    Card::new(
        name,
        "A simple echo agent that repeats back messages for testing purposes",
    )
    .skill(
        Skill::new(
            "echo",
            "Echo Messages",
            "Echoes back any text message with an 'Echo: ' prefix",
        )
        .tags(["testing", "echo", "debug"])
        .examples([
            "Echo this message",
            "Repeat what I say",
            "Test echo functionality",
        ]),
    )
}

async fn echo(task: TaskContext) -> Result<Message, Failure> {
    let now = timestamp(SystemTime::now());
    let mut reply = Message::new(Role::Agent, format!("Echo: {}", task.text()))
        .with_metadata("task_type", "echo_result")
        .with_metadata("echo_agent", task.client().agent_id())
        .with_metadata("original_message_id", &*task.message().message_id)
        .with_metadata("created_at", now.to_string());
    let unique = Uuid::new_v4().simple();
    reply.message_id = format!("msg_echo_response_{}_{unique}", now.seconds);
    let shortfall = unrepeated(&task.text(), task.message());
    reply.content.extend(shortfall.as_ref().map(Part::data));
    Ok(reply)
}

/// The mark of an answer that repeats the text alone, where other content came that does not say the same.
fn unrepeated(text: &str, message: &Message) -> Option<Value> {
    let same = json!({ "text": text });
    let other = message
        .content
        .iter()
        .filter(|part| part.as_text().is_none());
    let is_left = other
        .map(Part::as_data)
        .any(|data| data.as_ref() != Some(&same));
    let undone = match text.trim().is_empty() {
        true => Undone::All,
        false => Undone::Part,
    };
    is_left.then(|| Shortfall::new(Some(undone), Vec::new()).to_json())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: ORC-2.3
    #[test]
    fn what_is_no_text_is_said_not_to_be_repeated() {
        let undone = |text: &str, data: &[Value]| {
            let mut message = Message::new(Role::User, text);
            message.content.extend(data.iter().map(Part::data));
            unrepeated(text, &message).map(|mark| mark["undone"].clone())
        };
        assert_eq!(undone("hi", &[]), None);
        assert_eq!(undone("hi", &[json!({"text": "hi"})]), None);
        assert_eq!(
            undone("hi", &[json!({"town": "Cork"})]),
            Some("part".into())
        );
        assert_eq!(undone("", &[json!({"town": "Cork"})]), Some("all".into()));
    }
}
