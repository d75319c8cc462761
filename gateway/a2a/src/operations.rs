//! The eleven operations of A2A (specification §3.1), over the hub. The bindings only read requests and write answers.

mod listing;
mod push;

use std::{pin::Pin, sync::Arc};

use agenthub_sdk::{
    Client, Error as HubError,
    proto::{a2a, agenthub::AgentEventMetadata},
};
use futures_util::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    admission,
    answer::answer_of,
    convert::{message_to_hub, task_from_hub},
    error::{Error, Kind},
    extensions,
    feed::Feed,
    hub::{Hub, Target},
    identity::{identity, is_in},
    push::{Config, Push, StartPoint},
    shared::Shared,
    story::{Story, Until},
    v1::{
        self, CancelTaskRequest, GetTaskRequest, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, send_message_response,
    },
};

/// A stream of a task.
pub(crate) type Shows = Pin<Box<dyn Stream<Item = Result<StreamResponse, Error>> + Send>>;

/// The hub's word for the history of a task: everything, and nothing.
const ALL: i32 = 0;
const NONE: i32 = -1;

/// The addressed agent and the caller's context, beside what the request says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// Slug in the path of the request; it must not contradict the tenant.
    pub(crate) slug: Option<String>,
    /// Extensions that the caller speaks.
    pub(crate) extensions: Vec<String>,
    /// Its W3C trace context; empty if it has none.
    pub(crate) traceparent: String,
    /// It speaks A2A 0.3.
    pub(crate) is_old: bool,
    /// Scheme and credentials; empty if it has none.
    pub(crate) authorization: String,
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
    /// Streams end.
    pub(crate) closing: CancellationToken,
}

/// A message that is on its way, and what it leads to.
struct Sent {
    task_id: String,
    feed: Feed,
    story: Story,
    /// The task as it is, for a message that came before.
    first: Option<StreamResponse>,
}

/// A message to a task that there is.
enum PriorTask {
    /// The task takes it. It was looked at as of this position.
    Next { as_of: String },
    /// The task has it, and has ended since.
    Repeated,
}

impl Operations {
    /// §3.1.1
    pub(crate) async fn send_message(
        &self,
        call: &Call,
        mut request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        let agent = self.agent(call, &request.tenant).await?;
        let config = request.configuration.take().unwrap_or_default();
        let history = history(config.history_length)?;
        let mut sent = self.send(call, &agent, request, &config).await?;
        while !config.return_immediately && !sent.story.is_over() {
            let event = tokio::select! {
                event = sent.feed.next() => event?,
                () = self.closing.cancelled() => return Err(closing()),
            };
            sent.story.take(event);
        }
        let task = self.hub.client()?.task(&sent.task_id, history).await?;
        let payload = match config.return_immediately {
            true => send_message_response::Payload::Task(task_from_hub(task)),
            false => answer_of(task),
        };
        Ok(SendMessageResponse {
            payload: Some(payload),
        })
    }

    /// §3.1.2
    pub(crate) async fn send_streaming_message(
        &self,
        call: &Call,
        mut request: SendMessageRequest,
    ) -> Result<Shows, Error> {
        let agent = self.agent(call, &request.tenant).await?;
        self.may_stream(&agent)?;
        let config = request.configuration.take().unwrap_or_default();
        let limit = config.history_length;
        history(limit)?;
        let sent = self.send(call, &agent, request, &config).await?;
        let first = futures_util::stream::iter(sent.first.map(Ok));
        let shown = first.chain(self.follow(sent.feed, sent.story));
        let shown = shown.map(move |shown| {
            shown.map(|mut shown| {
                if let Some(v1::stream_response::Payload::Task(task)) = &mut shown.payload {
                    keep_latest(&mut task.history, limit);
                }
                shown
            })
        });
        Ok(Box::pin(shown))
    }

    /// §3.1.3
    pub(crate) async fn get_task(
        &self,
        call: &Call,
        request: GetTaskRequest,
    ) -> Result<Task, Error> {
        let agent = self.agent(call, &request.tenant).await?;
        let history = history(request.history_length)?;
        let (task, _) = self.task_of(&agent, &request.id, history).await?;
        Ok(task_from_hub(task))
    }

