//! Files that change while their agents work.

use std::{fs, sync::Arc};

use agenthub_sdk::{
    Delegation,
    model::{Completion, DeltaSink, LanguageModel, ModelError, Request, Scripted},
    proto::agenthub::AgentState,
};
use tokio::sync::{Notify, mpsc};

use crate::world::{NEVER, World, eventually, lead, says, soon, sop, told};

async fn team() -> World {
    World::new(&[
        ("a.md", &sop("a", "", "One.")),
        ("b.md", &sop("b", "", "One.")),
        ("lead.md", &lead("Lead.")),
    ])
    .await
}

#[tokio::test]
async fn a_file_that_changes_replaces_its_agent_alone() {
    let world = team().await;
    let model = world.model("a", says("x"));
    let team = world.start().await;
    assert_eq!(world.news(), ["+a", "+b", "+lead"]);
    world.write("a.md", &sop("a", "version: 2.0.0\n", "Two."));
    soon(team.reload()).await;
    assert_eq!(world.news(), ["~a"]);
    world.ask("a", "go").await;
    assert!(told(&model.requests()[0]).contains("Two."));
    let known = world.client.agent("a").await.expect("it is there");
    let version = known.agent_card.map(|card| card.version);
    assert_eq!(version.as_deref(), Some("2.0.0"));
    soon(team.reload()).await;
    assert!(world.news().is_empty(), "nothing has changed");
    team.stop().await;
}

/// A model that says what its body says, once it may.
#[derive(Debug)]
struct Waits {
    asked: mpsc::Sender<()>,
    go: Arc<Notify>,
}

#[async_trait::async_trait]
impl LanguageModel for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    async fn complete(&self, request: Request, _: DeltaSink) -> Result<Completion, ModelError> {
        let _ = self.asked.send(()).await;
        self.go.notified().await;
        Ok(Completion {
            text: told(&request),
            ..Completion::default()
        })
    }
}

#[tokio::test]
async fn what_is_under_way_ends_as_it_began() {
    let world = team().await;
    let (asked, mut asks) = mpsc::channel(4);
    let go = Arc::new(Notify::new());
    let waits = Waits {
        asked,
        go: Arc::clone(&go),
    };
    world.model_of("a", Arc::new(waits));
    let team = world.start().await;
    let under_way = world.client.delegate(Delegation::to("a").text("go")).await;
    let under_way = under_way.expect("it is taken");
    soon(asks.recv()).await;
    world.model("a", says("otherwise"));
    world.write("a.md", &sop("a", "", "Two."));
    soon(team.reload()).await;
    assert_eq!(world.ask("a", "go").await.text, "otherwise");
    go.notify_one();
    let outcome = soon(under_way.outcome()).await.expect("an outcome");
    assert!(outcome.text.contains("One."), "{}", outcome.text);
    team.stop().await;
}

/// spec: SOP-4.4
#[tokio::test]
async fn a_broken_edit_keeps_the_agent_as_it_was_and_is_told_once() {
    let world = team().await;
    let model = world.model("a", says("x"));
    let team = world.start().await;
    world.news();
    for (broken, line) in [
        ("---\nname: a\n---\n\nTwo.\n", "!a.md:"),
        ("---\nname: [a\n---\n", "!a.md:"),
        ("", "!a.md:"),
    ] {
        world.write("a.md", broken);
        soon(team.reload()).await;
        let news = world.news();
        assert!(
            news.iter()
                .any(|n| n.starts_with(line) && n.ends_with("(kept a)")),
            "{broken}: {news:?}"
        );
        assert!(news.iter().all(|n| n.starts_with('!')), "{news:?}");
        soon(team.reload()).await;
        assert!(world.news().is_empty(), "it is said once");
    }
    world.ask("a", "go").await;
    assert!(told(&model.requests()[0]).contains("One."));
    world.write("a.md", &sop("a", "", "Two."));
    soon(team.reload()).await;
    assert_eq!(world.news(), ["~a"]);
    team.stop().await;
}

