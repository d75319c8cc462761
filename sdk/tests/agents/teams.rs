//! Teams: who is in one, how its agents are asked, and what happens when some of them fail.

use std::sync::Arc;

use agenthub_broker::Server;
use agenthub_sdk::{
    Agent, AgentBuilder, ArtifactUpdate, Card, Delegation, Failure, RunningAgent, Skill,
    TaskContext, Tool,
    internal::ANSWER_ARTIFACT,
    model::{Completion, ModelError, Scripted},
    proto::a2a::{AgentCard, Artifact, Part, TaskState},
    runs::tool_loop::{CallForm, ErrorMode, Limits},
    supervisor::Peers,
};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::{
    harness::{
        Watched, ask, calls, delegate, hub, offered, results, says, script, soon, url, user,
    },
    team::shouter,
};

fn lead(model: &Scripted, mode: ErrorMode) -> AgentBuilder {
    Agent::supervisor(Card::new("lead", ""))
        .model(model.clone())
        .error_mode(mode)
}

async fn start(hub: &Server, agent: AgentBuilder) -> RunningAgent {
    agent.start(url(hub)).await.expect("it starts")
}

/// A turn in which the model says something and calls these.
fn says_and_calls<const N: usize>(text: &str, agents: [&str; N]) -> Result<Completion, ModelError> {
    let all = agents.map(|name| (name, json!({"request": "go"})));
    Ok(Completion {
        text: text.to_owned(),
        ..calls(all)?
    })
}

fn card(name: &str) -> Card {
    Card::new(name, "").skill(Skill::new(name, name, ""))
}

/// A piece of a growing answer.
fn piece(text: &str) -> ArtifactUpdate {
    ArtifactUpdate::new(Artifact {
        artifact_id: ANSWER_ARTIFACT.to_owned(),
        parts: vec![Part::text(text)],
        ..Artifact::default()
    })
    .in_memory()
}

/// An agent that shows a part of its answer and then waits until it is cancelled, of which it tells.
fn waits(name: &str, begun: &Arc<Notify>, cancelled: &mpsc::Sender<()>) -> AgentBuilder {
    let (begun, cancelled) = (Arc::clone(begun), cancelled.clone());
    Agent::worker(card(name)).on_task_type(name, move |task: TaskContext| {
        let (begun, cancelled) = (Arc::clone(&begun), cancelled.clone());
        async move {
            task.publish_artifact(piece("Half ")).await?;
            task.publish_artifact(piece("of it").append()).await?;
            begun.notify_one();
            task.cancelled().await;
            let _ = cancelled.try_send(());
            Err::<(), Failure>(Failure::cancelled("as wished"))
        }
    })
}

/// An agent that shows a part of its answer, and fails once it is let.
fn breaks(name: &str, let_go: &Arc<Notify>) -> AgentBuilder {
    let let_go = Arc::clone(let_go);
    Agent::worker(card(name)).on_task_type(name, move |task: TaskContext| {
        let let_go = Arc::clone(&let_go);
        async move {
            task.publish_artifact(piece("A begin")).await?;
            task.publish_artifact(piece("ning").append()).await?;
            let_go.notified().await;
            Err::<(), Failure>(Failure::failed("disk full"))
        }
    })
}

/// The data of the answer.
fn data(watched: &Watched) -> Value {
    let message = watched.outcome.message.as_ref().expect("a message");
    message.data().next().unwrap_or_default()
}

/// spec: SOP-8.3, SOP-8.5
#[tokio::test]
async fn failing_fast_ends_the_stream_with_who_failed_and_the_others_are_cancelled() {
    let hub = hub().await;
    let begun = Arc::new(Notify::new());
    let (cancelled, mut cancellations) = mpsc::channel(2);
    let _waits = start(&hub, waits("patient", &begun, &cancelled)).await;
    // It fails when the other one is at work, so that both are at the same time.
    let _breaks = start(&hub, breaks("broken", &begun)).await;
    let model = script([says_and_calls(
        "I ask both. ",
        ["agent_patient", "agent_broken"],
    )]);
    let _lead = start(&hub, lead(&model, ErrorMode::FailFast)).await;
    let watched = ask(&user(&hub).await, "lead", "go").await;
    assert_eq!(watched.outcome.state, TaskState::Failed);
    assert_eq!(watched.outcome.error, "agent_broken failed: disk full");
    assert_eq!(watched.grown, "I ask both. ", "what was said before stays");
    soon(cancellations.recv())
        .await
        .expect("the other one was cancelled");
    assert_eq!(
        model.requests().len(),
        1,
        "the model is not asked what to do"
    );
}

