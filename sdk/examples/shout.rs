//! The agent of the README: `cargo run -p agenthub-sdk --example shout`.

use agenthub_sdk::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let shout = Skill::new("shout", "Shout", "Says a text in capital letters")
        .tags(["text", "capitals"])
        .examples(["shout hello", "say this louder"]);
    Agent::worker(Card::new("agent_shout", "Makes texts louder"))
        .on(&shout, async |_, text| text.to_uppercase())
        .run("http://127.0.0.1:50051")
        .await
}
