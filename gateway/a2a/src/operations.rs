//! The eleven operations of A2A (specification §3.1), over the hub. The bindings only read requests and write answers.

mod listing;
mod push;
mod repeating;
mod sending;

use std::{pin::Pin, sync::Arc};

use agenthub_access::{Action, Caller, Decision, Meter, StreamPermit, audit::Witness, decide};
use agenthub_sdk::{
    Error as HubError,
    proto::{a2a, agenthub::agent_event::Payload},
};
use futures_util::{Stream, StreamExt};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    convert::task_from_hub,
    error::{Error, Kind},
    feed::Feed,
    hub::{Hub, Target},
    push::Push,
    replies::Replies,
    rights::{may_act, may_see},
    shared::Shared,
    story::{LAST_WORDS, LATE, Story, Until},
    v1::{CancelTaskRequest, GetTaskRequest, StreamResponse, SubscribeToTaskRequest, Task},
};

/// A stream of a task.
pub(crate) type Shows = Pin<Box<dyn Stream<Item = Result<StreamResponse, Error>> + Send>>;

/// The hub's word for the history of a task: everything, and nothing.
const ALL: i32 = 0;
const NONE: i32 = -1;

/// The addressed agent and the caller's context, beside what the request says.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Slug in the path of the request; it must not contradict the tenant.
    pub(crate) slug: Option<String>,
    /// Extensions that the caller speaks.
    pub(crate) extensions: Vec<String>,
    /// Its W3C trace context; empty if it has none.
    pub(crate) traceparent: String,
    /// The caller speaks A2A 0.3.
    pub(crate) is_old: bool,
    /// Scheme and credentials; empty if it has none.
    pub(crate) authorization: String,
    /// Identity and rights.
    pub(crate) caller: Arc<Caller>,
    /// Records what it does in the hub's audit.
    pub(crate) witness: Witness,
    /// Counts what it sends.
    pub(crate) meter: Meter,
}

impl Call {
    /// Counts a stream before what it is about is begun.
    ///
    /// # Errors
    ///
    /// The caller has as many as its quotas allow.
    pub(crate) fn stream(&self) -> Result<StreamPermit, Error> {
        self.meter.stream().map_err(|exceeded| {
            Error::over_quota(exceeded.to_string(), Some(exceeded.retry_after()))
        })
    }

    /// Records an act on a task that is about to be done.
    ///
    /// # Errors
    ///
    /// It cannot be recorded, and is not done.
    pub(crate) async fn act(&self, task_id: &str) -> Result<(), Error> {
        let all = Action::SeeTask { is_own: false };
        let own = Action::SeeTask { is_own: true };
        let rule = |caller: &Caller| match decide(caller, &all) {
            Ok(()) => Decision::of(caller, None, &all).rule,
            Err(_) => Decision::of(caller, None, &own).rule,
        };
        let recorded = self.witness.act(&format!("task={task_id}"), rule).await;
        recorded.map_err(|why| Kind::Unavailable.with(why.to_string()))
    }
}

/// The operations, for every agent of the hub.
#[derive(Debug)]
pub(crate) struct Operations {
    pub(crate) hub: Hub,
    /// Slug of the agent that is meant where nothing says which.
    pub(crate) default_agent: String,
    /// Streams are offered.
    pub(crate) streaming: bool,
    pub(crate) push: Push,
    pub(crate) shared: Arc<Shared>,
    pub(crate) replies: Arc<Replies>,
    /// Streams end.
    pub(crate) closing: CancellationToken,
}

impl Operations {
    /// §3.1.3
    pub(crate) async fn get_task(
        &self,
        call: &Call,
        request: GetTaskRequest,
    ) -> Result<Task, Error> {
        let agent = self.agent(call, &request.tenant).await?;
        let history = history(request.history_length)?;
        let (task, _) = self.seen(call, &agent, &request.id, history).await?;
        Ok(task_from_hub(task))
    }

