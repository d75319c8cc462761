//! What becomes of tasks.

use std::time::Duration;

use agenthub_broker::Settings;
use agenthub_sdk::{
    Agent, ArtifactUpdate, Delegation, Failure, Reply, TaskContext, TaskUpdate, Update,
    proto::a2a::{Artifact, Message, Part, Role, TaskState},
};
use tokio::sync::mpsc;

use crate::harness::{Hub, Line, card, soon};

fn artifact(id: &str, text: &str) -> Artifact {
    Artifact {
        artifact_id: id.into(),
        parts: vec![Part::text(text)],
        ..Default::default()
    }
}

/// spec: HUB-1, HUB-5.2
#[tokio::test]
async fn an_agent_registers_is_asked_and_completes() {
    let hub = Hub::start().await;
    let agent = Agent::worker(card("shouter"))
        .on_task_type("shout", async |task: TaskContext| {
            Ok(task.text().to_uppercase())
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;

    let outcome = soon(client.ask("shouter", "hello"))
        .await
        .expect("an outcome");
    assert_eq!(outcome.state, TaskState::Completed);
    assert_eq!(outcome.text, "HELLO");
    assert_eq!(outcome.agent, "shouter");

    let entry = client.agent("shouter").await.expect("it is registered");
    assert_eq!(entry.subscriptions, ["shout"]);
    let task = client.task(&outcome.task_id, 0).await.expect("it is kept");
    assert_eq!((task.requester(), task.assignee()), ("user", "shouter"));
    assert_eq!(task.history.len(), 2, "the request and the answer");
    agent.stop().await;
    client.close().await;
    hub.stop().await;
}

#[tokio::test]
async fn a_failure_says_why_with_its_sources() {
    #[derive(Debug, thiserror::Error)]
    #[error("cannot look it up")]
    struct LookUp(#[source] std::io::Error);

    let hub = Hub::start().await;
    let _agent = Agent::worker(card("a"))
        .on_task_type("fail", async |_: TaskContext| -> Result<(), Failure> {
            Err(LookUp(std::io::Error::other("the disk is gone")))?
        })
        .on_task_type("panic", async |_: TaskContext| -> Result<(), Failure> {
            panic!("a bug")
        })
        .on_task_type("refuse", async |_: TaskContext| -> Result<(), Failure> {
            Err(Failure::rejected("not on Sundays"))
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    for (capability, state, text) in [
        (
            "fail",
            TaskState::Failed,
            "cannot look it up: the disk is gone",
        ),
        ("panic", TaskState::Failed, "the handler panicked: a bug"),
        ("refuse", TaskState::Rejected, "not on Sundays"),
        (
            "dance",
            TaskState::Rejected,
            "a does not handle \"dance\"; it handles fail, panic, refuse",
        ),
    ] {
        let delegation = Delegation::to("a").capability(capability).text("please");
        let pending = client.delegate(delegation).await.expect("it is taken");
        let outcome = soon(pending.outcome()).await.expect("an outcome");
        assert_eq!((outcome.state, outcome.error.as_str()), (state, text));
    }
}

#[tokio::test]
async fn words_data_and_artifacts_travel_both_ways() {
    let hub = Hub::start().await;
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", async |task: TaskContext| {
            let n = task
                .data()
                .and_then(|d| d["n"].as_i64())
                .unwrap_or_default();
            let reply = Reply::text(format!("{} {n}", task.text()));
            Ok(reply.artifact(artifact("double", &(2 * n).to_string())))
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let delegation = Delegation::to_any("work")
        .text("double")
        .payload(serde_json::json!({"n": 21}));
    let pending = client.delegate(delegation).await.expect("it is taken");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.artifacts[0].text(), "42");
    assert_eq!(outcome.message.map(|m| m.text()), Some("double 21".into()));
    assert_eq!(outcome.agent, "a");
}

#[tokio::test]
async fn progress_comes_in_order_and_chunks_join() {
    let hub = Hub::start().await;
    let _agent = Agent::worker(card("a"))
        .on_task_type(
            "work",
            async |task: TaskContext| -> Result<&'static str, Failure> {
                task.publish_update(TaskUpdate::new("one").metadata("step", 1))
                    .await?;
                for word in ["Hel", "lo"] {
                    let chunk = ArtifactUpdate::new(artifact("greeting", word)).append();
                    task.publish_artifact(chunk.in_memory()).await?;
                }
                task.publish_message(Message::new(Role::Agent, "nearly"))
                    .await?;
                task.publish_update("two").await?;
                Ok("done")
            },
        )
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let mut pending = client
        .delegate(Delegation::to("a").text("go"))
        .await
        .expect("it is taken");
    let mut updates = pending.updates();
    let mut seen = Vec::new();
    while let Some(update) = soon(updates.next()).await {
        seen.push(match update {
            Update::Status(update) => {
                let status = update.status.expect("there is one");
                assert!(
                    update
                        .metadata
                        .is_some_and(|m| m.fields.contains_key("agentType"))
                );
                format!("{} {}", status.state().label(), status.text())
            }
            Update::Artifact(update) => update.artifact.map(|a| a.text()).unwrap_or_default(),
            Update::Message(message) => format!("message {}", message.text()),
            other => format!("{other:?}"),
        });
    }
    // What may be lost waits for nobody, so its place among the rest is not promised.
    let (chunks, rest): (Vec<_>, Vec<_>) = seen
        .iter()
        .partition(|s| ["Hel", "lo"].contains(&s.as_str()));
    assert_eq!(chunks, ["Hel", "lo"]);
    let expected = [
        "working ",
        "working one",
        "message nearly",
        "working two",
        "message done",
        "completed done",
    ];
    assert_eq!(rest, expected);
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "done", "what may be lost is no result");
}

#[tokio::test]
async fn a_message_without_a_task_is_answered_with_a_message() {
    let hub = Hub::start().await;
    let (heard, mut hears) = mpsc::channel(8);
    let _asker = Agent::worker(card("asker"))
        .on_any(move |task: TaskContext| {
            let heard = heard.clone();
            async move {
                heard.send((task.sender().to_owned(), task.text())).await?;
                Ok(())
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let answerer = Agent::worker(card("answerer"))
        .on_task_type("greet", async |_: TaskContext| Ok("hello"))
        .start(hub.url())
        .await
        .expect("it starts");
    let message = Message::new(Role::User, "hi").with_metadata("task_type", "greet");
    let routing = agenthub_sdk::proto::agenthub::AgentEventMetadata {
        to_agent_id: "answerer".into(),
        ..Default::default()
    };
    let published = _asker
        .client()
        .publish(message, routing)
        .await
        .expect("it is taken");
    assert!(!published.event_id.is_empty() && !published.position.is_empty());
    let heard = soon(hears.recv()).await;
    assert_eq!(heard, Some(("answerer".into(), "hello".into())));
    answerer.stop().await;
}

#[tokio::test]
async fn a_result_that_the_hub_does_not_take_fails_the_task() {
    let hub = Hub::start().await;
    let _agent = Agent::worker(card("a"))
        .on_task_type("large", async |_: TaskContext| Ok("x".repeat(2 << 20)))
        .on_task_type("huge", async |_: TaskContext| Ok("x".repeat(20 << 20)))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    for capability in ["large", "huge"] {
        let delegation = Delegation::to("a").capability(capability).text("go");
        let pending = client.delegate(delegation).await.expect("it is taken");
        let outcome = soon(pending.outcome()).await.expect("an outcome");
        assert_eq!(outcome.state, TaskState::Failed);
        assert!(
            outcome.error.contains("does not take the result"),
            "{}",
            outcome.error
        );
    }
}

/// A delivery that was acknowledged with its task's end is not kept with the agent any more.
#[tokio::test]
async fn an_agent_that_has_done_much_says_no_more_than_before() {
    const TASKS: usize = 300;
    let hub = Hub::start_with(Settings {
        ack_deadline: Duration::from_millis(300),
        ..Settings::default()
    });
    let hub = hub.await;
    let line = Line::to(hub.address()).await;
    let agent =
        Agent::worker(card("a")).on_task_type("work", async |task: TaskContext| Ok(task.text()));
    let agent = agent.start(line.url()).await.expect("it starts");
    let client = hub.client().await;
    for n in 0..TASKS {
        let outcome = soon(client.ask("a", n.to_string())).await;
        assert!(outcome.expect("an outcome").is_completed());
    }
    let before = line.sent();
    // It extends what it holds ten times meanwhile.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let said = line.sent() - before;
    assert!(said < 10 * TASKS as u64, "{said} bytes");
    soon(agent.stop()).await;
    hub.stop().await;
}
