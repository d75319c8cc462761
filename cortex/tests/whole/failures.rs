//! What goes wrong is told to the user in plain words.

use std::time::Duration;

use agenthub_sdk::{
    Agent, Card, Failure, Reply, Skill, TaskContext,
    model::{ModelError, Request, Scripted},
    proto::a2a::TaskState,
};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::harness::*;

/// An agent that never ends, and a channel that tells when it is at work.
fn endless(name: &str) -> (agenthub_sdk::AgentBuilder, mpsc::Receiver<()>) {
    let (at_work, started) = mpsc::channel(8);
    let agent = worker(name, move |_| {
        let at_work = at_work.clone();
        async move {
            at_work.send(()).await?;
            std::future::pending::<Result<String, Failure>>().await
        }
    });
    (agent, started)
}

/// spec: HUB-4
#[tokio::test]
async fn failures_and_rejections_reach_the_user() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let fails = worker("agent_fails", |_| async {
        Err(Failure::failed("out of paper"))
    });
    let _fails = world.agent(fails).await;
    // It has no skills, so that any task type is tried, and refuses them all.
    let picky = Agent::worker(Card::new("agent_picky", "Does something else"));
    let picky = picky.on_any(|_| async { Err::<(), _>(Failure::rejected("not my job")) });
    let _picky = world.agent(picky).await;

    let ann = world.user("ann").await;
    let answer = ann.answer("c", "agent_fails agent_picky").await;
    assert!(
        answer.contains("agent_fails failed: out of paper"),
        "{answer}"
    );
    assert!(
        answer.contains("agent_picky does not take this task: not my job"),
        "{answer}"
    );
    world.end().await;
}

/// spec: HUB-4
#[tokio::test]
async fn an_agent_that_is_too_slow_is_given_up_and_told_so() {
    let model = Scripted::from_fn(delegating);
    let limit = Duration::from_millis(300);
    let world = World::with(model, |s| s.delegation_timeout = limit).await;
    let (agent, _started) = endless("agent_slow");
    let _agent = world.agent(agent).await;
    let answer = world.user("ann").await.answer("c", "agent_slow").await;
    assert!(
        answer.contains("agent_slow did not answer within 1 s"),
        "{answer}"
    );
    world.end().await;
}

/// spec: HUB-4, HUB-8
#[tokio::test]
async fn an_agent_that_goes_away_is_told_of() {
    let world = World::impatient(Scripted::from_fn(delegating)).await;
    let (agent, mut started) = endless("agent_gone");
    let agent = world.agent(agent).await;
    let ann = world.user("ann").await;
    let pending = ann.send("c", "agent_gone").await;
    within(started.recv()).await.expect("it is at work");
    agent.stop().await;
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(
        said(&outcome),
        "agent agent_gone went away before it was done"
    );
    world.end().await;
}

#[tokio::test]
async fn an_answer_that_is_no_decision_is_asked_for_again_with_the_reason() {
    let model = Scripted::texts([
        r#"{"actions": [{"type": "chat.resp"#.to_owned(),
        delegate(&["nobody"]),
        respond("ok"),
    ]);
    let world = World::new(model.clone()).await;
    let answer = world.user("ann").await.answer("c", "hi").await;
    assert_eq!(answer, "ok");
    let reasons: Vec<String> = model.requests().iter().map(reason).collect();
    assert_eq!(reasons[0], "");
    assert!(reasons[1].contains("no JSON object"), "{reasons:?}");
    assert!(
        reasons[2].contains("there is no agent \"nobody\""),
        "{reasons:?}"
    );
    world.end().await;
}

fn reason(request: &Request) -> String {
    let rejected = request.data("rejected").map(|r| &r["reason"]);
    rejected
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn a_model_that_answers_in_prose_has_answered() {
    let model = Scripted::texts(["The tide is low at six."]);
    let world = World::new(model.clone()).await;
    let answer = world
        .user("ann")
        .await
        .answer("c", "when is low tide")
        .await;
    assert_eq!(answer, "The tide is low at six.");
    assert_eq!(model.requests().len(), 1);
    world.end().await;
}

#[tokio::test]
async fn a_model_that_never_decides_ends_in_an_apology() {
    let model = Scripted::from_fn(|_| Ok(r#"{"nonsense": 1}"#.to_owned()));
    let world = World::new(model.clone()).await;
    let outcome = world.user("ann").await.ask("c", "hi").await;
    assert_eq!(outcome.state, TaskState::Completed);
    assert!(said(&outcome).contains("I am sorry"), "{}", said(&outcome));
    assert_eq!(model.requests().len(), 3);
    world.end().await;
}

#[tokio::test]
async fn a_model_that_does_not_let_itself_be_asked_fails_the_task_in_plain_words() {
    let model = Scripted::from_fn(|request| match results(request) {
        Some(_) => Err(ModelError::Unauthorized(
            "the key is another one".to_owned(),
        )),
        None => delegating(request),
    });
    let world = World::new(model).await;
    let works = worker("agent_a", |_| async { Ok("precious".to_owned()) });
    let _works = world.agent(works).await;
    let outcome = world.user("ann").await.ask("c", "agent_a").await;
    assert_eq!(outcome.state, TaskState::Failed);
    assert!(
        outcome.error.contains("the key is another one"),
        "{}",
        outcome.error
    );
    assert!(
        outcome.error.contains("agent_a: precious"),
        "{}",
        outcome.error
    );
    world.end().await;
}

#[tokio::test]
async fn a_model_that_only_delegates_is_stopped_after_its_rounds() {
    let model = Scripted::from_fn(|_| Ok(delegate(&["agent_a"])));
    let world = World::with(model.clone(), |s| s.max_rounds = 3).await;
    let works = worker("agent_a", |_| async { Ok("piece".to_owned()) });
    let _works = world.agent(works).await;
    let answer = world.user("ann").await.answer("c", "go").await;
    assert_eq!(answer.matches("agent_a: piece").count(), 2, "{answer}");
    assert_eq!(
        model.requests().len(),
        2 + 3,
        "two rounds, and a third with two re-asks"
    );
    world.end().await;
}

#[tokio::test]
async fn a_question_that_nobody_can_answer_is_told_and_its_task_is_not_left_open() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let (tell, mut tasks) = mpsc::channel(1);
    let skill = Skill::new("work", "Work", "");
    let agent = Agent::worker(Card::new("agent_asks", "Asks").skill(skill)).on_task_type(
        "work",
        move |task| {
            let tell = tell.clone();
            async move {
                tell.send(TaskContext::task_id(&task).to_owned()).await?;
                Ok(Reply::input_required("which colour?"))
            }
        },
    );
    let _agent = world.agent(agent).await;
    let ann = world.user("ann").await;
    // A call has no task that could wait.
    let frames = called(&world.cortex.handle(), "agent_asks").await;
    let last = frames.iter().rfind(|f| f.r#type == "message");
    let last = last.map(|frame| frame.message.as_str());
    assert_eq!(last, Some("agent_asks asks back: which colour?"));
    let task_id = tasks.recv().await.expect("it was asked");
    let task = ann
        .client
        .task(&task_id, 0)
        .await
        .expect("the hub knows it");
    assert_eq!(task.state(), TaskState::Cancelled);
    world.end().await;
}
