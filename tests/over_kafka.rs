//! Workflows whose steps go over Kafka to an agent over HTTP, with real processes.

#[cfg(feature = "boundaries")]
mod boundaries;
mod login;
#[cfg(feature = "aws")]
mod s3;
#[cfg_attr(
    not(feature = "boundaries"),
    allow(dead_code, reason = "boundaries uses the rest")
)]
mod stage;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nix::sys::signal::Signal;

use self::stage::Stage;
use crate::{
    harness::{Process, eventually, within},
    metrics::scraped,
    workflows::{begun, kills::completed, written},
};

/// Time that the agent takes.
const WORK: Duration = Duration::from_millis(400);

/// Time in which the bridges come to share the partitions: a member that was killed counts for 10 s, and a heartbeat tells of a new one.
const SHARED: Duration = Duration::from_secs(120);

/// Runs that are at work at once.
const RUNS: usize = 6;

/// A loop of the agent elsewhere, and a step of an agent of the hub.
const WORKFLOW: &str = "\
steps:
  count:
    for_each: [1, 2, 3, 4]
    parallel: 2
    agent: counting
    text: \"number ${loop.item}\"
    timeout: 100s
  echo: { agent: agent_echo, text: \"all of ${count.output.total_count}\", timeout: 100s }
output: ${echo.output.text}
";

/// spec: EXE-3.1, EXE-3.2, EXE-5.1, EXE-5.2, EXE-5.4, EXE-7.3
#[test]
fn bridges_share_the_steps_of_workflows_and_take_up_what_a_killed_one_had() {
    let (stage, _up) = Stage::start(WORK, "tasks");
    let bridges = ["one", "two"].map(|name| stage.bridge(name));
    let file = written(&stage.system, "count.yaml", WORKFLOW);
    let counted_by = |bridge: &Process, name: &str| {
        let text = scraped(bridge);
        let lines = text.lines().filter(|line| line.starts_with(name));
        let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.sum::<f64>()
    };
    // What a bridge does can be read of it.
    let done = "agenthub_bridge_task_seconds_count{agent=\"counting\",result=\"completed\"}";
    // What is at work while the bridges come to share the partitions may be asked for twice.
    within(SHARED, "both bridges have partitions", || {
        stage.ended(&begun(&stage.system, &file, "{}"));
        let has_done = |bridge: &Process| counted_by(bridge, done) > 0.0;
        bridges.iter().all(has_done).then_some(())
    });
    let earlier: BTreeSet<String> = times_begun(&stage).into_keys().collect();
    let runs = [(); RUNS].map(|()| begun(&stage.system, &file, "{}"));
    eventually("some steps have completed", || {
        let counted = stage.agent.counted();
        let ended = counted.ended.keys().filter(|id| !earlier.contains(*id));
        (ended.count() >= 4).then_some(())
    });
    let called = "agenthub_bridge_call_seconds_count{agent=\"counting\",error=\"\"}";
    let called: f64 = bridges
        .iter()
        .map(|bridge| counted_by(bridge, called))
        .sum();
    assert!(called >= 4.0, "{}", scraped(&bridges[0]));
    eventually("the bridges say how far their group is behind", || {
        let lag =
            "agenthub_topic_lag{group=\"agenthub.bridges\",topic=\"orchestrator.tasks.http\"}";
        scraped(&bridges[0]).contains(lag).then_some(())
    });
    let [killed, left] = bridges;
    let settled = completed(&stage.system);
    assert!(!settled.is_subset(&earlier), "steps have completed");
    let before = times_begun(&stage);
    killed.kill();
    for run in &runs {
        let ended = stage.ended(run);
        assert_eq!(ended["state"], "completed", "{ended}\n{}", left.said());
        let said = ended["result"]["message"].as_str().unwrap_or_default();
        assert!(said.contains("all of 4"), "{ended}");
    }
    // A bridge that is told to stop ends well.
    left.signal(Signal::SIGTERM);
    assert_eq!(left.wait().code, Some(0));

    let mut times = times_begun(&stage);
    times.retain(|id, _| !earlier.contains(id));
    assert_eq!(times.len(), RUNS * 4, "each step is a message of its own");
    for (id, begun) in &times {
        assert!(*begun <= 2, "{id} was asked for {begun} times");
        assert!(
            before.get(id) == Some(begun) || !settled.contains(id),
            "a step that had completed was done again"
        );
    }
}

/// The number of times that the agent was asked, by the ids of messages.
fn times_begun(stage: &Stage) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    for asked in &stage.agent.counted().begun {
        *times.entry(asked.id.clone()).or_default() += 1;
    }
    times
}
