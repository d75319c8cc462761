//! Agents with tools of their own.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use agenthub_sdk::{
    Agent, Card, Error, Failure, Skill, TaskContext, Tool, ToolContext, model,
    proto::{a2a::TaskState, json as wire},
};
use serde_json::{Value, json};
use tokio::sync::{Barrier, mpsc};

use crate::harness::{
    ask, calls, failing, hub, offered, results, says, script, soon, sum, url, user,
};

fn card() -> Card {
    Card::new("calculator", "Calculates").skill(Skill::new("sum", "Sum", "Adds numbers up"))
}

/// spec: AGT-3.1, AGT-3.2, AGT-3.3, AGT-3.4, AGT-3.5, AGT-4.1, AGT-4.2, AGT-4.3, AGT-4.4, AGT-4.5, AGT-7.1, AGT-7.2, AGT-7.3, AGT-11.4,
/// AGT-11.5
#[tokio::test]
async fn each_tool_is_shown_before_and_after_it_is_called() {
    let hub = hub().await;
    let model = script([
        calls([("sum", json!({"numbers": [1, 2]}))]),
        calls([("look_up", json!({"password": "hunter2"}))]),
        says("It is 3."),
    ]);
    let agent = Agent::worker(card())
        .model(model.clone())
        .tool(sum())
        .tool(failing("look_up", "refused: token=abcdef123"));
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let watched = ask(&user(&hub).await, "calculator", "What is 1 + 2?").await;
    assert_eq!(watched.outcome.text, "It is 3.");
    assert_eq!(
        watched.lines(),
        [
            "Invoking tool: sum",
            "Tool sum completed successfully",
            "Invoking tool: look_up",
            "Tool look_up failed: refused: token=[redacted]",
        ]
    );
    assert_eq!(
        results(&model.requests()[2]),
        [json!(3), json!({"error": "refused: token=abcdef123"})],
        "the model itself is told all of it"
    );
    let shown: Vec<Value> = watched
        .statuses
        .iter()
        .map(|update| {
            let status = update.status.clone().unwrap_or_default();
            assert!(status.timestamp.is_some());
            json!({
                "state": status.state().label(),
                "text": status.text(),
                "metadata": update.metadata.as_ref().map(wire::from_struct),
                "final": update.r#final,
            })
        })
        .collect();
    insta::assert_json_snapshot!(shown);
}

/// spec: AGT-11.3
#[tokio::test]
async fn input_that_does_not_fit_goes_back_to_the_model() {
    let hub = hub().await;
    let model = script([
        calls([("sum", json!({"numbers": ["one", 2]}))]),
        calls([("sum", json!({"numbers": [1, 2]}))]),
        says("3"),
    ]);
    let agent = Agent::worker(card()).model(model.clone()).tool(sum());
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let watched = ask(&user(&hub).await, "calculator", "1 + 2").await;
    assert_eq!(watched.outcome.text, "3");
    let told = results(&model.requests()[1]);
    let error = told[0]["error"].as_str().expect("an error");
    assert!(
        error.contains("at \"/numbers/0\"") && error.contains("integer"),
        "{error}"
    );
    assert_eq!(results(&model.requests()[2])[1], json!(3));
    let request = &model.requests()[0];
    assert_eq!(offered(request), ["sum"]);
    let schema = &request.tools[0].parameters;
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    assert_eq!(
        schema["properties"]["numbers"]["description"],
        "What to add up."
    );
}

/// spec: AGT-3.4
#[tokio::test]
async fn a_tool_that_panics_or_is_not_there_is_an_error_for_the_model() {
    let hub = hub().await;
    let model = script([
        calls([("burst", Value::Null), ("nothing", json!({}))]),
        says("sorry"),
    ]);
    let schema = json!({"type": "object"});
    let burst = Tool::new(
        "burst",
        "",
        schema,
        async |_: ToolContext, _: Value| -> Result<(), Failure> { panic!("secret inner words") },
    );
    let agent = Agent::worker(card()).model(model.clone()).tool(burst);
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let watched = ask(&user(&hub).await, "calculator", "go").await;
    assert_eq!(watched.outcome.text, "sorry");
    let told = results(&model.requests()[1]);
    let of = |at: usize| told[at]["error"].as_str().unwrap_or_default().to_owned();
    assert!(
        of(0).contains("broke off") && !of(0).contains("secret"),
        "{told:?}"
    );
    assert!(
        of(1).contains("there is no tool nothing; there are: burst"),
        "{told:?}"
    );
}

#[tokio::test]
async fn the_calls_of_one_turn_are_made_together() {
    const CALLS: usize = 4;
    let hub = hub().await;
    let together = Arc::new(Barrier::new(CALLS));
    let call = || ("meet", json!({}));
    let model = script([calls([call(), call(), call(), call()]), says("met")]);
    let meet = Tool::new("meet", "", json!({"type": "object"}), move |_, _| {
        let together = Arc::clone(&together);
        async move {
            together.wait().await;
            Ok("here")
        }
    });
    let agent = Agent::worker(card()).model(model.clone()).tool(meet);
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let watched = ask(&user(&hub).await, "calculator", "go").await;
    assert_eq!(watched.outcome.text, "met");
    assert_eq!(results(&model.requests()[1]), vec![json!("here"); CALLS]);
}

