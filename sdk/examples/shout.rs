//! A whole agent: `cargo run -p agenthub-sdk --example shout`, while a hub runs.

use agenthub_sdk::{Agent, Card, Error, Failure, Skill, TaskContext};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let shout = Skill::new("shout", "Shout", "Says a text in capital letters")
        .tags(["text", "capitals"])
        .examples(["shout hello", "say this louder"]);
    let card = Card::new("agent_shout", "Makes texts louder").skill(shout);
    Agent::worker(card)
        .on("shout", async |task: TaskContext| {
            Ok::<_, Failure>(task.text().to_uppercase())
        })
        .run("http://127.0.0.1:50051")
        .await
}
