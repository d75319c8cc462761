//! What a task may use travels with it, and what it used comes back.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use agenthub_broker::{RetainedLog, Settings, Storage};
use agenthub_sdk::{
    Agent, Delegation, Error, Failure, TaskContext,
    proto::a2a::TaskState,
    runs::{Budget, Spent},
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, soon},
};

fn tokens(tokens: u64) -> Budget {
    Budget {
        tokens: Some(tokens),
        ..Budget::default()
    }
}

#[tokio::test]
async fn what_is_handed_on_is_within_what_was_granted() {
    let hub = Hub::start().await;
    let (told, mut tells) = mpsc::channel(8);
    let _a = Agent::worker(card("a"))
        .on_task_type(
            "work",
            async |task: TaskContext| -> Result<String, Failure> {
                let delegation = Delegation::to("b").text("x").budget(tokens(1_000_000));
                Ok(task.delegate(delegation).await?.outcome().await?.text)
            },
        )
        .start(hub.url())
        .await
        .expect("it starts");
    let _b = Agent::worker(card("b"))
        .on_task_type("work", move |task: TaskContext| {
            let told = told.clone();
            async move {
                told.send(task.budget()).await?;
                match task.ask("a", "and back").await {
                    Err(Error::Denied(why)) => Ok(why),
                    other => Err(Failure::failed(format!("{other:?}"))),
                }
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let granted = Budget {
        calls: Some(7),
        cost_micros: Some(0),
        depth: Some(1),
        ..tokens(100)
    };
    let delegation = Delegation::to("a").text("go").budget(granted);
    let delegation = delegation.timeout(Duration::from_secs(60));
    let pending = client.delegate(delegation).await.expect("it is taken");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert!(
        outcome.text.contains("does not allow it to delegate"),
        "{}",
        outcome.text
    );
    assert_eq!(outcome.spent, None, "a function does not tell");
    let budget = soon(tells.recv()).await.expect("b was asked");
    assert!(budget.time_ms.is_some_and(|t| (1..=60_000).contains(&t)));
    let expected = Budget {
        depth: Some(0),
        time_ms: budget.time_ms,
        ..granted
    };
    assert_eq!(budget, expected);
}

#[tokio::test]
async fn a_run_keeps_to_what_was_granted_and_to_what_is_its_own() {
    let hub = Hub::start().await;
    for (granted, own) in [(tokens(60), Budget::default()), (tokens(1_000), tokens(60))] {
        let stand_ins = Arc::new(StandIns {
            tokens: 50,
            budget: own,
            ..StandIns::counting()
        });
        let steps = json!([{"ask": "one"}, {"ask": "two"}]);
        let agent = Agent::worker(card("a"))
            .conduct("work", Scripted::new(&stand_ins, steps))
            .start(hub.url())
            .await
            .expect("it starts");
        let client = hub.client().await;
        let delegation = Delegation::to("a").text("go").budget(granted);
        let pending = client.delegate(delegation).await.expect("it is taken");
        let outcome = soon(pending.outcome()).await.expect("an outcome");
        assert_eq!(outcome.state, TaskState::Failed);
        assert!(
            outcome.error.contains("the budget of 60 tokens"),
            "{}",
            outcome.error
        );
        assert_eq!(stand_ins.asked.load(Ordering::SeqCst), 1);
        let spent = Spent {
            tokens: 50,
            calls: 1,
            cost_micros: 0,
            is_estimated: false,
        };
        assert_eq!(outcome.spent, Some(spent));
        agent.stop().await;
    }
}

/// Twenty children on four agents: each keeps to its part, so all of them together keep to the whole.
#[tokio::test]
async fn many_children_together_never_pass_the_cap() {
    const CAP: u64 = 4_000;
    let hub = Hub::start().await;
    let spenders = Arc::new(StandIns {
        tokens: 90,
        ..StandIns::counting()
    });
    let asks: Vec<_> = (0..30).map(|n| json!({"ask": n.to_string()})).collect();
    let mut agents = Vec::new();
    for n in 0..4 {
        let agent = Agent::worker(card(&format!("b{n}")))
            .conduct("work", Scripted::new(&spenders, json!([])));
        agents.push(agent.start(hub.url()).await.expect("it starts"));
    }
    let top = StandIns::new();
    let children: Vec<_> = (0..20)
        .map(|n| json!({"to": format!("b{}", n % 4), "steps": asks}))
        .collect();
    let _a = Agent::worker(card("a"))
        .conduct("work", Scripted::new(&top, json!([children])))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let delegation = Delegation::to("a").text("go").budget(tokens(CAP));
    let pending = client.delegate(delegation).await.expect("it is taken");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(
        outcome.state,
        TaskState::Failed,
        "thirty answers are too much for each"
    );
    let used = spenders.asked.load(Ordering::SeqCst) as u64 * spenders.tokens;
    assert!((1..=CAP).contains(&used), "{used}");
    let spent = outcome.spent.expect("it tells");
    assert!(
        (used..=CAP).contains(&spent.tokens),
        "{} of {used}",
        spent.tokens
    );
}

/// The hub keeps what it was sent.
#[tokio::test]
async fn a_budget_outlives_the_hub() {
    let settings = Settings {
        storage: Storage::Retained(RetainedLog::new(Duration::ZERO)),
        ..Settings::default()
    };
    let hub = Hub::start_with(settings.clone()).await;
    // The mail waits for its agent.
    let client = hub.client().await;
    let delegation = Delegation::to("a").text("go").budget(tokens(123));
    let _pending = client.delegate(delegation).await.expect("it is taken");
    client.close().await;
    hub.stop().await;

    let hub = Hub::start_with(settings).await;
    let (told, mut tells) = mpsc::channel(1);
    let _a = Agent::worker(card("a"))
        .on_task_type("work", move |task: TaskContext| {
            let told = told.clone();
            async move {
                told.send(task.budget().tokens).await?;
                Ok(())
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    assert_eq!(soon(tells.recv()).await.flatten(), Some(123));
}
