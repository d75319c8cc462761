//! Checks that work in hand is still wanted, after the connection was away.

use std::{sync::Arc, time::Duration};

use agenthub_proto::a2a::Task;
use futures_util::{StreamExt, stream};
use tokio::time::sleep;

use super::InFlight;
use crate::{Client, Connection, Error};

/// The tasks that the hub is asked for at the same time.
const AT_ONCE: usize = 16;

/// Pause before the hub is asked again that did not answer; twice as long each time.
const PAUSE: Duration = Duration::from_millis(500);

/// The longest of those pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// A cancellation that was told while the connection was away, was told to nobody: whenever it comes back, the hub is asked for every
/// task in hand, until it answers, and what has ended is stopped. Runs until the connection is closed.
pub(super) async fn watch(client: Client, in_flight: Arc<InFlight>) {
    let mut connection = client.connection();
    while connection.changed().await.is_ok() {
        let now = connection.borrow_and_update().clone();
        match now {
            Connection::Connected { .. } => {
                stream::iter(in_flight.tasks())
                    .for_each_concurrent(AT_ONCE, |task| check(&client, &in_flight, task))
                    .await;
            }
            Connection::Reconnecting { .. } => {}
            Connection::Closed { .. } => return,
        }
    }
}

async fn check(client: &Client, in_flight: &InFlight, task_id: String) {
    stop_if_over(|| client.task(&task_id, -1), in_flight, &task_id).await;
}

/// Asks for a task until its state is known or it is no longer in hand.
async fn stop_if_over<F>(ask: impl Fn() -> F, in_flight: &InFlight, task_id: &str)
where
    F: Future<Output = Result<Task, Error>>,
{
    let mut pause = PAUSE;
    while in_flight.has(task_id) {
        match ask().await {
            Ok(task) if task.state().is_terminal() => {
                let reason = format!("the task is {}", task.state().label());
                return in_flight.cancel(task_id, &reason);
            }
            Ok(_) => return,
            Err(error) if error.is_retryable() => {
                tracing::debug!(task_id, %error, "not known yet whether it is still wanted");
            }
            // It is told when its result is not taken, at the latest.
            Err(error) => {
                tracing::debug!(task_id, %error, "not known whether it is still wanted");
                return;
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use agenthub_proto::a2a::{TaskState, TaskStatus};
    use tokio::time::{Instant, timeout};

    use super::*;

    fn is(state: TaskState) -> Result<Task, Error> {
        let status = TaskStatus {
            state: state.into(),
            ..Default::default()
        };
        Ok(Task {
            status: Some(status),
            ..Default::default()
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_hub_that_does_not_answer_is_asked_until_it_does() {
        for (state, is_stopped) in [(TaskState::Cancelled, true), (TaskState::Working, false)] {
            let in_flight = Arc::new(InFlight::default());
            let guard = InFlight::take(&in_flight, "t");
            let asked = AtomicUsize::new(0);
            let ask = || {
                std::future::ready(match asked.fetch_add(1, Ordering::SeqCst) {
                    0..8 => Err(Error::Unavailable("away".to_owned())),
                    _ => is(state),
                })
            };
            let began = Instant::now();
            stop_if_over(ask, &in_flight, "t").await;
            assert_eq!(guard.signal.token.is_cancelled(), is_stopped);
            assert_eq!(asked.load(Ordering::SeqCst), 9);
            assert_eq!(began.elapsed(), Duration::from_millis(39_500));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_asked_for_what_is_no_longer_in_hand() {
        let in_flight = Arc::new(InFlight::default());
        let guard = InFlight::take(&in_flight, "t");
        let ask = || std::future::ready(Err(Error::Unavailable("away".to_owned())));
        let asking = stop_if_over(ask, &in_flight, "t");
        tokio::pin!(asking);
        let early = timeout(Duration::from_secs(60), &mut asking).await;
        assert!(early.is_err());
        drop(guard);
        let ended = timeout(LONGEST_PAUSE, asking).await;
        assert!(ended.is_ok());
    }
}
