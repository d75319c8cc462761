//! Asks the hub for delegated tasks whose outcome may have been missed: after a reconnect, and when a deadline has passed.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::Table;
use crate::{Connection, Error, client::Calls};

/// The messages that may hold the outcome of a task whose agent reports no states.
pub(crate) const HISTORY: i32 = 8;

/// The tasks that the hub is asked for at the same time.
const AT_ONCE: usize = 16;

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

/// Asks for all of them, some at a time.
async fn check(table: &Table, calls: &Calls, task_ids: Vec<String>, is_overdue: bool) {
    stream::iter(task_ids)
        .for_each_concurrent(AT_ONCE, |task_id| async move {
            check_one(table, calls, &task_id, is_overdue).await;
        })
        .await;
}

async fn check_one(table: &Table, calls: &Calls, task_id: &str, is_overdue: bool) {
    match calls.task(task_id, HISTORY).await {
        Ok(task) if table.settle(&task) => {}
        Ok(_) if is_overdue => {
            let reason = "its deadline has passed";
            if let Err(error) = calls.cancel_task(task_id, reason).await {
                tracing::debug!(task_id, %error, "an overdue task was not cancelled");
            }
            let late = Error::DeadlineExceeded {
                task_id: task_id.to_owned(),
            };
            table.fail(task_id, late);
        }
        Err(Error::NotFound(_)) => {
            tracing::warn!(
                task_id,
                "the hub restarted and no longer knows a task that was asked for"
            );
            let lost = Error::Lost {
                task_id: task_id.to_owned(),
            };
            table.fail(task_id, lost);
        }
        Err(error) if is_overdue => table.fail(task_id, error),
        Ok(_) | Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Client, Outcome, pending::Before};
    use std::time::Duration;
    use tokio::net::TcpListener;
    use tonic::transport::Endpoint;

    #[tokio::test(start_paused = true)]
    async fn many_overdue_tasks_do_not_wait_for_each_other() {
        let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = silent.local_addr().expect("it is bound");
        let hub = Endpoint::from_shared(format!("http://{address}")).expect("an address");
        let calls = Calls::new(hub.connect_lazy().into());
        let table = Table::default();
        let task_ids: Vec<String> = (0..2 * AT_ONCE).map(|n| n.to_string()).collect();
        let ends: Vec<_> = task_ids
            .iter()
            .map(|id| {
                table
                    .add(id, "", Duration::ZERO, Before::Nothing)
                    .expect("a new task")
            })
            .collect();

        let begun = Instant::now();
        check(&table, &calls, task_ids, true).await;
        let limit = 2 * Client::CALL_DEADLINE + Duration::from_secs(1);
        assert!(begun.elapsed() < limit, "{:?}", begun.elapsed());
        for end in ends {
            let outcome: Result<Outcome, Error> = end.outcome.await.expect("it is told");
            assert_eq!(outcome, Err(Error::Timeout(Client::CALL_DEADLINE)));
        }
    }
}
