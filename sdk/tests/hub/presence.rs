//! Staying known to the hub.

use std::time::Duration;

use agenthub_broker::Settings;
use agenthub_sdk::{Agent, Client, TaskContext};
use tokio::time::timeout;

use crate::harness::{Hub, card, soon};

/// spec: HUB-8
#[tokio::test]
async fn an_idle_agent_stays_online_on_an_unbroken_connection() {
    let lease = Duration::from_secs(1);
    let hub = Hub::start_with(Settings {
        presence_lease: lease,
        heartbeat_interval: lease / 3,
        ..Settings::default()
    })
    .await;
    let agent = Agent::worker(card("a"))
        .on_task_type("work", async |_: TaskContext| Ok(()))
        .start(hub.url())
        .await
        .expect("it starts");
    let watcher = Client::builder(hub.url()).watch_agents(true).connect();
    let watcher = watcher.await.expect("the hub is there");
    let directory = watcher.directory();
    let is_online = || directory.get("a").is_some_and(|entry| entry.online);
    let mut view = directory.changed();
    soon(view.wait_for(|_| is_online()))
        .await
        .expect("it is alive");

    let mut connection = agent.client().connection();
    let trouble = async {
        tokio::select! {
            _ = view.wait_for(|_| !is_online()) => "it went offline",
            _ = connection.changed() => "its connection changed",
        }
    };
    // That nothing happens takes its time to show.
    assert_eq!(timeout(2 * lease, trouble).await.ok(), None);
    assert!(is_online());
}
