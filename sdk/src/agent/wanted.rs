//! Whether what is in hand is still wanted, after the connection was away.

use std::sync::Arc;

use futures_util::{StreamExt, stream};

use super::InFlight;
use crate::{Client, Connection};

/// The tasks that the hub is asked for at the same time.
const AT_ONCE: usize = 16;

/// A cancellation that was told while the connection was away, was told to nobody: whenever it comes back, the hub is asked for every
/// task in hand, and what has ended is stopped. Runs until the connection is closed.
pub(super) async fn watch(client: Client, in_flight: Arc<InFlight>) {
    let mut connection = client.connection();
    while connection.changed().await.is_ok() {
        let now = connection.borrow_and_update().clone();
        match now {
            Connection::Connected { .. } => {
                stream::iter(in_flight.tasks())
                    .for_each_concurrent(AT_ONCE, |task| stop_if_over(&client, &in_flight, task))
                    .await;
            }
            Connection::Reconnecting { .. } => {}
            Connection::Closed { .. } => return,
        }
    }
}

async fn stop_if_over(client: &Client, in_flight: &InFlight, task_id: String) {
    match client.task(&task_id, -1).await {
        Ok(task) if task.state().is_terminal() => {
            let reason = format!("the task is {}", task.state().label());
            in_flight.cancel(&task_id, &reason);
        }
        Ok(_) => {}
        // It is told when its result is not taken, at the latest.
        Err(error) => tracing::debug!(task_id, %error, "not known whether it is still wanted"),
    }
}
