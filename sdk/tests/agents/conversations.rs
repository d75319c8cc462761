//! What the model is told of earlier turns, and what is seen of its answer while it grows.

use agenthub_sdk::{
    Agent, Card, Client, Delegation,
    model::{PromptMessage, PromptPart, PromptRole, Request},
};
use serde_json::json;

use crate::harness::{ask, calls, delegate, hub, says, script, sum, url, user};

/// The words of the conversation that a request shows, without the instructions.
fn told(request: &Request) -> Vec<(PromptRole, String)> {
    let messages = request
        .messages
        .iter()
        .filter(|m| m.role != PromptRole::System);
    messages
        .map(|m: &PromptMessage| (m.role, m.text().unwrap_or_default()))
        .collect()
}

async fn say(client: &Client, context: &str, text: &str) {
    let delegation = Delegation::to("a").context_id(context).text(text);
    delegate(client, delegation)
        .await
        .expect("there is an outcome");
}

/// spec: AGT-14.3
#[tokio::test]
async fn earlier_turns_of_the_conversation_are_told_to_the_model() {
    let hub = hub().await;
    let model = script([
        says("Hello Ann"),
        says("else"),
        says("You are Ann"),
        says("secret?"),
    ]);
    let agent = Agent::worker(Card::new("a", "")).model(model.clone());
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let client = user(&hub).await;
    say(&client, "c", "I am Ann").await;
    say(&client, "other", "elsewhere").await;
    say(&client, "c", "Who am I?").await;
    let requests = model.requests();
    let (user_said, answered) = (PromptRole::User, PromptRole::Assistant);
    assert_eq!(told(&requests[1]), [(user_said, "elsewhere".into())]);
    assert_eq!(
        told(&requests[2]),
        [
            (user_said, "I am Ann".into()),
            (answered, "Hello Ann".into()),
            (user_said, "Who am I?".into()),
        ]
    );
    let bob = Client::builder(url(&hub)).agent_id("bob").connect().await;
    say(&bob.expect("the hub is there"), "c", "What did Ann say?").await;
    assert_eq!(
        told(&model.requests()[3]).len(),
        1,
        "that is between Ann and the agent"
    );
}

/// spec: AGT-14.1, AGT-14.2, AGT-14.5
#[tokio::test]
async fn texts_are_asked_and_data_is_quoted() {
    let hub = hub().await;
    let model = script([says("fine")]);
    let agent = Agent::supervisor(Card::new("a", ""))
        .model(model.clone())
        .instructions("You are a test.");
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let delegation = Delegation::to("a").text("look").payload(json!({"n": 1}));
    let watched = delegate(&user(&hub).await, delegation)
        .await
        .expect("an outcome");
    assert_eq!(watched.outcome.text, "fine");
    let request = &model.requests()[0];
    assert_eq!(request.last_user_text().as_deref(), Some("look"));
    assert_eq!(request.data("input"), Some(&json!({"n": 1})));
    let system = request.messages[0].text().unwrap_or_default();
    assert!(
        system.starts_with("You are a test.\n\nYou lead other agents."),
        "{system}"
    );
}

#[tokio::test]
async fn an_answer_is_seen_while_it_grows_and_each_turn_begins_anew() {
    let hub = hub().await;
    let long = "word ".repeat(1_000);
    let first =
        calls([("sum", json!({"numbers": [1]}))]).map(|c| agenthub_sdk::model::Completion {
            text: "Let me see.".to_owned(),
            ..c
        });
    let model = script([first, says(&long)]);
    let agent = Agent::worker(Card::new("a", ""))
        .model(model.clone())
        .tool(sum());
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let watched = ask(&user(&hub).await, "a", "go").await;
    assert_eq!(watched.outcome.text, long);
    assert_eq!(
        watched.grown, long,
        "the answer takes the place of the words before the call"
    );
    assert!(
        (3..=20).contains(&watched.pieces),
        "{} pieces of 5,000 bytes",
        watched.pieces
    );
    assert!(
        watched.outcome.artifacts.is_empty(),
        "the pieces themselves may be lost"
    );
    let asked = &model.requests()[1].messages;
    let parts = asked
        .iter()
        .filter(|m| m.role == PromptRole::Assistant)
        .flat_map(|m| &m.parts);
    assert!(
        parts
            .clone()
            .any(|p| *p == PromptPart::Text("Let me see.".into()))
    );
}

#[tokio::test]
async fn two_agents_with_models_do_not_answer_each_others_answers() {
    let hub = hub().await;
    let models = [script([says("from a")]), script([says("from b")])];
    let mut agents = Vec::new();
    for (name, model) in ["a", "b"].into_iter().zip(&models) {
        let agent = Agent::worker(Card::new(name, "")).model(model.clone());
        agents.push(agent.start(url(&hub)).await.expect("it starts"));
    }
    let a = agents[0].client();
    let mut message =
        agenthub_sdk::proto::a2a::Message::new(agenthub_sdk::proto::a2a::Role::User, "hello all");
    message.context_id = "c".into();
    a.publish(message, Default::default())
        .await
        .expect("it is out");
    let watched = ask(&user(&hub).await, "b", "go").await;
    assert_eq!(
        watched.outcome.text, "from b",
        "its only answer was not used up"
    );
    assert!(models[0].requests().is_empty());
}