#[tokio::test]
async fn no_more_calls_than_a_run_may_have_out_are_made_at_once() {
    const CALLS: usize = 40;
    let hub = hub().await;
    let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let count = Tool::new("count", "", json!({"type": "object"}), {
        let counts = Arc::clone(&counts);
        move |_, _| {
            let counts = Arc::clone(&counts);
            async move {
                let out = counts.0.fetch_add(1, Ordering::SeqCst) + 1;
                counts.1.fetch_max(out, Ordering::SeqCst);
                tokio::task::yield_now().await;
                counts.0.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        }
    });
    let call = || ("count", json!({}));
    let model = script([calls([(); CALLS].map(|()| call())), says("done")]);
    let agent = Agent::worker(card()).model(model.clone()).tool(count);
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    ask(&user(&hub).await, "calculator", "go").await;
    let most = counts.1.load(Ordering::SeqCst);
    assert!((1..=16).contains(&most), "{most}");
    assert_eq!(results(&model.requests()[1]).len(), CALLS);
}

#[tokio::test]
async fn a_tool_knows_its_call() {
    let hub = hub().await;
    let (told, mut tells) = mpsc::channel(4);
    let know = Tool::new(
        "know",
        "",
        json!({"type": "object"}),
        move |context: ToolContext, _| {
            let told = told.clone();
            async move {
                context.progress("half way").await?;
                told.send(context).await?;
                Ok("known")
            }
        },
    );
    let model = script([
        calls([("know", json!({})), ("know", json!({}))]),
        says("done"),
    ]);
    let budget = agenthub_sdk::runs::Budget {
        calls: Some(10),
        ..Default::default()
    };
    let agent = Agent::worker(card()).model(model).tool(know).budget(budget);
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let watched = ask(&user(&hub).await, "calculator", "go").await;
    let first = soon(tells.recv()).await.expect("it was called");
    let second = soon(tells.recv()).await.expect("it was called twice");
    assert_eq!(first.task_id(), watched.outcome.task_id);
    assert_eq!(
        (first.requester(), first.context_id().is_empty()),
        ("user", false)
    );
    assert_ne!(first.idempotency_key(), second.idempotency_key());
    assert!(first.deadline().is_some() && !first.cancellation().is_cancelled());
    assert_eq!(
        first.budget().calls,
        Some(7),
        "one question and two calls of ten"
    );
    assert!(watched.lines().contains(&"half way".to_owned()));
}

#[tokio::test]
async fn a_handler_is_asked_before_the_model() {
    let hub = hub().await;
    let model = script([says("the model")]);
    let agent = Agent::worker(card())
        .model(model)
        .on_task_type("exact", async |_: TaskContext| Ok("the handler"));
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let client = user(&hub).await;
    let to = || agenthub_sdk::Delegation::to("calculator").text("go");
    let exact = crate::harness::delegate(&client, to().capability("exact")).await;
    assert_eq!(exact.expect("an outcome").outcome.text, "the handler");
    let sum = crate::harness::delegate(&client, to().capability("sum")).await;
    assert_eq!(sum.expect("an outcome").outcome.text, "the model");
}

#[tokio::test]
async fn a_model_that_does_not_answer_is_a_failure_in_words() {
    let hub = hub().await;
    let refuses = script([Err(model::ModelError::Refused("not me".to_owned()))]);
    let agent = Agent::worker(card()).model(refuses.clone()).tool(sum());
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let outcome = ask(&user(&hub).await, "calculator", "go").await.outcome;
    assert_eq!(outcome.state, TaskState::Failed);
    assert_eq!(refuses.requests().len(), 1);
    assert!(
        outcome.error.starts_with("the model did not answer"),
        "{}",
        outcome.error
    );
}

#[test]
fn what_cannot_be_built_says_why() {
    let refused = |builder: agenthub_sdk::AgentBuilder| match builder.build() {
        Err(Error::Invalid(why)) => why,
        other => panic!("{other:?}"),
    };
    for (builder, part) in [
        (Agent::worker(card()), "no handler and no model"),
        (
            Agent::supervisor(card()),
            "the supervisor calculator has no handler and no model",
        ),
        (Agent::worker(card()).tool(sum()), "no model: add .model("),
        (Agent::worker(card()).model("gpt-9"), "provider"),
        (
            Agent::worker(card()).model("offline").tools([sum(), sum()]),
            "two tools are called sum",
        ),
        (
            Agent::worker(card())
                .model("offline")
                .budget(agenthub_sdk::runs::Budget {
                    cost_micros: Some(1_000_000),
                    ..Default::default()
                }),
            "limits money",
        ),
        (
            Agent::supervisor(card())
                .model("offline")
                .tool(failing("find_agents", "")),
            "find_agents",
        ),
    ] {
        let why = refused(builder);
        assert!(why.contains(part), "{part:?} in {why:?}");
    }
}
