//! Whom an orchestrator may ask, and what comes of it.

use std::time::Duration;

use agenthub_sdk::{
    Agent, Card, Delegation, Skill, TaskContext,
    model::{ModelError, Scripted},
    proto::a2a::TaskState,
};
use serde_json::json;

use crate::world::{World, asks_everyone, eventually, lead, offered, says, soon, sop, told};

/// A team of three.
async fn team() -> World {
    World::new(&[
        (
            "researcher.md",
            &sop("researcher", "", "You find things out."),
        ),
        ("critic.md", &sop("critic", "", "You find fault.")),
        ("lead.md", &lead("You lead, and you MUST be brief.")),
    ])
    .await
}

/// spec: SOP-7.1, SOP-7.2, SOP-7.3, SOP-7.4, SOP-8.1, SOP-8.2, SOP-5.5
#[tokio::test]
async fn the_orchestrator_leads_by_its_own_words_exactly_the_agents_of_its_folder() {
    let world = team().await;
    let stranger = Card::new("stranger", "Not of the folder").skill(Skill::new("x", "X", "X"));
    let stranger = Agent::worker(stranger).on_task_type("x", async |_: TaskContext| Ok("x"));
    let _stranger = stranger.start(world.url()).await.expect("it starts");
    let leads = world.model("lead", asks_everyone());
    let critic = world.model("critic", says("too long"));
    let team = world.start().await;
    let outcome = world.ask("lead", "an article on bees").await;
    assert_eq!(outcome.error, "");
    assert_eq!(outcome.text, "[too long | researcher]");

    let first = &leads.requests()[0];
    assert!(told(first).contains("You lead, and you MUST be brief."));
    assert!(told(first).contains("an article on bees"));
    assert_eq!(offered(first), ["agent_critic", "agent_researcher"]);
    assert!(told(&critic.requests()[0]).contains("You find fault."));
    assert!(told(&critic.requests()[0]).contains("work on agent_critic"));
    let tool = first.tools.iter().find(|t| t.name == "agent_critic");
    let tool = tool.expect("it is offered");
    assert_eq!(tool.description, "Does what critic does");
    assert_eq!(tool.parameters["required"], json!(["task"]));
    team.stop().await;
}

/// spec: SOP-8.3
#[tokio::test]
async fn agents_that_are_asked_in_one_turn_work_at_the_same_time() {
    let world = team().await;
    world.model("lead", asks_everyone());
    let slow = says("done").delay(Duration::from_millis(300));
    // One model for both: it tells how many calls it had at once.
    world.model("critic", slow.clone());
    world.model("researcher", slow.clone());
    let team = world.start().await;
    let outcome = world.ask("lead", "go").await;
    assert_eq!(outcome.text, "[done | done]");
    assert_eq!(slow.most_at_once(), 2);
    team.stop().await;
}

fn fails() -> Scripted {
    Scripted::from_fn(|_| Err(ModelError::InvalidRequest("no such model".into())))
}

/// spec: SOP-8.4, SOP-8.5
#[tokio::test]
async fn by_default_the_first_failure_ends_the_request_and_names_the_agent() {
    let world = team().await;
    world.model("lead", asks_everyone());
    world.model("critic", fails());
    world.model("researcher", says("late").delay(Duration::from_secs(600)));
    let team = world.start().await;
    let outcome = world.ask("lead", "go").await;
    assert_eq!(outcome.state, TaskState::Failed);
    assert!(outcome.error.contains("critic"), "{}", outcome.error);
    assert!(outcome.error.contains("no such model"), "{}", outcome.error);
    team.stop().await;
}

/// spec: SOP-8.4, SOP-8.6, SOP-8.7
#[tokio::test]
async fn where_the_file_or_the_request_says_continue_the_others_go_on() {
    let world = team().await;
    world.model("lead", asks_everyone());
    world.model("critic", fails());
    let team = world.start().await;
    let partial = |outcome: &agenthub_sdk::Outcome| {
        assert_eq!(outcome.state, TaskState::Completed, "{}", outcome.error);
        assert!(
            outcome.text.contains("[without critic | researcher]"),
            "{}",
            outcome.text
        );
        assert!(outcome.text.contains("no such model"), "{}", outcome.text);
        let data = outcome.message.as_ref().and_then(|m| m.data().next());
        assert_eq!(data.expect("there is data")["partial"], true);
    };
    let asked = Delegation::to("lead")
        .text("go")
        .metadata("error_mode", "continue");
    partial(&world.delegate(asked).await);

    world.write(
        "lead.md",
        &sop(
            "lead",
            "type: orchestrator\nerror_mode: continue\n",
            "Go on.",
        ),
    );
    team.reload().await;
    partial(&world.ask("lead", "go").await);
    let asked = Delegation::to("lead")
        .text("go")
        .metadata("error_mode", "fail-fast");
    assert_eq!(world.delegate(asked).await.state, TaskState::Failed);
    team.stop().await;
}

#[tokio::test]
async fn an_agent_that_names_others_may_ask_those_alone() {
    let world = team().await;
    let researcher = world.model("researcher", asks_everyone());
    world.write(
        "researcher.md",
        &sop("researcher", "tools: [critic]\n", "Ask the critic."),
    );
    let team = world.start().await;
    let outcome = world.ask("researcher", "go").await;
    assert_eq!(outcome.text, "[critic]");
    assert_eq!(offered(&researcher.requests()[0]), ["agent_critic"]);
    team.stop().await;
}

/// spec: SOP-6.1, SOP-6.2
#[tokio::test]
async fn one_definition_serves_all_requests_and_each_is_a_conversation_of_its_own() {
    let world = team().await;
    let critic = world.model("critic", says("fine"));
    let team = world.start().await;
    world.ask("critic", "the first").await;
    world.write("critic.md", &sop("critic", "", "You praise."));
    world.ask("critic", "the second").await;
    let requests = critic.requests();
    assert!(
        told(&requests[1]).contains("You find fault."),
        "the file is read once"
    );
    assert!(
        !told(&requests[1]).contains("the first"),
        "nothing is left of other requests"
    );
    let (one, two) = tokio::join!(world.ask("critic", "x"), world.ask("critic", "y"));
    assert_eq!((one.text, two.text), ("fine".into(), "fine".into()));
    team.stop().await;
}

/// spec: SOP-6.3
#[tokio::test]
async fn clearing_the_cache_reads_all_files_again() {
    let world = team().await;
    let critic = world.model("critic", says("fine"));
    let team = world.start().await;
    world.news();
    world.write("critic.md", &sop("critic", "", "You praise."));
    soon(team.clear_cache()).await;
    assert_eq!(world.news(), ["~critic", "~lead", "~researcher"]);
    world.ask("critic", "go").await;
    assert!(told(&critic.requests()[0]).contains("You praise."));
    team.stop().await;
}

#[tokio::test]
async fn agents_that_come_are_offered_from_the_next_request_on() {
    let world = team().await;
    let leads = world.model("lead", asks_everyone());
    let team = world.start().await;
    world.ask("lead", "go").await;
    world.write("writer.md", &sop("writer", "", "You write."));
    world.remove("critic.md");
    team.reload().await;
    eventually("the writer is offered and the critic is not", || async {
        world.ask("lead", "go").await;
        let requests = leads.requests();
        let begin = requests
            .iter()
            .rev()
            .find(|r| crate::world::results(r).is_empty());
        begin.is_some_and(|r| offered(r) == ["agent_researcher", "agent_writer"])
    })
    .await;
    team.stop().await;
}
