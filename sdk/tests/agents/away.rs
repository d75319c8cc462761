//! Agents that go away while they are at work for a supervisor: for how long they are waited for.

use std::time::Duration;

use agenthub_broker::{Server, Settings};
use agenthub_sdk::{
    Agent, AgentBuilder, Card, RunningAgent, Skill, TaskContext, model::Scripted,
    proto::a2a::TaskState,
};
use serde_json::json;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use crate::harness::{ask, calls, hub, hub_with, results, says, script, soon, url, user};

/// How long a program may take that is started again.
const RESTART: Duration = Duration::from_secs(3);

fn card() -> Card {
    Card::new("hanging", "").skill(Skill::new("hang", "Hang", "Hangs"))
}

/// A worker that tells of its work and never ends it.
fn hanging(told: mpsc::Sender<()>) -> AgentBuilder {
    Agent::worker(card())
        .drain_timeout(Duration::from_millis(10))
        .on_task_type("hang", move |_: TaskContext| {
            let told = told.clone();
            async move {
                told.send(()).await?;
                std::future::pending::<()>().await;
                Ok(())
            }
        })
}

async fn start(agent: AgentBuilder, hub: &Server) -> RunningAgent {
    agent.start(url(hub)).await.expect("it starts")
}

/// A supervisor that asks it, and then says what came of it.
async fn lead(hub: &Server) -> (RunningAgent, Scripted) {
    let model = script([
        calls([("agent_hanging", json!({"request": "go"}))]),
        says("so it was"),
    ]);
    let lead = Agent::supervisor(Card::new("lead", "Leads")).model(model.clone());
    (start(lead, hub).await, model)
}

#[tokio::test]
async fn an_agent_that_is_started_again_keeps_its_work() {
    let hub = hub().await;
    let (told, mut tells) = mpsc::channel(1);
    let first = start(hanging(told), &hub).await;
    let (_lead, model) = lead(&hub).await;
    let client = user(&hub).await;
    let restarting = async {
        soon(tells.recv()).await;
        first.stop().await;
        sleep_until(Instant::now() + RESTART).await;
        let again =
            Agent::worker(card()).on_task_type("hang", async |_: TaskContext| Ok("here I am"));
        start(again, &hub).await
    };
    let (watched, _again) = tokio::join!(ask(&client, "lead", "go"), restarting);
    let told = results(&model.requests()[1]);
    assert_eq!(told[0]["text"], "here I am", "{told:?}");
    assert_eq!(watched.outcome.text, "so it was");
}

#[tokio::test]
async fn an_agent_that_stays_away_is_away_for_the_model() {
    let hub = hub_with(Settings {
        away_grace: Duration::from_millis(50),
        ..Settings::default()
    });
    let hub = hub.await;
    let (told, mut tells) = mpsc::channel(1);
    let hanging = start(hanging(told), &hub).await;
    let (_lead, model) = lead(&hub).await;
    let client = user(&hub).await;
    let leaving = async {
        soon(tells.recv()).await;
        hanging.stop().await;
    };
    let (watched, ()) = tokio::join!(ask(&client, "lead", "go"), leaving);
    assert_eq!(watched.outcome.text, "so it was");
    let told = results(&model.requests()[1]);
    assert_eq!(told[0]["state"], "away", "{told:?}");
    assert_eq!(
        watched.lines()[1],
        "Tool agent_hanging failed: hanging is not here at present"
    );
    let child = watched.tools()[0]["taskId"].as_str().map(str::to_owned);
    let child = client
        .task(&child.expect("the task is named"), 0)
        .await
        .expect("it is known");
    assert_eq!(child.state(), TaskState::Cancelled);
}