/// spec: SOP-8.6, SOP-8.7
#[tokio::test]
async fn going_on_streams_what_is_missing_behind_the_answer() {
    let hub = hub().await;
    let at_once = Arc::new(Notify::new());
    at_once.notify_one();
    let _breaks = start(&hub, breaks("broken", &at_once)).await;
    let _shouter = shouter(&hub, "shouter").await;
    let model = script([
        says_and_calls("I ask both.", ["agent_broken", "agent_shouter"]),
        says("Here is what I have."),
    ]);
    let _lead = start(&hub, lead(&model, ErrorMode::Continue)).await;
    let watched = ask(&user(&hub).await, "lead", "go").await;
    let missing = "This answer is partial, because not everyone who was asked gave a result:\n- broken: disk full";
    assert_eq!(watched.outcome.state, TaskState::Completed);
    assert_eq!(
        watched.outcome.text,
        format!("Here is what I have.\n\n{missing}")
    );
    assert_eq!(
        watched.grown, watched.outcome.text,
        "whoever watched has read the same"
    );
    let told = results(&model.requests()[1]);
    assert_eq!(
        told[0],
        json!({"agent": "broken", "state": "failed", "text": "A beginning", "error": "disk full"})
    );
    assert_eq!(
        data(&watched),
        json!({"partial": true, "results": [
            {"agent": "broken", "tool": "agent_broken", "task": "go", "state": "failed", "text": "A beginning", "error": "disk full"},
            {"agent": "shouter", "tool": "agent_shouter", "task": "go", "state": "completed", "text": "GO"},
        ]})
    );
}

/// spec: SOP-8.7
#[tokio::test]
async fn what_agents_gave_takes_the_place_of_a_model_that_fails() {
    let hub = hub().await;
    let _shouter = shouter(&hub, "shouter").await;
    let model = script([
        says_and_calls("I ask.", ["agent_shouter"]),
        Err(ModelError::Unauthorized("too dear".into())),
    ]);
    let _lead = start(&hub, lead(&model, ErrorMode::Continue)).await;
    let watched = ask(&user(&hub).await, "lead", "go").await;
    assert_eq!(watched.outcome.state, TaskState::Completed);
    assert!(
        watched.outcome.text.starts_with("shouter:\nGO\n\n"),
        "{watched:?}"
    );
    assert_eq!(watched.grown, watched.outcome.text);
    assert_eq!(data(&watched)["results"][0]["text"], "GO");
}

/// spec: SOP-8.6, SOP-8.7
#[tokio::test]
async fn an_agent_that_is_too_slow_leaves_what_it_has_shown() {
    let hub = hub().await;
    let (cancelled, mut cancellations) = mpsc::channel(2);
    let _waits = start(&hub, waits("patient", &Arc::default(), &cancelled)).await;
    let model = script([says_and_calls("", ["agent_patient"]), says("Well.")]);
    let limits = Limits {
        agent_timeout_ms: 2_000,
        ..Limits::default()
    };
    let _lead = start(&hub, lead(&model, ErrorMode::Continue).limits(limits)).await;
    let watched = ask(&user(&hub).await, "lead", "go").await;
    let result = &data(&watched)["results"][0];
    assert_eq!(
        (&result["state"], &result["text"]),
        (&json!("timed-out"), &json!("Half of it"))
    );
    assert_eq!(result["error"], "no answer within 2 s");
    soon(cancellations.recv()).await.expect("it was cancelled");
}

/// An agent that tells what it is asked.
fn tells(name: &str, told: &mpsc::Sender<TaskContext>) -> AgentBuilder {
    let takes = json!({
        "type": "object",
        "properties": {
            "topic": {"type": "string"},
            "tone": {"enum": ["dry", "warm"], "default": "dry"},
        },
        "required": ["topic"],
        "additionalProperties": false,
    });
    let told = told.clone();
    let card = Card::new(name, "Writes.\nBriefly.")
        .skill(Skill::new(name, name, ""))
        .input_schema(name, takes);
    Agent::worker(card).on_task_type(name, move |task: TaskContext| {
        let told = told.clone();
        async move {
            told.send(task.clone()).await?;
            Ok("done")
        }
    })
}

fn in_team(card: &AgentCard) -> bool {
    card.name != "stranger"
}

/// spec: SOP-5.1, SOP-5.2, SOP-5.3, SOP-5.4, SOP-5.5, SOP-5.6, SOP-5.7, SOP-7.2
#[tokio::test]
async fn the_agents_of_a_team_are_asked_for_a_task_with_inputs() {
    let hub = hub().await;
    let (told, mut tells_of) = mpsc::channel(4);
    let _writer = start(&hub, tells("writer", &told)).await;
    let _stranger = shouter(&hub, "stranger").await;
    let model = script([
        calls([
            ("agent_writer", json!({"task": "a poem", "topic": 7})),
            ("agent_writer", json!({"task": "a poem", "topic": "rain"})),
        ]),
        says("done"),
    ]);
    let peers = Peers::chosen(in_team).calling(CallForm::Task).own(in_team);
    let _lead = start(&hub, lead(&model, ErrorMode::FailFast).peers(peers)).await;
    let watched = ask(&user(&hub).await, "lead", "go").await;
    assert_eq!(
        watched.outcome.text, "done",
        "a call that does not fit is no failure of an agent"
    );
    let requests = model.requests();
    assert_eq!(offered(&requests[0]), ["agent_writer"]);
    let tool = &requests[0].tools[0];
    assert_eq!(tool.description, "Writes.\nBriefly.");
    let names: Vec<&String> = tool.parameters["properties"]
        .as_object()
        .expect("it has")
        .keys()
        .collect();
    assert_eq!(names, ["task", "tone", "topic"]);
    let refused = results(&requests[1])[0]["error"]
        .as_str()
        .expect("why")
        .to_owned();
    assert!(refused.contains("/topic"), "{refused}");
    let task = soon(tells_of.recv()).await.expect("it was asked");
    assert_eq!(task.text(), "a poem");
    assert_eq!(task.data(), Some(json!({"topic": "rain", "tone": "dry"})));
    assert_eq!(task.task_type(), "writer");
    assert!(tells_of.try_recv().is_err(), "once");
}

