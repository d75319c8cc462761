//! Messages that are sent, and what they lead to.

use std::time::Instant;

use agenthub_access::Action;
use agenthub_sdk::{
    Error as HubError,
    internal::known_as,
    proto::{a2a, agenthub::AgentEventMetadata},
};
use futures_util::StreamExt;
use tokio::time::sleep;
use uuid::Uuid;

use super::{Call, Operations, Shows, closing, history, keep_latest, repeating::PriorTask};
use crate::{
    admission,
    answer::answer_of,
    convert::{message_to_hub, task_from_hub},
    error::{Error, Kind},
    extensions,
    feed::Feed,
    hops,
    hub::Target,
    identity::identity,
    push::{Config, StartPoint},
    replies::is_end,
    rights::{may, on_behalf_of, sign},
    story::{self, LATE, Story, Until},
    v1::{self, SendMessageRequest, SendMessageResponse, send_message_response},
};

/// A message that is on its way, and what it leads to.
pub(super) struct Sent {
    pub(super) task_id: String,
    pub(super) feed: Feed,
    /// The task as it is, for a message that came before.
    pub(super) prior: Option<a2a::Task>,
}

/// Events of the task that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    All,
    Ends,
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
        let sent = self.send(call, &agent, request, &config, Wanted::Ends);
        let mut sent = sent.await?;
        let state = sent.prior.as_ref().map(a2a::Task::state);
        let mut is_over = state.is_some_and(|state| state.is_terminal() || state.is_interrupted());
        let mut may_be_early = false;
        while !config.return_immediately && !is_over {
            let event = tokio::select! {
                event = sent.feed.next() => event?,
                () = self.closing.cancelled() => return Err(closing()),
            };
            is_over = is_end(&event);
            may_be_early = story::may_be_early(&event);
        }
        let client = self.hub.client()?;
        let mut task = client.task(&sent.task_id, history).await?;
        if may_be_early && task.artifacts.is_empty() {
            sleep(LATE).await;
            task = client.task(&sent.task_id, history).await?;
        }
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
        let sent = self.send(call, &agent, request, &config, Wanted::All);
        let sent = sent.await?;
        let mut story = Story::new(Until::Interrupted);
        let first = sent.prior.map(|task| Ok(story.begin_again(task)));
        let shown = futures_util::stream::iter(first).chain(self.follow(sent.feed, story));
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

    /// Checks a message and publishes it. One that came before is not done again: it leads to the task as that is.
    async fn send(
        &self,
        call: &Call,
        agent: &Target,
        request: SendMessageRequest,
        config: &v1::SendMessageConfiguration,
        wanted: Wanted,
    ) -> Result<Sent, Error> {
        let message = admission::well_formed(request.message.as_ref())?;
        admission::fits_card(&agent.card, message, &call.extensions)?;
        may(&call.caller, Action::Send { to: &agent.id })?;
        let (allowed, exceeded) = call.meter.publish(1, Instant::now());
        if let Some(exceeded) = exceeded.filter(|_| allowed == 0) {
            return Err(Error::over_quota(exceeded.to_string(), exceeded.again));
        }
        let identity = identity(&agent.id, message, request.metadata.as_ref());
        // Messages of two principals are two, however alike they are.
        let identity = identity.map(|identity| match call.caller.is_anonymous() {
            true => identity,
            false => Uuid::new_v5(&identity, call.caller.principal.as_bytes()),
        });
        let pushed = config.task_push_notification_config.as_ref();
        let pushed = pushed.map(|pushed| {
            self.push.is_offered()?;
            let at = "configuration.taskPushNotificationConfig.";
            let mut config = Config::read(pushed, at, self.push.allowed())?;
            if config.id.is_empty() {
                config.id = Uuid::now_v7().to_string();
            }
            Ok::<_, Error>(config.of(on_behalf_of(&call.caller)))
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
        let mut feed = match wanted {
            Wanted::All => Feed::open(&self.shared, client, &message.task_id).await?,
            Wanted::Ends => Feed::of_ends(&self.replies, client, &message.task_id),
        };
        if is_follow_up {
            match self.follows_up(call, client, agent, &mut message).await? {
                PriorTask::Next { as_of } => feed.skip_to(&as_of),
                PriorTask::Repeated => {
                    return self.sent_before(call, agent, message.task_id, feed).await;
                }
            }
        }
        if let Some(metadata) = request.metadata {
            let own = message.metadata.get_or_insert_default();
            for (key, value) in metadata.fields {
                own.fields.entry(key).or_insert(value);
            }
        }
        sign(&mut message, &call.caller);
        let wanted = Some(message.task_type()).filter(|wanted| !wanted.is_empty());
        if let Some(known) = known_as(wanted.map(str::to_owned), &agent.card) {
            message = message.with_metadata("task_type", known);
        }
        let task_id = message.task_id.clone();
        let mut push_id = None;
        match pushed {
            Some(config) if is_follow_up => {
                self.add_push_config(call, agent, &task_id, config).await?;
            }
            // It is there before its task, of which it is told from the beginning.
            Some(config) if !self.is_known(call, agent, &task_id, identity).await? => {
                push_id = Some(config.id.clone());
                let begin = StartPoint {
                    is_old: call.is_old,
                    ..StartPoint::default()
                };
                call.act(&task_id).await?;
                self.push.gate().await?.add(&task_id, config, begin).await?;
            }
            _ => {}
        }
        let routing = AgentEventMetadata {
            to_agent_id: agent.id.clone(),
            on_behalf_of: on_behalf_of(&call.caller),
            hops: hops::of(message.metadata.as_ref()),
            traceparent: call.traceparent.clone(),
            idempotency_key: identity.unwrap_or_else(Uuid::now_v7).to_string(),
            ..Default::default()
        };
        let published = client.publish_call(message, routing).await;
        if let (Err(_), Some(push_id)) = (&published, push_id) {
            // Else it is removed as its task does not come.
            let _ = self.push.remove(&task_id, &push_id).await;
        }
        let published = published.map_err(|error| match error {
            HubError::Conflict(why) if is_follow_up => Kind::UnsupportedOperation.with(why),
            HubError::Invalid(why) => Error::of_message(&why),
            error => error.into(),
        })?;
        let Some(published) = published else {
            return self.sent_before(call, agent, task_id, feed).await;
        };
        feed.skip_to(&published.position);
        Ok(Sent {
            task_id,
            feed,
            prior: None,
        })
    }
}
