//! The message that a run begins with: what was asked for goes into it, and is read from it again.

use agenthub_sdk::{
    Agent,
    proto::{
        a2a::{Message, Part, Role},
        agenthub::{self, AgentEventMetadata},
        json,
        trace::TraceContext,
    },
    runs::RunId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    brief::{Brief, File, Mode},
    chat::proxied::PROXIED_CHAT,
    origin::{CHAT_REQUEST, CORTEX},
    principal::thread_of,
};

/// The task type of briefs.
pub(crate) const ORCHESTRATE: &str = "orchestrate";

/// The space of the ids that follow from idempotency keys. It never changes.
const KEYS: Uuid = Uuid::from_u128(0x2f8c_0d6a_41b7_4a53_9c1e_7d90_b4c6_13e2);

/// The field of a chat message's metadata with what its content does not say.
const ASKED: &str = "asked";

/// The field of a brief's data part with what is not the brief's.
const KEPT: &str = "kept";

/// A request for a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// As it came.
    pub brief: Brief,
    /// Key by which it is known when it comes again.
    pub key: Option<String>,
    /// The run that it goes on from.
    pub resumes: Option<String>,
    /// The principal who asks, by which its requests are told from those of others; empty on a hub without identities.
    pub on_behalf_of: String,
    /// The asker's trace context. Requests are the same whatever it is.
    pub trace: Option<TraceContext>,
}

/// Fields of a message beside the brief.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Extras {
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumes: Option<String>,
}

/// The same for a message of a chat, which has the brief's words and payload as its content.
#[derive(Debug, Serialize, Deserialize)]
struct ChatData {
    brief: Brief,
    #[serde(flatten)]
    extras: Extras,
}

impl Asked {
    /// The id of the task and of the message that asks for it.
    pub fn task_id(&self) -> Uuid {
        match &self.key {
            Some(key) => Uuid::new_v5(&KEYS, thread_of(&self.on_behalf_of, key).as_bytes()),
            None => Uuid::now_v7(),
        }
    }

    /// The message that asks for it, under this id, and its envelope.
    pub fn message(&self, task_id: Uuid) -> (Message, AgentEventMetadata) {
        let id = task_id.to_string();
        let extras = Extras {
            idempotency: self.key.clone(),
            resumes: self.resumes.clone(),
        };
        let mut content = vec![Part::text(&self.brief.objective)];
        content.extend(self.brief.files.iter().map(File::to_part));
        let (task_type, said) = match (self.brief.mode, &self.brief.agent) {
            (Mode::App, _) => {
                let mut data = json!(self.brief);
                data[KEPT] = json!(extras);
                content.push(Part::data(&data));
                (ORCHESTRATE, None)
            }
            (Mode::Chat, agent) => {
                if !self.brief.payload.is_empty() {
                    // Behind the words, where a brief's data stands.
                    content.insert(1, Part::data(&json!(self.brief.payload)));
                }
                let brief = Brief {
                    objective: String::new(),
                    payload: Default::default(),
                    files: Vec::new(),
                    ..self.brief.clone()
                };
                let task_type = agent.as_ref().map_or(CHAT_REQUEST, |_| PROXIED_CHAT);
                (task_type, Some(ChatData { brief, extras }))
            }
        };
        let thread = self.brief.thread_id.as_ref().unwrap_or(&id).clone();
        let mut message = Message {
            message_id: id.clone(),
            context_id: thread,
            task_id: id.clone(),
            role: Role::User.into(),
            content,
            ..Message::default()
        }
        .with_metadata("task_type", task_type)
        .with_metadata("requester", CORTEX);
        if let Some(said) = said {
            message = message.with_metadata(ASKED, json!(said));
        }
        let budget = agenthub::Budget {
            tokens: self.brief.budget.tokens,
            calls: self.brief.budget.calls,
            ..agenthub::Budget::default()
        };
        let routing = AgentEventMetadata {
            to_agent_id: CORTEX.to_owned(),
            traceparent: self.trace.unwrap_or_else(TraceContext::start).to_string(),
            budget: (budget != agenthub::Budget::default()).then_some(budget),
            idempotency_key: id,
            on_behalf_of: self.on_behalf_of.clone(),
            ..AgentEventMetadata::default()
        };
        (message, routing)
    }

    /// The run that Cortex makes of that message.
    pub fn run_of(task_id: Uuid) -> RunId {
        let id = task_id.to_string();
        Agent::run_of(CORTEX, &id, &id)
    }

