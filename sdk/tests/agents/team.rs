//! Agents for supervisors to lead.

use agenthub_broker::Server;
use agenthub_sdk::{
    Agent, Card, Reply, RunningAgent, Skill, TaskContext,
    proto::a2a::{Artifact, Part},
};

use crate::harness::url;

/// A worker that shouts what it is asked; its answer is a message.
pub(crate) async fn shouter(hub: &Server, name: &str) -> RunningAgent {
    let skill = Skill::new("shout", "Shout", "Says it in capitals");
    let agent = Agent::worker(Card::new(name, "Shouts").skill(skill))
        .on_task_type("shout", async |task: TaskContext| {
            Ok(task.text().to_uppercase())
        });
    agent.start(url(hub)).await.expect("it starts")
}

/// A worker that gives its answer as an artifact.
pub(crate) async fn writer(hub: &Server, name: &str) -> RunningAgent {
    let skill = Skill::new("write", "Write", "Writes a text");
    let agent = Agent::worker(Card::new(name, "Writes").skill(skill)).on_task_type(
        "write",
        async |task: TaskContext| {
            let artifact = Artifact {
                name: "text".into(),
                parts: vec![Part::text(format!("About {}", task.text()))],
                ..Default::default()
            };
            Ok(Reply::none().artifact(artifact))
        },
    );
    agent.start(url(hub)).await.expect("it starts")
}
