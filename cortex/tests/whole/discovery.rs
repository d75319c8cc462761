//! Agents that come early and late.

use agenthub_agents::echo;
use agenthub_sdk::{Agent, AgentBuilder, Card, Failure, Skill, TaskContext, model::Scripted};
use serde_json::{Value, json};

use crate::harness::*;

/// spec: HUB-4.1, HUB-4.2, HUB-6.4
#[tokio::test]
async fn a_late_cortex_knows_the_agents_that_came_before() {
    let hub = hub().await;
    let echo = echo::agent("agent_echo")
        .start(url(&hub))
        .await
        .expect("the hub runs");
    let model = Scripted::from_fn(|_| Ok(respond("ok")));
    let cortex = cortex(&hub, model.clone(), |_| {}).await;
    knows(&cortex, "agent_echo").await;

    User::new(&hub, "ann").await.ask("c", "hello").await;
    let requests = model.requests();
    assert_eq!(agents_shown(&requests[0]), ["agent_echo"]);
    let prompt = requests[0].messages[1].rendered();
    for of_the_card in [
        "Echo Messages",
        "Echo this message",
        "debug",
        "text/plain",
        "echo_request",
    ] {
        assert!(prompt.contains(of_the_card), "{of_the_card:?} in {prompt}");
    }
    cortex.stop().await;
    echo.stop().await;
}

/// spec: HUB-4.1, HUB-6.4
#[tokio::test]
async fn a_late_agent_is_in_the_next_prompt_and_gone_with_its_goodbye() {
    let model = Scripted::from_fn(|_| Ok(respond("ok")));
    let world = World::new(model.clone()).await;
    let ann = world.user("ann").await;
    ann.ask("c", "hello").await;

    let echo = world.agent(echo::agent("agent_echo")).await;
    ann.ask("c", "hello").await;

    let mut changed = world.cortex.client().directory().changed();
    changed.mark_unchanged();
    echo.stop().await;
    within(changed.changed()).await.expect("Cortex runs");
    ann.ask("c", "hello").await;

    let shown: Vec<_> = model.requests().iter().map(agents_shown).collect();
    assert_eq!(shown, [vec![], vec!["agent_echo".to_owned()], vec![]]);
    world.end().await;
}

fn agent(card: Card) -> AgentBuilder {
    Agent::worker(card).on_any(async |_: TaskContext| Ok::<_, Failure>("done"))
}

/// The registry as the model is told of it, item by item: each agent's name and description, and of each skill the name, the description, the examples
/// and the tags; as the cards are now, and of no agent more than its own.
///
/// spec: HUB-4.1, HUB-4.2
#[tokio::test]
async fn each_item_of_a_card_is_told_and_follows_the_card() {
    let model = Scripted::from_fn(|_| Ok(respond("ok")));
    let world = World::new(model.clone()).await;
    let ann = world.user("ann").await;
    let skill = |id: &str, name: &str, what: &str| {
        Skill::new(id, name, what)
            .tags([format!("{id}-tag")])
            .examples([format!("{id} this, please")])
    };
    let told = |id: &str, name: &str, what: &str| {
        json!({
            "id": id, "name": name, "description": what,
            "tags": [format!("{id}-tag")], "examples": [format!("{id} this, please")],
        })
    };
    let weigh = || skill("weigh", "Weigh parcels", "Says how heavy a parcel is");
    let shop = Card::new("shop", "Sells stamps").skill(weigh());
    let shop = shop.skill(skill("sell", "Sell stamps", "Sells a stamp"));
    let shop = world.agent(agent(shop)).await;
    let _van = world
        .agent(agent(
            Card::new("van", "Brings parcels").skill(skill("bring", "Bring", "Drives")),
        ))
        .await;
    ann.ask("c", "hello").await;

    let card = Card::new("shop", "Sells nothing but weighs").version("1.0.1");
    let other = agent(card.skill(weigh())).build().expect("it is whole");
    shop.replace(other).await.expect("it is one of the same id");
    let directory = world.cortex.client().directory();
    let mut changed = directory.changed();
    within(async {
        while directory
            .get("shop")
            .is_none_or(|entry| entry.card.version != "1.0.1")
        {
            changed.changed().await.expect("Cortex runs");
        }
    })
    .await;
    ann.ask("c", "hello").await;

    let weigh = told("weigh", "Weigh parcels", "Says how heavy a parcel is");
    let sell = told("sell", "Sell stamps", "Sells a stamp");
    let van = json!([("van", "Brings parcels", [told("bring", "Bring", "Drives")])]);
    let of = |description: &str, skills: &[&Value]| {
        let mut all = json!([("shop", description, skills)]);
        all.as_array_mut().expect("a list").push(van[0].clone());
        all
    };
    let shown: Vec<Value> = model.requests().iter().map(items).collect();
    assert_eq!(shown[0], of("Sells stamps", &[&weigh, &sell]));
    assert_eq!(shown[1], of("Sells nothing but weighs", &[&weigh]));
    world.end().await;
}

/// The agents of a request by name: name, description, and of each skill the items that a card has.
fn items(request: &agenthub_sdk::model::Request) -> Value {
    let agents = request.data("agents").and_then(Value::as_array);
    let mut agents: Vec<Value> = agents.expect("an agents block").clone();
    agents.sort_by_key(|agent| agent["id"].to_string());
    let skill = |skill: &Value| {
        let items = ["id", "name", "description", "tags", "examples"];
        let items = items.map(|item| (item.to_owned(), skill[item].clone()));
        Value::Object(items.into_iter().collect())
    };
    let agent = |agent: &Value| {
        let skills = agent["skills"].as_array().into_iter().flatten();
        let skills: Vec<Value> = skills.map(skill).collect();
        json!((&agent["id"], &agent["description"], skills))
    };
    agents.iter().map(agent).collect()
}
