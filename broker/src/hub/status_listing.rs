//! Listings of an agent's tasks by the time of their status, for A2A.

use agenthub_proto::{
    a2a::TaskState,
    agenthub::{ListTasksRequest, ListTasksResponse},
};

use super::{
    Hub,
    task_calls::{PAGES, given, page_limit, unknown_token},
};
use crate::{
    Error,
    filter::known,
    id::AgentId,
    tasks::{Nanos, Place, StatusQuery},
};

impl Hub {
    /// A page of the tasks that an agent has, latest status first.
    pub(super) async fn list_by_status(
        &self,
        request: &ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        if request.agent_id.is_empty() || !request.assigned {
            return Err(Error::InvalidArgument(
                "by_status lists the tasks of one assignee: give agent_id, and assigned".to_owned(),
            ));
        }
        let token = given(&request.page_token);
        let before = token
            .map(|token| Place::of_token(&token).ok_or_else(|| unknown_token(&token)))
            .transpose()?;
        let mut query = StatusQuery {
            agent: AgentId::from(request.agent_id.as_str()),
            context: given(&request.context_id),
            states: known(&request.states, "states", |n| TaskState::try_from(n).ok())?,
            since: request.status_since.map(Nanos::of),
            before,
            limit: page_limit(request.page_size)?,
        };
        let total_size = match request.count {
            true => self.count_by_status(query.clone()).await,
            false => 0,
        };
        let mut contents = Vec::new();
        for _ in 0..PAGES {
            let page = self.core().state.tasks.list_by_status(&query);
            // Returns what was found before it exceeds one answer.
            let is_enough = page.is_full || !page.tasks.is_empty() && page.next.is_some();
            query.before = page.next;
            contents.extend(page.tasks);
            if is_enough || page.next.is_none() {
                break;
            }
            tokio::task::yield_now().await;
        }
        Ok(ListTasksResponse {
            tasks: self.read(contents).await?,
            next_page_token: query.before.map(Place::token).unwrap_or_default(),
            total_size,
        })
    }

    /// The number of tasks of all pages, as far as the bound on visited tasks goes. Others have their turn between two
    /// portions.
    async fn count_by_status(&self, mut query: StatusQuery) -> u32 {
        query.before = None;
        let mut total = 0;
        for _ in 0..PAGES {
            let (count, next) = self.core().state.tasks.count_by_status(&query);
            total += count;
            if next.is_none() {
                break;
            }
            query.before = next;
            tokio::task::yield_now().await;
        }
        total
    }
}
