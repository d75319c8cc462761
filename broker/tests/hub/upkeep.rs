//! Upkeep of the log by the hub.

use std::path::Path;

use agenthub_broker::{
    Settings, Storage,
    maintenance::{self, Report},
};

use crate::{
    harness::{TestHub, routing, until, user},
    peer::agent,
};

fn settings(folder: &Path) -> Settings {
    Settings {
        storage: Storage::Folder(folder.to_owned()),
        ..Settings::default()
    }
}

/// Handled events of an agent, of this many bytes each.
async fn handled(hub: &TestHub, events: usize, bytes: usize) {
    let mut worker = hub.connect(agent("worker", "i", 9999)).await;
    for _ in 0..events {
        // Random, because the log compresses.
        let letters = std::iter::repeat_with(fastrand::alphanumeric);
        let text: String = letters.take(bytes).collect();
        hub.publish(user(&text), routing("asker", "worker")).await;
        let (note, _) = worker.delivery().await;
        worker.acknowledge(&note).await;
    }
    worker.settle().await;
}

fn report(folder: &Path) -> Report {
    maintenance::verify(folder).expect("it is sound")
}

/// promise 12
#[tokio::test]
async fn a_hub_that_ends_leaves_a_snapshot_of_what_is_worth_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        log_snapshot: 1000,
        ..settings(folder.path())
    };
    let hub = TestHub::with(settings.clone()).await;
    handled(&hub, 20, 1).await;
    hub.server.shutdown().await;
    assert_eq!(report(folder.path()).snapshot, None, "little is read soon");

    let hub = TestHub::with(settings).await;
    handled(&hub, 60, 1).await;
    hub.server.shutdown().await;
    let report = report(folder.path());
    let behind = report.last - report.snapshot.expect("it was worth it");
    assert!(behind < 10, "{report:?}");
}

/// promise 10
#[tokio::test]
async fn a_log_that_is_too_large_is_made_shorter_also_by_a_hub_that_runs_briefly() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = TestHub::with(settings(folder.path())).await;
    handled(&hub, 40, 100_000).await;
    hub.server.shutdown().await;
    let before = report(folder.path());
    assert_eq!(before.first, 1);

    let small = Settings {
        log_disk_bytes: 1024 * 1024,
        ..settings(folder.path())
    };
    let hub = TestHub::with(small).await;
    let after = until("the log is shorter", async || {
        let report = report(folder.path());
        (report.first > 1).then_some(report)
    })
    .await;
    assert!(after.bytes < before.bytes, "{after:?}");
    hub.server.shutdown().await;
}
