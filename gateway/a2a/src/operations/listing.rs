//! Listings of an agent's tasks.

use agenthub_access::{Action, decide};
use agenthub_sdk::{Error as HubError, proto::agenthub};

use super::{Call, Operations, history, keep_latest};
use crate::{
    convert::task_from_hub,
    error::{Error, UNKNOWN_TOKEN},
    rights::may_see,
    v1::{self, ListTasksRequest, ListTasksResponse, Task},
};

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
        let status = request.status;
        if v1::TaskState::try_from(status).is_err() {
            let fault = format!("status is {status}, which is no state of a task");
            return Err(Error::field("status", fault));
        }
        let sees_all = decide(&call.caller, &Action::SeeTask { is_own: false }).is_ok();
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
            count: true,
            by_status: true,
            status_since: request.status_timestamp_after,
            on_behalf_of: match sees_all {
                true => String::new(),
                false => call.caller.principal.clone(),
            },
            ..agenthub::ListTasksRequest::default()
        };
        let found = self.hub.client()?.tasks(query).await;
        let found = found.map_err(|error| match error {
            HubError::Invalid(_) => Error::field("pageToken", UNKNOWN_TOKEN),
            error => error.into(),
        })?;
        let mut seen = found.tasks;
        seen.retain(|task| may_see(&call.caller, task));
        let mut tasks: Vec<Task> = seen.into_iter().map(task_from_hub).collect();
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
