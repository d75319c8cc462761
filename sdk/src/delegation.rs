//! Work handed to another agent.

use std::time::{Duration, SystemTime};

use agenthub_proto::{
    a2a::{Message, Part, Role},
    agenthub::{AgentEventMetadata, Priority},
    event::{timestamp, wire_duration},
    trace::TraceContext,
};
use agenthub_runs::{Budget, SentHandoff};
use uuid::Uuid;

use crate::usage;

/// The most delegations in a row.
pub const MAX_HOPS: u32 = 16;

/// *Who* shall do *what*, with *what*, by when. Built with [`Delegation::to`]; ids that are not given are made up when it
/// is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Delegation {
    /// The agent's id, or `id@version`; empty lets the hub choose one that has the capability.
    pub agent: String,
    /// Task type or skill of the agent.
    pub capability: String,
    /// The request in words.
    pub text: String,
    /// The request as data; a value that is no object travels as `{"value": …}`.
    pub payload: Option<serde_json::Value>,
    /// Further parts of the request, behind text and payload.
    pub content: Vec<Part>,
    /// The conversation; empty starts one, named after the task.
    pub context_id: String,
    /// The task that this makes, or goes on with.
    pub task_id: Option<String>,
    /// The message's id. The hub takes the same id and content again for the same request.
    pub message_id: Option<String>,
    /// The time for all of it. The hub fails the task when it is over.
    pub timeout: Duration,
    /// Deadline, where it does not follow from `timeout`.
    pub deadline: Option<SystemTime>,
    /// Budget of the task and everything that it leads to; its time is not sent, as that is the timeout.
    pub budget: Budget,
    /// The task on whose behalf this is asked.
    pub parent_task_id: String,
    /// The principal on whose behalf this is asked, where no parent task says it; empty for the sender itself. Only who may impersonate may
    /// name another one.
    pub on_behalf_of: String,
    /// Delegations before this one; at most [`MAX_HOPS`].
    pub hops: u32,
    /// The trace that this belongs to; a trace of its own if not given.
    pub trace: Option<TraceContext>,
    /// Priority of the context when several wait.
    pub priority: Priority,
    /// Further metadata of the message.
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

impl Delegation {
    /// Five minutes.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

