//! Who may start, and who may not.

use agenthub_sdk::{Agent, Card, TaskContext, internal::contracts};
use agenthub_sop::StartError;

use crate::world::{World, lead, sop};

fn faults(started: Result<agenthub_sop::Team, StartError>) -> Vec<String> {
    match started {
        Err(StartError::Faults(faults)) => faults.into_iter().map(|f| f.message).collect(),
        other => panic!("not refused: {other:?}"),
    }
}

/// spec: SOP-7.5
#[tokio::test]
async fn without_an_orchestrator_there_is_no_team_unless_the_built_in_one_may_lead() {
    let world = World::new(&[("a.md", &sop("a", "", "x"))]).await;
    let faults = faults(world.try_start(false).await);
    assert!(faults[0].contains("no orchestrator"), "{faults:?}");
    assert!(
        world.client.agent("a").await.is_err(),
        "nothing is left of it"
    );
    let team = world.try_start(true).await.expect("it leads");
    let members = team.members().await;
    assert_eq!(members.len(), 2, "{members:?}");
    team.stop().await;
}

/// spec: SOP-7.6
#[tokio::test]
async fn of_two_orchestrators_none_leads() {
    let world = World::new(&[
        ("lead.md", &lead("x")),
        ("chief.md", &sop("chief", "type: orchestrator\n", "x")),
    ])
    .await;
    let faults = faults(world.try_start(true).await);
    assert!(faults[0].contains("only one orchestrator"), "{faults:?}");
}

/// spec: SOP-4.4
#[tokio::test]
async fn files_that_cannot_be_used_are_told_and_the_others_start() {
    let world = World::new(&[
        ("a.md", &sop("a", "", "x")),
        ("b.md", "---\nname: b\n---\n\nx\n"),
        ("c.md", &sop("c", "tools: [nobody]\n", "x")),
        ("lead.md", &lead("x")),
    ])
    .await;
    let team = world.start().await;
    let names: Vec<String> = team.members().await.into_iter().map(|m| m.name).collect();
    assert_eq!(names, ["a", "lead"]);
    let news = world.news();
    for part in ["!b.md", "!c.md:4 there is no tool `nobody`"] {
        assert!(
            news.iter().any(|line| line.contains(part)),
            "{part} in {news:?}"
        );
    }
    team.stop().await;
}

/// spec: SOP-4.5
#[tokio::test]
async fn a_folder_that_there_is_not_is_named() {
    let world = World::new(&[]).await;
    let dir = world.path("nowhere");
    let started = world.start_in(&dir, false).await;
    let error = started.expect_err("there is none").to_string();
    assert!(error.contains("nowhere"), "{error}");
}

#[tokio::test]
async fn an_id_that_another_agent_has_is_refused_and_two_processes_of_one_sop_are_not() {
    let world = World::new(&[("a.md", &sop("a", "", "x")), ("lead.md", &lead("x"))]).await;
    let other =
        Agent::worker(Card::new("a", "Another")).on_any(async |_: TaskContext| Ok("another"));
    let other = other.start(world.url()).await.expect("it starts");
    let team = world.start().await;
    let news = world.news();
    let refused = news
        .iter()
        .find(|line| line.starts_with("!a.md"))
        .expect("it is told");
    assert!(
        refused.contains("has an agent called a already"),
        "{refused}"
    );
    assert_eq!(world.ask("a", "go").await.text, "another");

    // Once the other is gone, the next look finds room.
    other.stop().await;
    team.reload().await;
    assert_eq!(world.news(), ["+a"]);
    let again = world.start().await;
    assert_eq!(world.news(), ["+a", "+lead"], "it is the same SOP");
    world.write("a.md", &sop("a", "", "changed"));
    team.reload().await;
    let third = world.start().await;
    assert_eq!(world.news(), ["~a", "+a", "+lead"], "as it was before, too");

    let elsewhere = World::new(&[]).await;
    elsewhere.write("a.md", &sop("a", "", "something else"));
    elsewhere.write("lead.md", &lead("x").replace("lead", "chief"));
    let fourth = world
        .start_in(elsewhere.dir(), false)
        .await
        .expect("its own lead leads");
    let news = world.news();
    let refused = news
        .iter()
        .find(|line| line.starts_with("!a.md"))
        .expect("it is told");
    assert!(refused.contains("another folder"), "{refused}");
    for team in [team, again, third, fourth] {
        team.stop().await;
    }
}

/// spec: SOP-7.1
#[tokio::test]
async fn the_card_is_made_of_the_front_matter() {
    let more = "version: 1.2.3\ninputs:\n  tone:\n    type: enum\n    values: [kind, strict]\n    default: kind\n";
    let world = World::new(&[("a.md", &sop("a", more, "x")), ("lead.md", &lead("x"))]).await;
    let team = world.start().await;
    let known = world.client.agent("a").await.expect("it is there");
    let card = known.agent_card.expect("it has a card");
    assert_eq!((&*card.name, &*card.version), ("a", "1.2.3"));
    assert_eq!(card.description, "Does what a does");
    let skill = &card.skills[0];
    assert_eq!((card.skills.len(), &*skill.id), (1, "a"));
    assert_eq!(skill.tags, ["sop", "agent"]);
    let contract = &contracts(&card)["a"];
    let schema = contract.input.as_ref().expect("it takes data");
    assert_eq!(schema["properties"]["tone"]["default"], "kind");
    team.stop().await;
}
