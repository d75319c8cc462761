//! What tests of agents are given.

use std::time::Duration;

use agenthub_sdk::{
    ArtifactUpdate, Delegation, Error, Skill,
    prelude::*,
    testing::{FakeTask, Scripted, TestHub, calls, says},
};
use serde_json::json;

fn helper() -> agenthub_sdk::AgentBuilder {
    let shout = Skill::new("shout", "Shout", "Shouts");
    let write = Skill::new("write", "Write", "Writes");
    Agent::worker(Card::new("helper", "Helps"))
        .on(&shout, async |task: TaskContext, text| {
            task.publish_update("taking a breath").await?;
            Ok(Reply::text(text.to_uppercase()))
        })
        .on(&write, async |task: TaskContext, text| {
            let chunk = |text: &str| {
                ArtifactUpdate::new(Artifact {
                    artifact_id: "story".to_owned(),
                    parts: vec![Part::text(text)],
                    ..Default::default()
                })
            };
            task.publish_artifact(chunk("Once ")).await?;
            let last = chunk(&text).append().last_chunk();
            task.publish_artifact(last).await?;
            Ok(Reply::none())
        })
        .on_task_type("ask", async |task: TaskContext| {
            let outcome = task.ask("another", "what?").await?;
            Ok(Reply::text(outcome.text))
        })
        .on_task_type("wait", async |task: TaskContext| {
            task.cancelled().await;
            match task.publish_update("too late").await {
                Err(Error::Cancelled(why)) => Err::<Reply, _>(Failure::cancelled(why)),
                other => panic!("{other:?}"),
            }
        })
}

#[tokio::test]
async fn a_handler_is_called_without_a_hub_and_what_it_shows_is_seen() {
    let task = FakeTask::new("hello").task_type("shout");
    let reply = task.given_to(helper()).await.expect("it shouts");
    let said = reply.message().map(Message::text);
    assert_eq!(said.as_deref(), Some("HELLO"));
    assert_eq!(task.seen().await.updates, ["taking a breath"]);

    let task = FakeTask::new("upon a time").task_type("write");
    task.given_to(helper()).await.expect("it writes");
    let seen = task.seen().await;
    let texts: Vec<String> = seen.artifacts.iter().map(Artifact::text).collect();
    assert_eq!(texts, ["Once upon a time"], "chunks are put together");
}

#[tokio::test]
async fn a_fake_task_is_what_the_test_says() {
    let task = FakeTask::new("sum")
        .data(json!({"n": 1}))
        .from("ann")
        .attempt(2)
        .within(Duration::from_secs(60));
    let context = task.context();
    assert_eq!(context.data(), Some(json!({"n": 1})));
    assert_eq!((context.sender(), context.attempt()), ("ann", 2));
    assert!(context.deadline().is_some() && !context.task_id().is_empty());
    let message = Message::new(Role::Agent, "by the way");
    context.publish_message(message).await.expect("it is kept");
    assert_eq!(task.seen().await.messages[0].text(), "by the way");
}

#[tokio::test]
async fn a_fake_task_answers_questions() {
    let painter = Agent::worker(Card::new("painter", "Paints")).on_task_type(
        "paint",
        async |task: TaskContext| {
            let colour = task.ask_requester("Which colour?").await?.text();
            let size = task.ask_requester("Which size?").await?.text();
            Ok::<_, Failure>(format!("{size} and {colour}"))
        },
    );
    let task = FakeTask::new("cat").task_type("paint");
    let reply = task.answer("blue").answer("large").given_to(painter).await;
    let said = reply.expect("it paints").message().map(Message::text);
    assert_eq!(said.as_deref(), Some("large and blue"));
}

#[tokio::test]
async fn what_a_fake_task_cannot_do_is_said() {
    let unknown = FakeTask::new("x")
        .task_type("dance")
        .given_to(helper())
        .await;
    let why = unknown.expect_err("nobody dances").to_string();
    assert!(why.contains("it handles shout, write"), "{why}");
    let asked = FakeTask::new("x").task_type("ask").given_to(helper()).await;
    let why = asked.expect_err("there is nobody").to_string();
    assert!(why.contains("TestHub"), "{why}");
    let task = FakeTask::new("x");
    let client = task.context().client().clone();
    let tasks = client.tasks(Default::default()).await;
    assert!(matches!(tasks, Err(Error::Unavailable(_))), "{tasks:?}");
}

#[tokio::test]
async fn a_fake_task_is_cancelled_as_a_real_one_is() {
    let task = FakeTask::new("x").task_type("wait");
    let (result, ()) = tokio::join!(task.given_to(helper()), async {
        task.cancel("nobody wants it");
    });
    let why = result.expect_err("it stopped").to_string();
    assert_eq!(why, "nobody wants it");
}

#[tokio::test]
async fn an_agent_with_a_scripted_model_works_on_a_hub_of_the_test() {
    /// Adds two numbers up.
    #[tool]
    fn add(a: i64, b: i64) -> i64 {
        a + b
    }
    let hub = TestHub::start().await;
    let model = Scripted::answers([calls([("add", json!({"a": 1, "b": 2}))]), says("It is 3.")]);
    let agent = Agent::worker(Card::new("adder", "Adds")).model(model.clone());
    let agent = agent.tool(add()).start(hub.url()).await.expect("it starts");
    let client = hub.client().await;
    let asked = client
        .delegate(Delegation::to("adder").text("1 + 2?"))
        .await;
    let outcome = asked.expect("it is taken").outcome().await;
    assert_eq!(outcome.expect("an outcome").text, "It is 3.");
    assert_eq!(model.requests().len(), 2);
    client.close().await;
    agent.stop().await;
    hub.stop().await;
}