    /// A delegation to this agent, without content yet.
    pub fn to(agent: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            capability: String::new(),
            text: String::new(),
            payload: None,
            content: Vec::new(),
            context_id: String::new(),
            task_id: None,
            message_id: None,
            timeout: Self::DEFAULT_TIMEOUT,
            deadline: None,
            budget: Budget::default(),
            parent_task_id: String::new(),
            on_behalf_of: String::new(),
            hops: 0,
            trace: None,
            priority: Priority::Unspecified,
            metadata: serde_json::Map::new(),
        }
    }

    /// A delegation to whichever agent offers this task type or skill.
    pub fn to_any(capability: impl Into<String>) -> Self {
        Self::to("").capability(capability)
    }

    /// Task type or skill of the agent.
    #[must_use]
    pub fn capability(mut self, capability: impl Into<String>) -> Self {
        self.capability = capability.into();
        self
    }

    /// The request in words.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// The request as data.
    #[must_use]
    pub fn payload(mut self, payload: impl Into<serde_json::Value>) -> Self {
        self.payload = Some(payload.into());
        self
    }

    /// Further parts of the request, behind text and payload, such as files.
    #[must_use]
    pub fn content(mut self, content: impl IntoIterator<Item = Part>) -> Self {
        self.content.extend(content);
        self
    }

    /// The conversation.
    #[must_use]
    pub fn context_id(mut self, context_id: impl Into<String>) -> Self {
        self.context_id = context_id.into();
        self
    }

    /// The task that this makes, or goes on with.
    #[must_use]
    pub fn task_id(mut self, task_id: impl Into<String>) -> Self {
        self.task_id = Some(task_id.into());
        self
    }

    /// The message's id.
    #[must_use]
    pub fn message_id(mut self, message_id: impl Into<String>) -> Self {
        self.message_id = Some(message_id.into());
        self
    }

    /// The time for all of it.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Budget of the task and everything that it leads to.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// The task on whose behalf this is asked.
    #[must_use]
    pub fn parent_task_id(mut self, parent_task_id: impl Into<String>) -> Self {
        self.parent_task_id = parent_task_id.into();
        self
    }

    /// The principal on whose behalf this is asked, where no parent task says it.
    #[must_use]
    pub fn on_behalf_of(mut self, principal: impl Into<String>) -> Self {
        self.on_behalf_of = principal.into();
        self
    }

    /// Delegations before this one.
    #[must_use]
    pub fn hops(mut self, hops: u32) -> Self {
        self.hops = hops;
        self
    }

    /// The trace that this belongs to.
    #[must_use]
    pub fn trace(mut self, trace: TraceContext) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Priority of the context when several wait.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// A further field of the message's metadata.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// The step of a run that hands work over. It is the same however often it is asked for, its ids and trace included; what the
    /// conversation and the task on whose behalf it is are, [`TaskContext::hand_over`](crate::TaskContext::hand_over) fills in.
    pub fn of(sent: &SentHandoff) -> Self {
        let deadline = Duration::from_millis(sent.deadline_ms);
        let id = |id: &str| Uuid::parse_str(id).unwrap_or_default();
        Self {
            text: sent.handoff.text.clone(),
            payload: sent.handoff.payload.clone(),
            capability: sent.handoff.capability.clone(),
            metadata: sent.handoff.metadata.clone(),
            context_id: sent.task_id.clone(),
            task_id: Some(sent.task_id.clone()),
            message_id: Some(sent.message_id.clone()),
            deadline: SystemTime::UNIX_EPOCH.checked_add(deadline),
            budget: sent.budget,
            trace: Some(TraceContext::of(
                id(&sent.task_id).as_u128(),
                span_of(&sent.message_id),
            )),
            ..Self::to(&*sent.handoff.agent)
        }
    }

    /// The time that is left for it.
    pub(crate) fn left(&self, now: SystemTime) -> Duration {
        match self.deadline {
            Some(at) => at.duration_since(now).unwrap_or_default(),
            None => self.timeout,
        }
    }

    /// Makes up the ids that were not given.
    pub(crate) fn with_ids(mut self) -> Self {
        let id = || Uuid::now_v7().to_string();
        let task_id = self.task_id.take().filter(|t| !t.is_empty());
        let task_id = task_id.unwrap_or_else(id);
        if self.context_id.is_empty() {
            self.context_id.clone_from(&task_id);
        }
        self.task_id = Some(task_id);
        self.message_id = self
            .message_id
            .take()
            .or_else(|| Some(format!("msg_{}", id())));
        self
    }

    /// The delegation as a message and its envelope. Give the ids first.
    pub(crate) fn to_wire(
        &self,
        requester: &str,
        now: SystemTime,
    ) -> (Message, AgentEventMetadata) {
        let mut content = Vec::new();
        if !self.text.is_empty() {
            content.push(Part::text(&self.text));
        }
        content.extend(self.payload.as_ref().map(Part::data));
        content.extend(self.content.iter().cloned());
        let mut message = Message {
            message_id: self.message_id.clone().unwrap_or_default(),
            context_id: self.context_id.clone(),
            task_id: self.task_id.clone().unwrap_or_default(),
            role: Role::User.into(),
            content,
            ..Default::default()
        };
        for (key, value) in &self.metadata {
            message = message.with_metadata(key, value.clone());
        }
        if !self.capability.is_empty() {
            message = message.with_metadata("task_type", self.capability.as_str());
        }
        message = message.with_metadata("requester", requester);

        let routing = AgentEventMetadata {
            from_agent_id: requester.to_owned(),
            to_agent_id: self.agent.clone(),
            priority: self.priority.into(),
            traceparent: self.trace.unwrap_or_else(TraceContext::start).to_string(),
            deadline: self
                .deadline
                .or_else(|| now.checked_add(self.timeout))
                .map(timestamp),
            time_left: Some(wire_duration(self.left(now))),
            budget: usage::to_wire(self.budget),
            idempotency_key: message.message_id.clone(),
            parent_task_id: self.parent_task_id.clone(),
            on_behalf_of: self.on_behalf_of.clone(),
            hops: self.hops,
            ..Default::default()
        };
        (message, routing)
    }
}