#[tokio::test]
async fn tools_that_there_are_not_keep_the_agent_as_it_was() {
    let world = team().await;
    let team = world.start().await;
    world.news();
    world.write("a.md", &sop("a", "tools: [c]\n", "Two."));
    soon(team.reload()).await;
    assert_eq!(world.news(), ["!a.md:4 there is no tool `c` (kept a)"]);
    world.write("c.md", &sop("c", "", "I am here."));
    soon(team.reload()).await;
    assert_eq!(world.news(), ["~a", "+c"]);
    world.remove("c.md");
    soon(team.reload()).await;
    assert_eq!(
        world.news(),
        [
            "-c",
            "!a.md:4 the agent `c` is gone, which this one may ask (kept a)"
        ]
    );
    team.stop().await;
}

#[tokio::test]
async fn files_that_come_go_and_are_called_otherwise() {
    let world = team().await;
    let team = world.start().await;
    world.news();
    world.write("c.md", &sop("c", "", "x"));
    world.remove("b.md");
    soon(team.reload()).await;
    assert_eq!(world.news(), ["-b", "+c"]);
    let gone = world.client.agent("b").await;
    assert!(gone.is_err(), "the hub forgets it: {gone:?}");

    // The same name in links and tools, so that the hub could not have both.
    world.write("c.md", &sop("C", "", "x"));
    world.write(
        "lead.md",
        &lead("Lead otherwise.").replace("name: lead", "name: chief"),
    );
    soon(team.reload()).await;
    let news = world.news();
    let steps: Vec<&String> = news.iter().filter(|n| !n.starts_with('!')).collect();
    let expected = ["-c (called C)", "-lead (called chief)", "+C", "+chief"];
    assert_eq!(steps, expected, "{news:?}");
    assert_eq!(world.ask("C", "go").await.text, "C");
    team.stop().await;
}

/// spec: SOP-7.5, SOP-7.6
#[tokio::test]
async fn a_second_orchestrator_changes_nothing_and_without_one_nobody_leads() {
    let world = team().await;
    let team = world.start().await;
    world.news();
    world.write("chief.md", &sop("chief", "type: orchestrator\n", "x"));
    soon(team.reload()).await;
    let news = world.news();
    assert_eq!(news.len(), 1, "{news:?}");
    assert!(news[0].contains("only one orchestrator"), "{news:?}");
    assert_eq!(world.ask("lead", "go").await.text, "lead");
    world.remove("lead.md");
    soon(team.reload()).await;
    assert_eq!(world.news(), ["-lead", "+chief"]);
    world.remove("chief.md");
    soon(team.reload()).await;
    let news = world.news();
    assert_eq!(news[0], "-chief");
    assert!(news[1].contains("no orchestrator"), "{news:?}");
    team.stop().await;
}

/// spec: SOP-4.3, SOP-4.4
#[tokio::test]
async fn a_name_stays_with_the_file_that_works_and_not_with_the_first_of_two() {
    let world = team().await;
    let model = world.model("b", says("b"));
    let team = world.start().await;
    world.news();
    world.write("a-copy.md", &sop("b", "", "Copied."));
    soon(team.reload()).await;
    let news = world.news();
    assert!(
        news.iter().all(|n| n.starts_with("!a-copy.md:")),
        "{news:?}"
    );
    let two = |n: &String| n.contains("there are two agents called `b`");
    assert!(news.iter().any(two), "{news:?}");
    // Also while the file cannot be used.
    world.write("b.md", "nothing");
    soon(team.reload()).await;
    let news = world.news();
    assert!(news.iter().all(|n| n.starts_with("!b.md:")), "{news:?}");
    world.ask("b", "go").await;
    assert!(told(&model.requests()[0]).contains("One."));
    world.remove("b.md");
    soon(team.reload()).await;
    assert_eq!(world.news(), ["~b"], "the copy takes its place");
    team.stop().await;
}

