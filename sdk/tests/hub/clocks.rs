//! Agents whose clock is another than that of the hub and of who asks them.

use std::time::{Duration, SystemTime};

use agenthub_sdk::{Agent, Delegation, TaskContext, model::Scripted};

use crate::harness::{Hub, card, soon};

const AHEAD: Duration = Duration::from_secs(600);

/// What a task has that is handed over with five minutes, in seconds.
const LEFT: std::ops::RangeInclusive<u64> = 200..=300;

fn ahead() -> SystemTime {
    SystemTime::now() + AHEAD
}

fn behind() -> SystemTime {
    SystemTime::now() - AHEAD
}

fn delegation(agent: &str) -> Delegation {
    Delegation::to(agent)
        .text("go")
        .timeout(Duration::from_secs(300))
}

#[tokio::test]
async fn work_has_the_time_that_is_left_whatever_the_clock_of_its_agent_says() {
    let hub = Hub::start().await;
    let client = hub.client().await;
    for (name, clock) in [
        ("ahead", ahead as fn() -> SystemTime),
        ("behind", behind),
        ("right", SystemTime::now),
    ] {
        let agent = Agent::worker(card(name)).clock(clock).on_task_type(
            "work",
            move |task: TaskContext| async move {
                let left = task.budget().time_ms.map(|ms| ms / 1_000);
                let by_clock = task.deadline().map(|at| at.duration_since(clock()));
                let by_clock = by_clock.and_then(Result::ok).map(|left| left.as_secs());
                Ok(format!("{left:?} {by_clock:?}"))
            },
        );
        let agent = soon(agent.start(hub.url())).await.expect("it starts");
        let pending = client
            .delegate(delegation(name))
            .await
            .expect("it is taken");
        let outcome = soon(pending.outcome()).await.expect("an outcome");
        let numbers = outcome.text.split(|c: char| !c.is_ascii_digit());
        let told: Vec<u64> = numbers.filter_map(|n| n.parse().ok()).collect();
        let is_right = told.len() == 2 && told.iter().all(|left| LEFT.contains(left));
        assert!(is_right, "{name}: {}", outcome.text);
        agent.stop().await;
    }
}

#[tokio::test]
async fn a_run_has_the_time_that_is_left_whatever_the_clock_of_its_agent_says() {
    let hub = Hub::start().await;
    let client = hub.client().await;
    let agent = Agent::worker(card("ahead"))
        .clock(ahead)
        .model(Scripted::texts(["done"]));
    let _agent = soon(agent.start(hub.url())).await.expect("it starts");
    let pending = client.delegate(delegation("ahead")).await;
    let outcome = soon(pending.expect("it is taken").outcome()).await;
    assert_eq!(outcome.expect("an outcome").text, "done");
}

/// The clock of who asks may be another as well.
#[tokio::test]
async fn a_task_is_over_when_the_time_is_that_it_was_given_whatever_the_clock_of_who_asks_says() {
    let hub = Hub::start().await;
    let told = |task: TaskContext| async move {
        Ok(task.budget().time_ms.unwrap_or_default().to_string())
    };
    let agent = Agent::worker(card("right")).on_task_type("work", told);
    let _agent = soon(agent.start(hub.url())).await.expect("it starts");
    for clock in [ahead as fn() -> SystemTime, behind] {
        let client = agenthub_sdk::Client::builder(hub.url()).clock(clock);
        let client = soon(client.connect()).await.expect("the hub is there");
        let pending = client.delegate(delegation("right")).await;
        let outcome = soon(pending.expect("it is taken").outcome()).await;
        let left: u64 = outcome.expect("an outcome").text.parse().expect("a number");
        assert!(LEFT.contains(&(left / 1_000)), "{left}");
    }
}