    /// The request in a message; nothing for one that came in another way.
    pub fn of(message: &Message) -> Option<Self> {
        if message.task_type() == ORCHESTRATE {
            let mut data = message.data().next()?;
            let extras = data.as_object_mut()?.remove(KEPT).unwrap_or_default();
            let extras = Extras::deserialize(extras).unwrap_or_default();
            return Some(Self::with(Brief::deserialize(data).ok()?, extras));
        }
        let said = json::from_value(message.metadata.as_ref()?.fields.get(ASKED)?);
        let ChatData { brief, extras } = ChatData::deserialize(said).ok()?;
        let payload = message.data().next();
        let brief = Brief {
            objective: message.text(),
            payload: match payload {
                Some(Value::Object(payload)) => payload,
                _ => Default::default(),
            },
            files: message.content.iter().filter_map(File::of).collect(),
            ..brief
        };
        Some(Self::with(brief, extras))
    }

    fn with(brief: Brief, extras: Extras) -> Self {
        Self {
            brief,
            key: extras.idempotency,
            resumes: extras.resumes,
            on_behalf_of: String::new(),
            trace: None,
        }
    }

    /// True if both ask for the same. Numbers may have another form once they were in a message.
    pub fn is_same(&self, other: &Self) -> bool {
        let sent = |asked: &Self| Self::of(&asked.message(Uuid::nil()).0);
        sent(self) == sent(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(brief: Value, key: Option<&str>) -> Asked {
        Asked {
            brief: serde_json::from_value(brief).expect("it is a brief"),
            key: key.map(str::to_owned),
            resumes: None,
            on_behalf_of: String::new(),
            trace: None,
        }
    }

    fn briefs() -> Vec<Value> {
        vec![
            json!({
                "objective": "a post\nfor us", "payload": {"n": 1.0, "big": 1e300, "deep": [[1, null], {"a": true}]},
                "constraints": {"qualityThreshold": 0.25, "acceptanceCriteria": ["short", {"check": {"kind": "contains"}}]},
                "budget": {"tokens": 10, "calls": 2, "timeMs": 500}, "threadId": "t", "series": "s",
            }),
            json!({"objective": "hello", "mode": "chat", "payload": {"to": "all"}, "budget": {"calls": 3}}),
            json!({"objective": "hello", "mode": "chat", "agent": "writer"}),
            json!({"objective": "read it", "mode": "chat", "payload": {"to": "all"}, "files": [{"name": "a.txt", "mimeType": "text/plain", "bytes": "aGk="}, {"name": "b", "bytes": ""}]}),
        ]
    }

    /// spec: ORC-3.1
    #[test]
    fn what_is_asked_for_comes_back_from_its_message() {
        for (brief, task_type) in
            briefs()
                .into_iter()
                .zip([ORCHESTRATE, CHAT_REQUEST, PROXIED_CHAT, CHAT_REQUEST])
        {
            let asked = asked(brief, Some("k"));
            let (message, routing) = asked.message(asked.task_id());
            assert_eq!(message.task_type(), task_type);
            assert_eq!(message.text(), asked.brief.objective);
            let back = Asked::of(&message).expect("it says so");
            assert!(back.is_same(&asked), "{back:?}");
            assert_eq!(routing.budget.is_some(), asked.brief.budget.calls.is_some());
        }
        assert_eq!(Asked::of(&Message::new(Role::User, "hi")), None);
    }

    #[test]
    fn a_key_gives_the_same_ids_and_no_key_others_each_time() {
        let keyed = asked(json!({"objective": "o"}), Some("k"));
        assert_eq!(keyed.task_id(), keyed.task_id());
        let other = asked(json!({"objective": "o"}), Some("l"));
        assert_ne!(keyed.task_id(), other.task_id());
        let bare = asked(json!({"objective": "o"}), None);
        assert_ne!(bare.task_id(), bare.task_id());
    }

    /// Issue 25: a key of one principal finds no run of another.
    #[test]
    fn keys_of_two_principals_are_two() {
        let of = |principal: &str| Asked {
            on_behalf_of: principal.to_owned(),
            ..asked(json!({"objective": "o"}), Some("k"))
        };
        assert_eq!(of("alice").task_id(), of("alice").task_id());
        assert_ne!(of("alice").task_id(), of("bob").task_id());
        assert_ne!(of("alice").task_id(), of("").task_id());
        let (_, routing) = of("alice").message(of("alice").task_id());
        assert_eq!(routing.on_behalf_of, "alice");
    }

    #[test]
    fn other_briefs_are_not_the_same() {
        let one = || asked(json!({"objective": "o", "payload": {"a": 1, "b": 2}}), None);
        let again = asked(
            json!({"payload": {"b": 2.0, "a": 1}, "objective": "o"}),
            None,
        );
        assert!(one().is_same(&again), "order and form do not count");
        for other in [
            json!({"objective": "p", "payload": {"a": 1, "b": 2}}),
            json!({"objective": "o", "payload": {"a": 1}}),
            json!({"objective": "o", "payload": {"a": 1, "b": 2}, "threadId": "t"}),
            json!({"objective": "o", "payload": {"a": 1, "b": 2}, "files": [{"name": "a", "bytes": ""}]}),
        ] {
            assert!(!one().is_same(&asked(other, None)));
        }
    }
}
