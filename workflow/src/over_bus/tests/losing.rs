//! Tasks and results that are lost.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use agenthub_bus::Message;
use agenthub_metrics::{Snapshot, Value};
use agenthub_sdk::runs::journal::{JournalDecorator, JournalError};
use async_trait::async_trait;

use super::*;

/// A bus that takes the first tasks and loses them.
#[derive(Debug)]
struct Losing {
    bus: HubBus,
    left: AtomicUsize,
    /// All tasks that it took.
    tasks: Arc<Mutex<Vec<Message>>>,
}

#[async_trait]
impl Bus for Losing {
    async fn publish(&self, topic: &str, messages: &[Message]) -> Result<(), BusError> {
        if topic == TASKS {
            self.tasks
                .lock()
                .expect("no panic")
                .extend_from_slice(messages);
            if counts_down(&self.left) {
                return Ok(());
            }
        }
        self.bus.publish(topic, messages).await
    }
}

/// True as many times as the number says.
fn counts_down(left: &AtomicUsize) -> bool {
    left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1))
        .is_ok()
}

/// A stage whose bus loses the first tasks, and all tasks that it took.
async fn losing(left: usize) -> (Stage, Arc<Mutex<Vec<Message>>>) {
    let tasks = Arc::<Mutex<Vec<Message>>>::default();
    let losing = |bus| Losing {
        bus,
        left: AtomicUsize::new(left),
        tasks: Arc::clone(&tasks),
    };
    let stage = Stage::with(|bus| Arc::new(losing(bus)), |journal| Arc::new(journal)).await;
    (stage, tasks)
}

/// Times that this process published a task again, by its metrics.
fn published_again() -> f64 {
    let mut metrics = Snapshot::default();
    topics::of_process().collect(&mut metrics);
    let of_name = metrics
        .series()
        .filter(|series| series.metric.name == "agenthub_topic_published_again_total");
    let points = of_name.flat_map(|series| &series.points);
    let values = points.map(|point| match point.value {
        Value::Number(times) => times,
        Value::Seen(_) => 0.0,
    });
    values.sum()
}

/// spec: EXE-3.1
#[tokio::test]
async fn a_task_that_is_lost_is_published_again_byte_for_byte() {
    let (mut stage, tasks) = losing(2).await;
    let counted_before = published_again();
    stage.route.overdue = Duration::from_millis(100);
    let executor = stage.executor().await;
    let step = json!({ "agent": "worker", "text": "write" });
    let pending = stage.run(step).await;
    let task = stage.task().await;
    stage.answers(&task, "r1", Ok("a poem")).await;
    assert_eq!(outcome(pending).await.text, "a poem");
    let tasks = tasks.lock().expect("no panic").clone();
    assert!(tasks.len() >= 3, "{tasks:?}");
    assert!(tasks.iter().all(|again| *again == tasks[0]), "{tasks:?}");
    assert!(published_again() > counted_before, "it is counted");
    stage.stop(executor).await;
}

/// Nobody answers at first, as if the result were lost: the task comes again to whoever has its result.
///
/// spec: EXE-3.2
#[tokio::test]
async fn a_task_without_a_result_is_published_until_it_has_one() {
    let (mut stage, tasks) = losing(0).await;
    stage.route.overdue = Duration::from_millis(50);
    let executor = stage.executor().await;
    let step = json!({ "agent": "worker", "text": "write" });
    let pending = stage.run(step).await;
    let task = stage.task().await;
    let count = || tasks.lock().expect("no panic").len();
    let often = async {
        while count() < 4 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, often)
        .await
        .expect("it is published again");
    stage.answers(&task, "r1", Ok("a poem")).await;
    assert_eq!(outcome(pending).await.text, "a poem");
    let published = count();
    // Longer than the next pause.
    sleep(Duration::from_secs(1)).await;
    assert_eq!(count(), published, "it has a result");
    stage.stop(executor).await;
}

/// A journal whose first writers of results break off.
#[derive(Debug)]
struct Breaking {
    journal: SqliteJournal,
    left: AtomicUsize,
}

#[async_trait]
impl JournalDecorator for Breaking {
    fn inner(&self) -> &dyn Journal {
        &self.journal
    }

    async fn take_in(&self, run: &RunId, task: &str, result: &str) -> Result<bool, JournalError> {
        assert!(!counts_down(&self.left), "it breaks off");
        self.journal.take_in(run, task, result).await
    }
}

/// spec: EXE-3.2
#[tokio::test]
async fn a_result_whose_writer_breaks_off_is_written_all_the_same() {
    let breaking = |journal| Breaking {
        journal,
        left: AtomicUsize::new(2),
    };
    let mut stage = Stage::with(|bus| Arc::new(bus), |journal| Arc::new(breaking(journal))).await;
    let executor = stage.executor().await;
    let step = json!({ "agent": "worker", "text": "write" });
    let pending = stage.run(step).await;
    let task = stage.task().await;
    stage.answers(&task, "r1", Ok("a poem")).await;
    assert_eq!(outcome(pending).await.text, "a poem");
    stage.stop(executor).await;
}
