//! How far an agent with a model may go.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agenthub_sdk::{
    Agent, Card, Delegation, MAX_HOPS, Tool, ToolContext,
    model::{PromptMessage, PromptRole, Scripted},
    proto::a2a::TaskState,
    runs::{Budget, tool_loop::Limits},
};
use serde_json::{Value, json};

use crate::harness::{Watched, ask, calls, delegate, hub, results, says, script, url, user};

/// A tool that counts its calls.
fn counting() -> (Tool, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let tool = Tool::new(
        "count",
        "",
        json!({"type": "object"}),
        move |_: ToolContext, _: Value| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok("counted") }
        },
    );
    (tool, count)
}

async fn run(model: Scripted, limits: Limits, budget: Budget) -> (Watched, usize) {
    let hub = hub().await;
    let (tool, count) = counting();
    let agent = Agent::worker(Card::new("a", ""))
        .model(model)
        .tool(tool)
        .limits(limits)
        .budget(budget);
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let watched = ask(&user(&hub).await, "a", "go").await;
    (watched, count.load(Ordering::SeqCst))
}

#[tokio::test]
async fn calls_past_the_limit_are_not_made() {
    let call = || ("count", json!({}));
    let model = script([calls([call(), call(), call()]), says("enough")]);
    let limits = Limits {
        tool_calls: 2,
        ..Limits::default()
    };
    let (watched, count) = run(model.clone(), limits, Budget::default()).await;
    assert_eq!((count, &*watched.outcome.text), (2, "enough"));
    let told = results(&model.requests()[1]);
    assert!(
        told[2]["error"]
            .as_str()
            .is_some_and(|e| e.contains("used up")),
        "{told:?}"
    );
}

#[tokio::test]
async fn in_the_last_turn_no_tool_is_offered() {
    let model = Scripted::from_completion_fn(|request| match request.tools.is_empty() {
        true => says("that is all"),
        false => calls([("count", json!({}))]),
    });
    let limits = Limits {
        turns: 3,
        ..Limits::default()
    };
    let (watched, count) = run(model.clone(), limits, Budget::default()).await;
    assert_eq!((count, &*watched.outcome.text), (2, "that is all"));
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    let last = requests[2].messages.last().map(|m: &PromptMessage| m.role);
    assert_eq!(
        last,
        Some(PromptRole::System),
        "it is told that this is its last turn"
    );
}

#[tokio::test]
async fn a_budget_is_checked_before_a_call() {
    let model = script([
        calls([("count", json!({})), ("count", json!({}))]),
        says("never"),
    ]);
    let budget = Budget {
        calls: Some(2),
        ..Budget::default()
    };
    let (watched, count) = run(model.clone(), Limits::default(), budget).await;
    assert_eq!(watched.outcome.state, TaskState::Failed);
    assert!(
        watched.outcome.error.contains("budget of 2 calls"),
        "{}",
        watched.outcome.error
    );
    assert!(count <= 1, "{count}");
    assert_eq!(model.requests().len(), 1);

    let tokens = Budget {
        tokens: Some(10),
        ..Budget::default()
    };
    let model = script([says("never")]);
    let (watched, _) = run(model.clone(), Limits::default(), tokens).await;
    assert!(
        watched.outcome.error.contains("10 tokens"),
        "{}",
        watched.outcome.error
    );
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_run_ends_when_its_time_is_over() {
    let budget = Budget {
        time_ms: Some(200),
        ..Budget::default()
    };
    let model = script([says("too late")]).delay(Duration::from_secs(60));
    let (watched, _) = run(model, Limits::default(), budget).await;
    assert_eq!(watched.outcome.error, "the time for it, 200ms, is over");
}

#[tokio::test]
async fn a_tool_that_takes_too_long_is_given_up_and_the_model_is_told() {
    let hub = hub().await;
    let hang = Tool::new(
        "hang",
        "",
        json!({"type": "object"}),
        async |context: ToolContext, _: Value| {
            context.cancelled().await;
            std::future::pending::<()>().await;
            Ok(())
        },
    );
    let model = script([calls([("hang", json!({}))]), says("it hangs")]);
    let limits = Limits {
        tool_timeout_ms: 100,
        ..Limits::default()
    };
    let agent = Agent::worker(Card::new("a", ""))
        .model(model.clone())
        .tool(hang)
        .limits(limits);
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let watched = ask(&user(&hub).await, "a", "go").await;
    assert_eq!(watched.outcome.text, "it hangs");
    let told = results(&model.requests()[1]);
    assert!(
        told[0]["error"]
            .as_str()
            .is_some_and(|e| e.starts_with("no answer within")),
        "{told:?}"
    );
    assert!(watched.lines()[1].starts_with("Tool hang failed: no answer within"));
}

#[tokio::test]
async fn who_may_not_delegate_is_offered_nobody() {
    let hub = hub().await;
    let _shouter = crate::team::shouter(&hub, "shouter").await;
    let model = script([says("alone"), says("alone")]);
    let agent = Agent::supervisor(Card::new("lead", "")).model(model.clone());
    let _lead = agent.start(url(&hub)).await.expect("it starts");
    let client = user(&hub).await;
    let none = Budget {
        depth: Some(0),
        ..Budget::default()
    };
    let ask = || Delegation::to("lead").text("go");
    for delegation in [ask().budget(none), ask().hops(MAX_HOPS)] {
        let watched = delegate(&client, delegation).await.expect("an outcome");
        assert_eq!(watched.outcome.text, "alone");
    }
    assert!(model.requests().iter().all(|r| r.tools.is_empty()));
}
