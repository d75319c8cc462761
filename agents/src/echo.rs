//! The echo agent: it repeats what it is told.

use std::time::SystemTime;

use agenthub_sdk::proto::{
    a2a::{Message, Role},
    event::timestamp,
};
use agenthub_sdk::{Agent, AgentBuilder, Card, Failure, Skill, TaskContext};
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
    Ok(reply)
}