    /// §3.1.5. Returns once the agent at work has stopped, or has had ten seconds to.
    pub(crate) async fn cancel_task(
        &self,
        call: &Call,
        request: CancelTaskRequest,
    ) -> Result<Task, Error> {
        let agent = self.agent(call, &request.tenant).await?;
        self.task_of(call, &agent, &request.id, NONE).await?;
        call.act(&request.id).await?;
        let cancelled = self
            .hub
            .client()?
            .cancel_task(&request.id, "cancelled by its requester");
        match cancelled.await {
            Ok(task) => Ok(task_from_hub(task)),
            Err(HubError::Conflict(why)) => Err(Kind::TaskNotCancelable
                .with(why)
                .about("taskId", &request.id)),
            Err(HubError::NotFound(_)) => Err(Error::task_not_found(&request.id)),
            Err(error) => Err(error.into()),
        }
    }

    /// §3.1.6
    pub(crate) async fn subscribe_to_task(
        &self,
        call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<Shows, Error> {
        let agent = self.agent(call, &request.tenant).await?;
        self.may_stream(&agent)?;
        let client = self.hub.client()?;
        let mut feed = Feed::open(&self.shared, client, &request.id).await?;
        let (task, as_of) = self.seen(call, &agent, &request.id, ALL).await?;
        feed.skip_to(&as_of);
        if task.state().is_terminal() {
            return Err(Kind::UnsupportedOperation
                .with(format!(
                    "the task has ended ({}): there is nothing to subscribe to; GetTask has it",
                    task.state().label()
                ))
                .about("taskId", &request.id));
        }
        let mut story = Story::new(Until::Terminal);
        let first = story.begin(task);
        let first = futures_util::stream::once(async { Ok(first) });
        Ok(Box::pin(first.chain(self.follow(feed, story))))
    }

    /// §3.3.4
    fn may_stream(&self, agent: &Target) -> Result<(), Error> {
        match self.streaming {
            true => Ok(()),
            false => Err(Kind::UnsupportedOperation.with(format!(
                "{} does not stream here, as its card says: use SendMessage, and GetTask",
                agent.id
            ))),
        }
    }

    /// The agent that a request is for.
    ///
    /// # Errors
    ///
    /// [`Kind::AgentNotFound`]; [`Kind::InvalidParams`] where path and tenant name two.
    async fn agent(&self, call: &Call, tenant: &str) -> Result<Target, Error> {
        self.hub.agent(self.slug(call, tenant)?).await
    }

    /// The slug of the agent that a request is for.
    pub(crate) fn slug<'a>(&'a self, call: &'a Call, tenant: &'a str) -> Result<&'a str, Error> {
        Ok(match (&call.slug, tenant) {
            (Some(slug), "") => slug,
            (Some(slug), tenant) if slug == tenant => slug,
            (Some(slug), tenant) => {
                let fault =
                    format!("tenant is \"{tenant}\", and the address is that of \"{slug}\"");
                return Err(Error::field("tenant", fault));
            }
            (None, "") => &self.default_agent,
            (None, tenant) => tenant,
        })
    }

    /// A task of this agent that the caller may take part in, and the position as of which it is so.
    ///
    /// # Errors
    ///
    /// [`Kind::TaskNotFound`]; [`Kind::PermissionDenied`] if the caller may only see it.
    async fn task_of(
        &self,
        call: &Call,
        agent: &Target,
        id: &str,
        history: i32,
    ) -> Result<(a2a::Task, String), Error> {
        let sees_all = call.caller.is_unrestricted();
        // Whose task it is, its first message says.
        let read = if sees_all { history } else { ALL };
        let (mut task, as_of) = self.seen(call, agent, id, read).await?;
        if sees_all {
            return Ok((task, as_of));
        }
        if !may_act(&call.caller, &task, self.hub.client()?.agent_id()) {
            return Err(Kind::PermissionDenied
                .with(format!(
                    "\"{}\" may see what \"{}\" asks on its behalf, and not take part in it: say more in, or cancel, the task that it belongs to",
                    call.caller.principal,
                    task.requester()
                ))
                .about("taskId", id));
        }
        if history != ALL {
            keep_latest(&mut task.history, Some(history.max(0)));
        }
        Ok((task, as_of))
    }

    /// A task of this agent that the caller may see, and the position as of which it is so.
    async fn seen(
        &self,
        call: &Call,
        agent: &Target,
        id: &str,
        history: i32,
    ) -> Result<(a2a::Task, String), Error> {
        if id.is_empty() {
            return Err(Error::field("id", "id is required"));
        }
        let found = self.hub.client()?.task_as_of(id, history).await;
        let (task, as_of) = found.map_err(|error| match error {
            HubError::NotFound(_) | HubError::Invalid(_) => Error::task_not_found(id),
            error => error.into(),
        })?;
        let assignee = task.assignee().split('@').next();
        let is_its = assignee == Some(agent.id.as_str());
        match is_its && may_see(&call.caller, &task) {
            true => Ok((task, as_of)),
            false => Err(Error::task_not_found(id)),
        }
    }

    /// Shows what comes, to the end of the story. An agent's last words, which come as a message and in the status that ends its task, are
    /// shown once, and an artifact that comes behind the end is shown before it.
    fn follow(
        &self,
        mut feed: Feed,
        mut story: Story,
    ) -> impl Stream<Item = Result<StreamResponse, Error>> + Send + use<> {
        let closing = self.closing.clone();
        async_stream::stream! {
            let mut held = None;
            while !story.is_over() {
                let event = tokio::select! {
                    // What has come is looked at before the words are let go, however late it is.
                    biased;
                    () = closing.cancelled() => Err(self::closing()),
                    event = feed.next() => event.map_err(Error::from),
                    () = sleep(LAST_WORDS), if held.is_some() => {
                        yield Ok(held.take().expect("it is held"));
                        continue;
                    }
                };
                if let Some(words) = held.take() && !event.as_ref().is_ok_and(|event| story.is_repeated_by(event)) {
                    yield Ok(words);
                }
                match event {
                    Ok(event) => {
                        if story.may_be_early(&event) && let Some(late) = artifact_behind(&mut feed).await && let Some(shown) = story.take(late) {
                            yield Ok(shown);
                        }
                        if let Some(shown) = story.take(event) {
                            match story.may_be_repeated() {
                                true => held = Some(shown),
                                false => yield Ok(shown),
                            }
                        }
                    }
                    Err(error) => {
                        yield Err(error);
                        return;
                    }
                }
            }
        }
    }
}

