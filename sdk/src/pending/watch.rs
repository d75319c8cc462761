//! Asks the hub for delegated tasks whose outcome may have been missed: after a reconnect, and when a deadline has passed.

use std::sync::Arc;

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::Table;
use crate::{Connection, Error, client::Calls};

/// The messages that may hold the outcome of a task whose agent reports no states.
const HISTORY: i32 = 8;

/// Runs until `closed`. Then whoever still waits gets [`Error::Closed`].
pub(crate) async fn run(
    table: Arc<Table>,
    calls: Calls,
    mut connection: watch::Receiver<Connection>,
    closed: CancellationToken,
) {
    let watching = watch(&table, &calls, &mut connection);
    closed.run_until_cancelled(watching).await;
    let reason = match &*connection.borrow() {
        Connection::Closed { reason } => reason.clone(),
        _ => "the client was closed".to_owned(),
    };
    table.fail_all(&Error::Closed(reason));
}

async fn watch(table: &Table, calls: &Calls, connection: &mut watch::Receiver<Connection>) {
    loop {
        let overdue = async {
            match table.next_check() {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = connection.changed() => {
                let now = connection.borrow_and_update().clone();
                match now {
                    _ if changed.is_err() => return,
                    Connection::Connected { .. } => check(table, calls, table.accepted(), false).await,
                    Connection::Reconnecting { .. } => {}
                    Connection::Closed { .. } => return,
                }
            }
            () = table.doubted.notified() => check(table, calls, table.accepted(), false).await,
            // Its deadline may be the next one.
            () = table.added.notified() => {}
            () = overdue => check(table, calls, table.overdue(Instant::now()), true).await,
        }
    }
}

async fn check(table: &Table, calls: &Calls, task_ids: Vec<String>, is_overdue: bool) {
    for task_id in task_ids {
        match calls.task(&task_id, HISTORY).await {
            Ok(task) if table.settle(&task) => {}
            Ok(_) if is_overdue => {
                let reason = "its deadline has passed";
                if let Err(error) = calls.cancel_task(&task_id, reason).await {
                    tracing::debug!(task_id, %error, "an overdue task was not cancelled");
                }
                table.fail(
                    &task_id,
                    Error::DeadlineExceeded {
                        task_id: task_id.clone(),
                    },
                );
            }
            Err(Error::NotFound(_)) => {
                tracing::warn!(
                    task_id,
                    "the hub restarted and no longer knows a task that was asked for"
                );
                table.fail(
                    &task_id,
                    Error::Lost {
                        task_id: task_id.clone(),
                    },
                );
            }
            Err(error) if is_overdue => table.fail(&task_id, error),
            Ok(_) | Err(_) => {}
        }
    }
}
