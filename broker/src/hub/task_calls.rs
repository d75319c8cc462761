//! The calls that ask about tasks.

use agenthub_proto::{
    a2a::{Task, TaskState},
    agenthub::{ListTasksRequest, ListTasksResponse},
};

use super::{Hub, cancelling::Stopped, core::Now};
use crate::{
    Error,
    access::{Call, decide},
    caller::Caller,
    filter::known,
    id::{AgentId, TaskId},
    limits,
    tasks::Query,
};

impl Hub {
    pub(crate) fn task(&self, caller: &Caller, id: &str, history: i32) -> Result<Task, Error> {
        decide(Call::GetTask, caller, "")?;
        limits::required("task_id", id)?;
        let core = self.core();
        let entry = core.state.tasks.get(id).ok_or_else(task_not_found)?;
        Ok(entry.with_history(history))
    }

    /// Cancels a task, and returns what it has come to once it has ended.
    pub(crate) async fn cancel_task(
        &self,
        caller: &Caller,
        id: &str,
        reason: &str,
    ) -> Result<Task, Error> {
        if let Some(stopped) = self.begin_to_cancel(caller, id, reason)? {
            // It is told by being dropped.
            let _ = stopped.await;
        }
        self.synced().await?;
        let core = self.core();
        let entry = core.state.tasks.get(id).ok_or_else(task_not_found)?;
        Ok(entry.with_history(0))
    }

    fn begin_to_cancel(
        &self,
        caller: &Caller,
        id: &str,
        reason: &str,
    ) -> Result<Option<Stopped>, Error> {
        decide(Call::CancelTask, caller, "")?;
        limits::required("task_id", id)?;
        limits::size("reason", reason.len())?;
        let mut core = self.core();
        let entry = core.state.tasks.get(id).ok_or_else(task_not_found)?;
        if entry.is_terminal() {
            return Err(Error::FailedPrecondition(format!(
                "the task has ended ({}): it cannot be cancelled",
                entry.task().state().label()
            )));
        }
        let reason = if reason.is_empty() {
            "cancelled"
        } else {
            reason
        };
        Ok(core.cancel(&TaskId::from(id), reason, Now::read()))
    }

    pub(crate) fn list_tasks(
        &self,
        caller: &Caller,
        request: &ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        decide(Call::ListTasks, caller, "")?;
        let given = |text: &str| Some(text.to_owned()).filter(|t| !t.is_empty());
        let limit = match request.page_size {
            0 => 50,
            n => usize::try_from(n)
                .map_err(|_| {
                    Error::InvalidArgument(format!("page_size is {n}; 1 to 100, or 0 for 50"))
                })?
                .min(100),
        };
        let before = given(&request.page_token)
            .map(|token| {
                u64::from_str_radix(&token, 16).map_err(|_| {
                    Error::InvalidArgument(format!(
                        "page_token \"{token}\" is none; use next_page_token of the page before"
                    ))
                })
            })
            .transpose()?;
        let query = Query {
            agent: given(&request.agent_id).map(AgentId::from),
            context: given(&request.context_id),
            states: known(&request.states, "states", |n| TaskState::try_from(n).ok())?,
            before,
            limit,
        };
        let core = self.core();
        let (page, next) = core.state.tasks.list(&query);
        Ok(ListTasksResponse {
            tasks: page.into_iter().map(|e| e.with_history(0)).collect(),
            next_page_token: next.map(|n| format!("{n:x}")).unwrap_or_default(),
        })
    }
}

fn task_not_found() -> Error {
    Error::NotFound("task not found".to_owned())
}