#[tokio::test]
async fn a_team_that_is_to_stop_waits_for_no_agent_that_is_being_made() {
    let world = team().await;
    let team = world.start().await;
    world.news();
    world.write("a.md", &sop("a", "", NEVER));
    world.write("b.md", "nothing");
    team.watch().await;
    // Nothing tells that the round has begun, but it begins within this time, and without it the test would show less.
    let begun = tokio::time::timeout(std::time::Duration::from_secs(1), team.reload()).await;
    assert!(begun.is_err(), "it waits");
    let stopping = tokio::time::timeout(std::time::Duration::from_secs(5), team.stop());
    assert!(stopping.await.is_ok(), "it stopped at once");
}

#[tokio::test]
async fn whoever_watches_sees_files_change_as_editors_change_them() {
    let world = team().await;
    let team = world.start().await;
    team.watch().await;
    world.news();
    world.write("a.md", &sop("a", "", "Two."));
    assert_eq!(world.news_of("~a").await, ["~a"]);
    // In place, in two pieces.
    let text = sop("b", "", "Two.");
    fs::write(world.path("b.md"), &text[..20]).expect("a file");
    fs::write(world.path("b.md"), &text).expect("a file");
    world.news_of("~b").await;
    // Away for a moment.
    fs::rename(world.path("a.md"), world.path("a.md~")).expect("it is there");
    fs::write(world.path("a.md"), sop("a", "", "Three.")).expect("a file");
    assert_eq!(world.news_of("~a").await, ["~a"]);
    world.write("a.md", "nothing");
    world.news_of("(kept a)").await;
    fs::create_dir(world.path("skill")).expect("a folder");
    fs::write(
        world.path("skill/SKILL.md"),
        "---\nname: skill\ndescription: Does it\n---\n\nDo it.\n",
    )
    .expect("a file");
    world.news_of("+skill").await;
    world.remove("b.md");
    world.news_of("-b").await;
    assert_eq!(world.ask("a", "go").await.text, "a", "it is as it was");
    team.stop().await;
}

#[tokio::test]
async fn an_agent_that_the_hub_sends_away_is_told_and_comes_with_the_next_change() {
    let world = team().await;
    let team = world.start().await;
    world.news();
    world
        .client
        .operator()
        .unregister("a", "not wanted")
        .await
        .expect("it is there");
    world.news_of("not wanted").await;
    let here = team.members().await;
    assert_eq!(here.len(), 2, "{here:?}");
    soon(team.reload()).await;
    assert_eq!(world.news(), ["+a"]);
    for name in ["a", "b", "lead"] {
        world
            .client
            .operator()
            .unregister(name, "all")
            .await
            .expect("it is there");
    }
    soon(team.ended()).await;
}

#[tokio::test]
async fn who_disbands_leaves_no_trace_of_agents_that_were_not_there_before() {
    let world = team().await;
    let team = world.start().await;
    team.stop().await;
    let known = world.client.agent("a").await.expect("the hub knows it");
    assert_ne!(known.state(), AgentState::Online);
    world
        .client
        .operator()
        .unregister("b", "")
        .await
        .expect("it is known");
    let team = world.start().await;
    team.disband().await;
    assert!(world.client.agent("a").await.is_ok(), "it was known before");
    eventually("the other one is forgotten", || async {
        world.client.agent("b").await.is_err()
    })
    .await;
}

#[tokio::test]
async fn a_model_is_asked_for_each_version_of_a_file() {
    let world = team().await;
    let first = world.model("a", says("first"));
    let team = world.start().await;
    world.ask("a", "go").await;
    let second: Scripted = world.model("a", says("second"));
    world.write("a.md", &sop("a", "", "Two."));
    soon(team.reload()).await;
    assert_eq!(world.ask("a", "go").await.text, "second");
    assert_eq!((first.requests().len(), second.requests().len()), (1, 1));
    team.stop().await;
}