/// The span in which a message with this id is sent: what its `traceparent` names.
pub fn span_of(message_id: &str) -> u64 {
    let id = Uuid::parse_str(message_id).unwrap_or_default();
    id.as_u64_pair().1
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::event::duration;
    use serde_json::json;

    #[test]
    fn a_step_of_a_run_is_sent_again_as_it_was() {
        let sent = SentHandoff {
            handoff: agenthub_runs::Handoff {
                agent: "a".into(),
                text: "go".into(),
                ..Default::default()
            },
            task_id: Uuid::now_v7().to_string(),
            message_id: Uuid::now_v7().to_string(),
            deadline_ms: 1_700_000_000_123,
            budget: Budget {
                tokens: Some(10),
                depth: Some(0),
                ..Budget::default()
            },
        };
        let begun = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
        let wire = |left| {
            let now = begun - Duration::from_secs(left);
            let (message, mut routing) = Delegation::of(&sent).to_wire("me", now);
            let time_left = routing.time_left.take().and_then(|d| duration(&d));
            assert_eq!(time_left, Some(Duration::from_secs(left)));
            (message, routing)
        };
        assert_eq!(wire(20), wire(7));
        let (message, routing) = wire(7);
        assert_eq!(
            (message.task_id, message.message_id),
            (sent.task_id, sent.message_id)
        );
        assert_eq!(routing.deadline.map(|d| d.nanos), Some(123_000_000));
        assert_eq!(usage::from_wire(routing.budget.as_ref()), sent.budget);
    }

    /// spec: HUB-3
    #[test]
    fn the_message_carries_words_data_and_conventional_metadata() {
        let delegation = Delegation::to("agent_echo")
            .capability("echo_request")
            .text("say hi")
            .payload(json!({"input": "hi"}))
            .content([Part::text("more")])
            .context_id("c1")
            .timeout(Duration::from_secs(10))
            .metadata("tone", "kind")
            .with_ids();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let (message, routing) = delegation.to_wire("user_agent", now);

        assert_eq!(message.content.first(), Some(&Part::text("say hi")));
        assert_eq!(message.content.last(), Some(&Part::text("more")));
        assert_eq!(message.data().next(), Some(json!({"input": "hi"})));
        assert_eq!(message.role(), Role::User);
        assert_eq!(message.context_id, "c1");
        assert_eq!(Some(&message.task_id), delegation.task_id.as_ref());
        assert_eq!(message.task_type(), "echo_request");
        assert_eq!(message.metadata_str("requester"), "user_agent");
        assert_eq!(message.metadata_str("tone"), "kind");
        assert_eq!(routing.to_agent_id, "agent_echo");
        assert_eq!(routing.from_agent_id, "user_agent");
        assert_eq!(routing.deadline.map(|d| d.seconds), Some(110));
        assert!(routing.traceparent.parse::<TraceContext>().is_ok());
        assert_eq!(routing.idempotency_key, message.message_id);
    }

    #[test]
    fn without_a_context_the_task_is_its_own() {
        let delegation = Delegation::to("a").with_ids();
        assert_eq!(Some(&delegation.context_id), delegation.task_id.as_ref());
        assert_ne!(delegation.task_id, Delegation::to("a").with_ids().task_id);
    }
}