/// spec: SOP-7.2
#[tokio::test]
async fn only_the_agents_of_a_team_are_found() {
    let hub = hub().await;
    let mut others = Vec::new();
    for name in ["one shouter", "stranger", "two shouter"] {
        others.push(shouter(&hub, name).await);
    }
    let model = script([
        calls([("find_agents", json!({"query": "shout capitals"}))]),
        says("done"),
    ]);
    let own = (0..63).map(|n| {
        let schema = json!({"type": "object"});
        Tool::new(format!("t{n}"), "", schema, async |_, _| Ok(1))
    });
    let agent = lead(&model, ErrorMode::Tell)
        .peers(Peers::chosen(in_team))
        .tools(own);
    let _lead = start(&hub, agent).await;
    ask(&user(&hub).await, "lead", "go").await;
    let found = &results(&model.requests()[1])[0]["agents"];
    let ids: Vec<_> = found
        .as_array()
        .into_iter()
        .flatten()
        .map(|a| &a["id"])
        .collect();
    assert_eq!(ids, ["one shouter", "two shouter"]);
}

/// spec: SOP-9.5
#[tokio::test]
async fn a_request_is_known_by_one_id_however_far_it_goes() {
    let hub = hub().await;
    let (told, mut tells_of) = mpsc::channel(4);
    let _writer = start(&hub, tells("writer", &told)).await;
    let asks = |agent: &str| script([calls([(agent, json!({"request": "go"}))]), says("done")]);
    let only = |name: &'static str| Peers::chosen(move |card| card.name == name);
    let deputy = Agent::supervisor(Card::new("deputy", ""))
        .model(asks("agent_writer"))
        .peers(only("writer"));
    let _deputy = start(&hub, deputy).await;
    let model = asks("agent_deputy");
    let _lead = start(&hub, lead(&model, ErrorMode::Tell).peers(only("deputy"))).await;
    let client = user(&hub).await;
    let asked = Delegation::to("lead").text("go").task_id("task-1");
    delegate(&client, asked).await.expect("an outcome");
    let task = soon(tells_of.recv()).await.expect("it was asked");
    assert_eq!(task.correlation_id(), "task-1");
}

/// A writer with a model that takes a topic.
fn thinks(model: &Scripted, told: &mpsc::Sender<TaskContext>) -> AgentBuilder {
    let card = tells("writer", told).card().clone();
    Agent::worker(card).model(model.clone())
}

/// spec: SOP-3.6, SOP-3.7, SOP-5.6, SOP-5.7
#[tokio::test]
async fn data_for_an_agent_gets_its_defaults_and_has_to_fit() {
    let hub = hub().await;
    let (told, _tells_of) = mpsc::channel(1);
    let model = script([says("one"), says("two")]);
    let _writer = start(&hub, thinks(&model, &told)).await;
    let client = user(&hub).await;
    let asked = |data: Value| Delegation::to("writer").text("write").payload(data);
    delegate(&client, asked(json!({"topic": "rain"})))
        .await
        .expect("an outcome");
    let request = &model.requests()[0];
    assert_eq!(
        request.data("input"),
        Some(&json!({"topic": "rain", "tone": "dry"}))
    );
    assert_eq!(request.last_user_text().as_deref(), Some("write"));
    assert_eq!(request.data("inputs_not_given"), None);

    let refused = delegate(&client, asked(json!({"topic": 7, "tone": "loud"}))).await;
    let refused = refused.expect("an outcome").outcome;
    assert_eq!(refused.state, TaskState::Rejected);
    for part in ["/topic", "/tone"] {
        assert!(refused.error.contains(part), "{}", refused.error);
    }

    ask(&client, "writer", "write about rain").await;
    let request = &model.requests()[1];
    assert_eq!(request.data("input"), Some(&json!({"tone": "dry"})));
    let lacking = json!({"topic": {"type": "string", "required": true}});
    assert_eq!(request.data("inputs_not_given"), Some(&lacking));
}
