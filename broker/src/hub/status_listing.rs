//! Listings of an agent's tasks by the time of their status, for A2A.

use agenthub_proto::{
    a2a::TaskState,
    agenthub::{ListTasksRequest, ListTasksResponse},
};

use super::{
    Hub,
    portions::PORTIONS,
    task_calls::{given, page_limit, unknown_token},
};
use crate::{
    Error,
    filter::known,
    id::AgentId,
    tasks::{Nanos, Place, StatusQuery, Tasks},
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
        if !request.extents.is_empty() {
            return Err(Error::InvalidArgument(
                "by_status lists tasks of all extents: leave out extents, or by_status".to_owned(),
            ));
        }
        let token = given(&request.page_token);
        let before = token
            .map(|token| Place::of_token(&token).ok_or_else(|| unknown_token(&token)))
            .transpose()?;
        let mut query = StatusQuery {
            agent: AgentId::from(request.agent_id.as_str()),
            context: given(&request.context_id),
            initiator: given(&request.on_behalf_of),
            states: known(&request.states, "states", |n| TaskState::try_from(n).ok())?,
            since: request.status_since.map(Nanos::of),
            before,
            limit: page_limit(request.page_size)?,
        };
        let total_size = match request.count {
            true => {
                let mut query = query.clone();
                let count = |tasks: &Tasks, before| {
                    query.before = before;
                    tasks.count_by_status(&query)
                };
                self.total(PORTIONS, count).await
            }
            false => 0,
        };
        let list = |tasks: &Tasks, before| {
            query.before = before;
            tasks.list_by_status(&query)
        };
        let (contents, next) = self.page(before, list).await;
        Ok(ListTasksResponse {
            tasks: self.read(contents).await?,
            next_page_token: next.map(Place::token).unwrap_or_default(),
            total_size,
        })
    }
}
