//! Delivery attempts after a crash. A copy of the log at one moment is the state after a crash.

use std::time::Duration;

use agenthub_broker::{Settings, Storage, maintenance};
use agenthub_proto::a2a::TaskState;
use serde_json::Value;
use tonic::Code;

use crate::{
    harness::{TestHub, routing, until, work},
    leases::message,
    peer::agent,
};

/// Data folder of a hub.
struct Data(tempfile::TempDir);

impl Data {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    async fn hub(&self, ack_deadline: Duration) -> TestHub {
        let storage = Storage::Folder(self.0.path().to_owned());
        TestHub::with(Settings {
            storage,
            ack_deadline,
            ..Settings::default()
        })
        .await
    }

    /// True if the log has such a record.
    fn has(&self, is_it: impl Fn(&Value) -> bool) -> bool {
        let mut found = false;
        maintenance::export(self.0.path(), 0, None, |record| {
            found |= is_it(&record);
            Ok(())
        })
        .expect("it can be read");
        found
    }

    /// A copy of the folder once the log has such a record.
    async fn crashed(&self, is_it: impl Fn(&Value) -> bool) -> Self {
        until("the log says so", async || self.has(&is_it).then_some(())).await;
        let copy = Self::new();
        let file = copy.0.path().join(maintenance::FILE);
        maintenance::backup(self.0.path(), &file).expect("it is copied");
        copy
    }
}

/// A message leased to an instance, at this attempt.
fn is_out(instance: &str, attempts: u32) -> impl Fn(&Value) -> bool {
    move |record| {
        let tries = record["tries"].as_array();
        tries
            .into_iter()
            .flatten()
            .any(|t| t["instance"] == instance && t["attempts"] == attempts && t["isOut"] == true)
    }
}

const LONG: Duration = Duration::from_secs(30);

/// promise 5
#[tokio::test]
async fn a_message_on_which_hubs_crash_is_given_up_after_five_tries() {
    let mut data = Data::new();
    let hub = data.hub(LONG).await;
    hub.connect(agent("worker", "i", 0)).await;
    hub.publish(work("t", "poison"), routing("asker", "worker"))
        .await;
    hub.server.shutdown().await;
    for attempt in 1..=5 {
        let hub = data.hub(LONG).await;
        let mut worker = hub.connect(agent("worker", "i", 9)).await;
        let (note, _) = message(&mut worker).await;
        assert_eq!(note.attempt, attempt);
        data = data.crashed(is_out("i", attempt)).await;
    }
    let hub = data.hub(LONG).await;
    let mut worker = hub.connect(agent("worker", "i", 9)).await;
    let task = hub.until_state("t", TaskState::Failed).await;
    let said = task.status.and_then(|s| s.update).expect("a reason");
    assert!(said.text().contains("5 deliveries"), "{}", said.text());
    let words = worker.words_so_far().await;
    assert!(!words.iter().any(|w| w.contains("poison")), "{words:?}");
}

/// promise 5
#[tokio::test]
async fn a_result_under_a_superseded_lease_is_refused_after_a_crash_too() {
    let data = Data::new();
    let hub = data.hub(Duration::from_millis(300)).await;
    let mut slow = hub.connect(agent("worker", "slow", 2)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    let (old, _) = message(&mut slow).await;
    let mut quick = hub.connect(agent("worker", "quick", 99)).await;
    let (note, _) = slow.beat_while(message(&mut quick)).await;
    let crashed = data.crashed(is_out("quick", note.attempt)).await;

    let hub = crashed.hub(LONG).await;
    let mut slow = hub.reconnect(agent("worker", "slow", 9), &[&old]).await;
    let refused = slow.report("t", TaskState::Completed).await;
    assert_eq!(refused.code, i32::from(Code::Aborted));
    assert!(refused.error.contains("superseded"), "{}", refused.error);
    slow.acknowledge(&old).await;
    let words = slow.words_so_far().await;
    assert!(!words.iter().any(|w| w.contains("go")), "{words:?}");
    let mut quick = hub.reconnect(agent("worker", "quick", 9), &[&note]).await;
    let accepted = quick.report("t", TaskState::Completed).await;
    assert_eq!(accepted.code, 0, "{}", accepted.error);
}

/// promise 5
#[tokio::test]
async fn what_was_out_at_a_crash_waits_for_its_instance() {
    let data = Data::new();
    let hub = data.hub(LONG).await;
    let mut first = hub.connect(agent("worker", "first", 9)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    let (note, _) = message(&mut first).await;
    let crashed = data.crashed(is_out("first", 1)).await;

    let hub = crashed.hub(LONG).await;
    let mut second = hub.connect(agent("worker", "second", 9)).await;
    let words = second.words_so_far().await;
    assert!(!words.iter().any(|w| w.contains("go")), "{words:?}");
    let mut first = hub.reconnect(agent("worker", "first", 9), &[&note]).await;
    let accepted = first.report("t", TaskState::Completed).await;
    assert_eq!(accepted.code, 0, "{}", accepted.error);
}
