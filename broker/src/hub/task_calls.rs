//! Calls that query tasks.

use std::collections::HashMap;

use agenthub_proto::{
    a2a::{Task, TaskState},
    agenthub::{ListTasksRequest, ListTasksResponse, TaskExtent},
};

use super::{Hub, cancelling::Stopped, core::Now};
use crate::{
    Caller, Error,
    access::{Call, decide},
    filter::known,
    id::{AgentId, TaskId},
    limits,
    snapshot::ended,
    tasks::{Content, Query, Tasks, shown, with_history},
};

/// A task that was asked for.
struct Found {
    task: Task,
    /// Position as of which it is so.
    as_of: String,
    /// All of it is durable.
    is_durable: bool,
}

impl Hub {
    /// A task, and the position as of which it is so. Waits until what it answers is durable, see [`settled`](Self::settled).
    pub(crate) async fn task(
        &self,
        caller: &Caller,
        id: &str,
        history: i32,
    ) -> Result<(Task, String), Error> {
        let found = self.found(caller, id, history).await;
        if !found.as_ref().is_ok_and(|found| found.is_durable) {
            self.settled().await;
        }
        found.map(|found| (found.task, found.as_of))
    }

    async fn found(&self, caller: &Caller, id: &str, history: i32) -> Result<Found, Error> {
        decide(Call::GetTask, caller, "")?;
        limits::required("task_id", id)?;
        let (content, as_of, is_durable) = {
            let core = self.core();
            let known = core.visible(caller, id).ok_or_else(task_not_found)?;
            // Its last change is durable, and so is what became of it by then: later records of others need not be.
            let safe = core.safe();
            let is_durable = known.changed_at().is_some_and(|at| at <= safe);
            let as_of = match is_durable {
                true => safe,
                false => core.last(),
            };
            (known.content(), core.log.id().token(as_of), is_durable)
        };
        let mut found = self.read(vec![content]).await?;
        // A task may have been removed meanwhile.
        let task = found.pop().filter(|task| task.id == id);
        Ok(Found {
            task: with_history(task.ok_or_else(task_not_found)?, history),
            as_of,
            is_durable,
        })
    }

    fn content(&self, id: &str) -> Result<Content, Error> {
        let core = self.core();
        let known = core.state.tasks.get(id).ok_or_else(task_not_found)?;
        Ok(known.content())
    }

    /// The tasks of these contents, in order, decoded or read from the log. Missing ones are left out.
    pub(super) async fn read(&self, contents: Vec<Content>) -> Result<Vec<Task>, Error> {
        let found: Vec<Result<Task, u64>> = contents.into_iter().map(Content::task).collect();
        let stored: Vec<u64> = found
            .iter()
            .filter_map(|f| f.as_ref().err().copied())
            .collect();
        let mut read = match stored.is_empty() {
            true => HashMap::new(),
            false => self.read_stored(stored).await?,
        };
        let found = found.into_iter();
        Ok(found
            .filter_map(|f| f.map_or_else(|changed| read.remove(&changed), Some))
            .map(shown)
            .collect())
    }

    /// Ended tasks that are stored apart from their events, by the numbers of their last changes.
    async fn read_stored(&self, changes: Vec<u64>) -> Result<HashMap<u64, Task>, Error> {
        let history = self.core().log.history();
        let reading = move || {
            let mut found = HashMap::new();
            for segment in history.ended(&changes)? {
                let contents = ended::contents(&segment, &changes).map_err(Error::Unavailable)?;
                found.extend(contents);
            }
            Ok(found)
        };
        let read = self.shared.tasks.spawn_blocking(reading).await;
        read.unwrap_or_else(|error| {
            tracing::error!(%error, "reading ended tasks has failed");
            Err(Error::Unavailable(
                "the hub's log cannot be read".to_owned(),
            ))
        })
    }

    /// Cancels a task, and returns it once it has ended.
    pub(crate) async fn cancel_task(
        &self,
        caller: &Caller,
        id: &str,
        reason: &str,
    ) -> Result<Task, Error> {
        if let Some(stopped) = self.begin_to_cancel(caller, id, reason)? {
            // Notified by being dropped.
            let _ = stopped.await;
        }
        self.synced().await?;
        let mut found = self.read(vec![self.content(id)?]).await?;
        found.pop().ok_or_else(task_not_found)
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
        let entry = core.visible(caller, id).ok_or_else(task_not_found)?;
        core.may_cancel(caller, entry)?;
        if entry.is_terminal() {
            return Err(Error::FailedPrecondition(format!(
                "the task has ended ({}): it cannot be cancelled",
                entry.state().label()
            )));
        }
        let reason = if reason.is_empty() {
            "cancelled"
        } else {
            reason
        };
        Ok(core.cancel(&TaskId::from(id), reason, Now::read()))
    }

    pub(crate) async fn list_tasks(
        &self,
        caller: &Caller,
        request: &ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        decide(Call::ListTasks, caller, "")?;
        let sees_all = self.sees_all(caller, request)?;
        if !sees_all && (request.by_status || request.count) {
            return Err(Error::PermissionDenied(format!(
                "\"{}\" may count, and list by status, only tasks of an agent that it may be, and those on its own behalf: give agent_id or on_behalf_of; others need see:all-tasks",
                caller.principal
            )));
        }
        if request.by_status {
            return self.list_by_status(request).await;
        }
        let before = given(&request.page_token)
            .map(|token| u64::from_str_radix(&token, 16).map_err(|_| unknown_token(&token)))
            .transpose()?;
        let own = match sees_all {
            true => None,
            false => self.core().own(caller),
        };
        let mut query = Query {
            agent: given(&request.agent_id).map(AgentId::from),
            assigned: request.assigned,
            context: given(&request.context_id),
            initiator: given(&request.on_behalf_of),
            own,
            states: known(&request.states, "states", |n| TaskState::try_from(n).ok())?,
            extents: known(&request.extents, "extents", |n| {
                TaskExtent::try_from(n)
                    .ok()
                    .filter(|extent| *extent != TaskExtent::Unspecified)
            })?,
            before,
            limit: page_limit(request.page_size)?,
        };
        let total_size = match request.count {
            true => {
                let mut query = query.clone();
                let count = |tasks: &Tasks, before| {
                    query.before = before;
                    tasks.count(&query)
                };
                self.total(usize::MAX, count).await
            }
            false => 0,
        };
        let list = |tasks: &Tasks, before| {
            query.before = before;
            tasks.list(&query)
        };
        let (contents, next) = self.page(before, list).await;
        let mut tasks = self.read(contents).await?;
        if !sees_all {
            let core = self.core();
            tasks.retain(|task| core.visible(caller, &task.id).is_some());
        }
        Ok(ListTasksResponse {
            tasks,
            next_page_token: next.map(|n| format!("{n:x}")).unwrap_or_default(),
            total_size,
        })
    }
}

/// A filter, if it is given.
pub(super) fn given(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// Tasks on a page.
///
/// # Errors
///
/// The number is negative.
pub(super) fn page_limit(size: i32) -> Result<usize, Error> {
    match size {
        0 => Ok(50),
        n => usize::try_from(n).map(|n| n.min(100)).map_err(|_| {
            Error::InvalidArgument(format!("page_size is {n}; 1 to 100, or 0 for 50"))
        }),
    }
}

pub(super) fn unknown_token(token: &str) -> Error {
    Error::InvalidArgument(format!(
        "page_token \"{token}\" is none; use next_page_token of the page before"
    ))
}

fn task_not_found() -> Error {
    Error::NotFound("task not found".to_owned())
}