    /// §3.1.5. Returns once the agent at work has stopped, or has had ten seconds to.
    pub(crate) async fn cancel_task(
        &self,
        call: &Call,
        request: CancelTaskRequest,
    ) -> Result<Task, Error> {
        let agent = self.agent(call, &request.tenant).await?;
        self.task_of(&agent, &request.id, NONE).await?;
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
        let (task, as_of) = self.task_of(&agent, &request.id, ALL).await?;
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

    /// A task that this agent has, and the position as of which it is so.
    async fn task_of(
        &self,
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
        match assignee == Some(agent.id.as_str()) {
            true => Ok((task, as_of)),
            false => Err(Error::task_not_found(id)),
        }
    }

    /// Checks a message and publishes it. One that came before is not done again: it leads to the task as that is.
    async fn send(
        &self,
        call: &Call,
        agent: &Target,
        request: SendMessageRequest,
        config: &v1::SendMessageConfiguration,
    ) -> Result<Sent, Error> {
        let message = admission::well_formed(request.message.as_ref())?;
        admission::fits_card(&agent.card, message, &call.extensions)?;
        let identity = identity(&agent.id, message, request.metadata.as_ref());
        let pushed = config.task_push_notification_config.as_ref();
        let pushed = pushed.map(|pushed| {
            self.push.is_offered()?;
            let at = "configuration.taskPushNotificationConfig.";
            let mut config = Config::read(pushed, at, self.push.allowed())?;
            if config.id.is_empty() {
                config.id = Uuid::now_v7().to_string();
            }
            Ok::<_, Error>(config)
        });
        let pushed = pushed.transpose()?;
        let client = self.hub.client()?;
        let mut message = message_to_hub(message.clone());
        extensions::note(&mut message, &call.extensions);
        let is_follow_up = !message.task_id.is_empty();
        if !is_follow_up {
            message.task_id = identity.unwrap_or_else(Uuid::now_v7).to_string();
            if message.context_id.is_empty() {
                message.context_id = Uuid::now_v7().to_string();
            }
        }
        let mut feed = Feed::open(&self.shared, client, &message.task_id).await?;
        if is_follow_up {
            match self.follows_up(client, agent, &mut message).await? {
                PriorTask::Next { as_of } => feed.skip_to(&as_of),
                PriorTask::Repeated => return self.sent_before(agent, message.task_id, feed).await,
            }
        }
        if let Some(metadata) = request.metadata {
            let own = message.metadata.get_or_insert_default();
            for (key, value) in metadata.fields {
                own.fields.entry(key).or_insert(value);
            }
        }
        let task_id = message.task_id.clone();
        let mut push_id = None;
        match pushed {
            Some(config) if is_follow_up => {
                self.add_push_config(call, agent, &task_id, config).await?;
            }
            // It is there before its task, of which it is told from the beginning.
            Some(config) if !self.is_known(agent, &task_id, identity).await? => {
                push_id = Some(config.id.clone());
                let begin = StartPoint {
                    is_old: call.is_old,
                    ..StartPoint::default()
                };
                self.push.gate().await?.add(&task_id, config, begin).await?;
            }
            _ => {}
        }
        let routing = AgentEventMetadata {
            to_agent_id: agent.id.clone(),
            traceparent: call.traceparent.clone(),
            idempotency_key: identity.unwrap_or_else(Uuid::now_v7).to_string(),
            ..Default::default()
        };
        let published = client.publish(message, routing).await;
        if let (Err(_), Some(push_id)) = (&published, push_id) {
            // Else it is removed as its task does not come.
            let _ = self.push.remove(&task_id, &push_id).await;
        }
        let published = published.map_err(|error| match error {
            HubError::Conflict(why) if is_follow_up => Kind::UnsupportedOperation.with(why),
            HubError::Invalid(why) => Error::field("message", why),
            error => error.into(),
        })?;
        if identity.is_some() && feed.has_seen(&published.position) {
            return self.sent_before(agent, task_id, feed).await;
        }
        Ok(Sent {
            task_id,
            feed,
            story: Story::new(Until::Interrupted),
            first: None,
        })
    }

    /// A message that the hub has already, as its task is.
    async fn sent_before(
        &self,
        agent: &Target,
        task_id: String,
        mut feed: Feed,
    ) -> Result<Sent, Error> {
        let (task, as_of) = self.task_of(agent, &task_id, ALL).await?;
        feed.skip_to(&as_of);
        let mut story = Story::new(Until::Interrupted);
        let first = story.begin_again(task);
        Ok(Sent {
            task_id,
            feed,
            story,
            first: Some(first),
        })
    }

    /// True if a message with this identity has made its task before.
    async fn is_known(
        &self,
        agent: &Target,
        task_id: &str,
        identity: Option<Uuid>,
    ) -> Result<bool, Error> {
        if identity.is_none() {
            return Ok(false);
        }
        match self.task_of(agent, task_id, NONE).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind == Kind::TaskNotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Checks a message to a task that there is.
    async fn follows_up(
        &self,
        client: &Client,
        agent: &Target,
        message: &mut agenthub_sdk::Message,
    ) -> Result<PriorTask, Error> {
        let (task, as_of) = self.task_of(agent, &message.task_id, NONE).await?;
        if !message.context_id.is_empty() && message.context_id != task.context_id {
            let fault = format!(
                "message.contextId is \"{}\", and the task's is \"{}\"",
                message.context_id, task.context_id
            );
            return Err(Error::field("message.contextId", fault));
        }
        if task.state().is_terminal() {
            let (whole, _) = self.task_of(agent, &message.task_id, ALL).await?;
            // The first message made the task: sent again with its id, it asks for more of a task that has ended.
            if is_in(whole.history.get(1..).unwrap_or_default(), message) {
                return Ok(PriorTask::Repeated);
            }
            return Err(Kind::UnsupportedOperation
                .with(format!(
                    "the task has ended ({}): send the message without taskId to start another",
                    task.state().label()
                ))
                .about("taskId", &task.id));
        }
        if task.requester() != client.agent_id() {
            return Err(Kind::UnsupportedOperation
                .with("the task was asked for over another protocol, and is answered there")
                .about("taskId", &task.id));
        }
        message.context_id = task.context_id;
        Ok(PriorTask::Next { as_of })
    }

    /// Shows what comes, to the end of the story.
    fn follow(
        &self,
        mut feed: Feed,
        mut story: Story,
    ) -> impl Stream<Item = Result<StreamResponse, Error>> + Send + use<> {
        let closing = self.closing.clone();
        async_stream::stream! {
            while !story.is_over() {
                let event = tokio::select! {
                    event = feed.next() => event,
                    () = closing.cancelled() => return,
                };
                match event {
                    Ok(event) => if let Some(shown) = story.take(event) {
                        yield Ok(shown);
                    },
                    Err(error) => {
                        yield Err(error.into());
                        return;
                    }
                }
            }
        }
    }
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