/// The artifact behind the end of its task, if it comes soon.
async fn artifact_behind(feed: &mut Feed) -> Option<Payload> {
    let artifact = async {
        while let Ok(event) = feed.next().await {
            if matches!(event, Payload::ArtifactUpdate(_)) {
                return Some(event);
            }
        }
        None
    };
    timeout(LATE, artifact).await.ok().flatten()
}

fn closing() -> Error {
    Kind::Unavailable.with("the hub is about to stop; the task goes on: ask for it again soon")
}

/// The hub's word for a history length.
fn history(length: Option<i32>) -> Result<i32, Error> {
    match length {
        None => Ok(ALL),
        Some(0) => Ok(NONE),
        Some(n) if n > 0 => Ok(n),
        Some(n) => {
            let fault = format!("historyLength is {n}; it is 0 or more");
            Err(Error::field("historyLength", fault))
        }
    }
}

fn keep_latest<T>(history: &mut Vec<T>, length: Option<i32>) {
    if let Some(length) = length.and_then(|n| usize::try_from(n).ok()) {
        let surplus = history.len().saturating_sub(length);
        history.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: A2A 1.0.1 §3.2.4
    #[test]
    fn a_history_is_all_none_or_the_latest() {
        let kept = |length| {
            let mut history = vec![1, 2, 3];
            keep_latest(&mut history, length);
            history
        };
        assert_eq!(kept(None), [1, 2, 3]);
        assert_eq!(kept(Some(0)), [0; 0]);
        assert_eq!(kept(Some(2)), [2, 3]);
        assert_eq!(kept(Some(9)), [1, 2, 3]);
        assert_eq!(history(None), Ok(ALL));
        assert_eq!(history(Some(0)), Ok(NONE));
        assert_eq!(
            history(Some(-1)).map_err(|e| e.field),
            Err("historyLength".into())
        );
    }
}
