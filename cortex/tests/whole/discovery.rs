//! Agents that come early and late.

use agenthub_agents::echo;
use agenthub_sdk::model::Scripted;

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
