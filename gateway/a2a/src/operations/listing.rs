//! Listings of an agent's tasks.

use std::cmp::Reverse;

use agenthub_sdk::{
    Client, Error as HubError,
    proto::{a2a, agenthub},
};
use prost_types::Timestamp;

use super::{Call, Operations, history, keep_latest};
use crate::{
    convert::task_from_hub,
    error::Error,
    v1::{self, ListTasksRequest, ListTasksResponse, Task},
};

/// Pages that are looked through for a listing by time.
const PAGES: usize = 20;

/// Seconds after its end in which a task may change: the hub takes late artifacts for 5 s, and the rest is for clocks that differ.
const LATE_S: i64 = 60;

impl Operations {
    /// §3.1.4
    pub(crate) async fn list_tasks(
        &self,
        call: &Call,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        let agent = self.agent(call, &request.tenant).await?;
        history(request.history_length)?;
        let page_size = match request.page_size {
            None => 50,
            Some(n @ 1..=100) => n,
            Some(n) => {
                let fault = format!("pageSize is {n}; it is from 1 to 100");
                return Err(Error::field("pageSize", fault));
            }
        };
        let query = agenthub::ListTasksRequest {
            agent_id: agent.id,
            context_id: request.context_id.clone(),
            states: match request.status() {
                v1::TaskState::Unspecified => Vec::new(),
                // The states of both have the same numbers.
                state => vec![state as i32],
            },
            page_size,
            page_token: request.page_token.clone(),
            assigned: true,
            count: request.status_timestamp_after.is_none(),
        };
        let client = self.hub.client()?;
        let found = match request.status_timestamp_after {
            None => list(client, query).await?,
            Some(after) => list_after(client, query, after).await?,
        };
        let mut tasks: Vec<Task> = found.tasks.into_iter().map(task_from_hub).collect();
        // The hub has them by their last change, which may be an artifact.
        tasks.sort_by_key(|task| Reverse(changed(task)));
        for task in &mut tasks {
            keep_latest(&mut task.history, request.history_length);
            if !request.include_artifacts() {
                task.artifacts.clear();
            }
        }
        Ok(ListTasksResponse {
            tasks,
            next_page_token: found.next_page_token,
            page_size,
            total_size: i32::try_from(found.total_size).unwrap_or(i32::MAX),
        })
    }
}

/// Time of a task's status.
fn changed(task: &Task) -> Option<(i64, i32)> {
    let at = task.status.as_ref()?.timestamp.as_ref()?;
    Some((at.seconds, at.nanos))
}

async fn list(
    client: &Client,
    query: agenthub::ListTasksRequest,
) -> Result<agenthub::ListTasksResponse, Error> {
    client.tasks(query).await.map_err(|error| match error {
        HubError::Invalid(why) => Error::field("pageToken", why),
        error => error.into(),
    })
}

/// A page of the tasks whose status is later than a time, and their number as far as so many pages go.
async fn list_after(
    client: &Client,
    mut query: agenthub::ListTasksRequest,
    after: Timestamp,
) -> Result<agenthub::ListTasksResponse, Error> {
    let mut page = list(client, query.clone()).await?;
    if later(&mut page.tasks, &after) {
        page.next_page_token.clear();
    }
    let mut total = page.tasks.len();
    query.page_token.clone_from(&page.next_page_token);
    for _ in 0..PAGES {
        if query.page_token.is_empty() {
            break;
        }
        let mut further = list(client, query.clone()).await?;
        let is_last = later(&mut further.tasks, &after);
        total += further.tasks.len();
        if is_last {
            break;
        }
        query.page_token = further.next_page_token;
    }
    page.total_size = u32::try_from(total).unwrap_or(u32::MAX);
    Ok(page)
}

/// Keeps the tasks whose status is later than a time. `true` says that none follows on further pages: these are by last change, which may be
/// an artifact or a message long after the status, but not of a task that has ended.
fn later(tasks: &mut Vec<a2a::Task>, after: &Timestamp) -> bool {
    let status_at = |task: &a2a::Task| {
        let at = task.status.as_ref()?.timestamp.as_ref()?;
        Some((at.seconds, at.nanos))
    };
    let is_last = tasks.iter().any(|task| {
        let at = status_at(task);
        task.state().is_terminal()
            && at
                .is_some_and(|(s, n)| (s.saturating_add(LATE_S), n) <= (after.seconds, after.nanos))
    });
    tasks.retain(|task| status_at(task) > Some((after.seconds, after.nanos)));
    is_last
}

#[cfg(test)]
mod tests {
    use a2a::TaskState::{Completed, Working};

    use super::*;

    fn task(state: a2a::TaskState, at_s: i64) -> a2a::Task {
        let status = a2a::TaskStatus {
            state: state.into(),
            timestamp: Some(Timestamp {
                seconds: at_s,
                nanos: 0,
            }),
            ..Default::default()
        };
        a2a::Task {
            status: Some(status),
            ..Default::default()
        }
    }

    /// spec: A2A 1.0.1 §3.1.4
    #[test]
    fn a_task_that_changed_after_its_status_does_not_hide_those_behind_it() {
        let check = |tasks: &[(a2a::TaskState, i64)], kept: &[i64], is_last| {
            let mut tasks: Vec<_> = tasks.iter().map(|(state, at)| task(*state, *at)).collect();
            let after = Timestamp {
                seconds: 1_000,
                nanos: 0,
            };
            assert_eq!(later(&mut tasks, &after), is_last);
            let left: Vec<i64> = tasks
                .iter()
                .filter_map(|task| Some(task.status.as_ref()?.timestamp.as_ref()?.seconds))
                .collect();
            assert_eq!(left, kept);
        };
        check(&[(Working, 10), (Completed, 1_001)], &[1_001], false);
        check(&[(Completed, 999)], &[], false);
        check(&[(Working, 1_000)], &[], false);
        check(
            &[(Completed, 2_000), (Completed, 1_000 - LATE_S)],
            &[2_000],
            true,
        );
        check(&[], &[], false);
    }
}
