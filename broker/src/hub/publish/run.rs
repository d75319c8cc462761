//! Runs: plain messages with one envelope, published together.

use std::{iter::Peekable, sync::Arc};

use agenthub_proto::{
    agenthub::{AgentEventMetadata, Durability, Publish, publish::Payload},
    event::timestamp,
    trace::TraceContext,
};
use prost::Message;

use super::{
    super::core::{Core, Now},
    rights::Acting,
};
use crate::{
    Caller, Error, event_id,
    fields::Field,
    id::{AgentId, OrderKey},
    limits,
    plain::Plain,
    routing::{Facts, Route, Wants},
    segment::has_room_for,
};

/// Typical overhead of an event besides its message and envelope, in bytes.
pub(super) const BESIDES: usize = 160;

/// An envelope of publishes that need no individual checks: within its limits, of a sender that may use it.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(super) routing: AgentEventMetadata,
    /// Encoded for delivery.
    bytes: Vec<u8>,
    /// Its trace, if any.
    trace: Option<TraceContext>,
}

impl Envelope {
    /// The envelope of an agent's publishes; `None` if they need individual checks.
    pub(crate) fn plain(caller: &Caller, agent: &str, came: &[u8]) -> Option<Self> {
        let mut routing = AgentEventMetadata::decode(came).ok()?;
        if routing.from_agent_id.is_empty() {
            agent.clone_into(&mut routing.from_agent_id);
        }
        let is_plain = routing.from_agent_id == agent
            && routing.idempotency_key.is_empty()
            && routing.deliver_at.is_none()
            && routing.deadline.is_none()
            && routing.time_left.is_none()
            && (routing.parent_task_id.is_empty() || caller.is_anonymous())
            && routing.on_behalf_of.is_empty()
            && routing.chain.is_empty()
            && !caller.is_limited_by_day()
            && limits::routing(&routing).is_ok();
        if !caller.is_unrestricted() {
            routing.on_behalf_of.clone_from(&caller.principal);
        }
        is_plain.then(|| Self {
            // Encoded again: unknown fields could exceed the limits on size and nesting of an event.
            bytes: routing.encode_to_vec(),
            trace: routing.traceparent.parse().ok(),
            routing,
        })
    }

    /// Approximate bytes of a publish's event.
    pub(super) fn event_bytes(&self, plain: &Plain) -> usize {
        plain.message().len() + self.bytes.len() + BESIDES
    }
}

/// Consecutive publishes of plain messages with one envelope, in one context: at least one, and no more than fit into a
/// segment.
#[derive(Debug)]
pub(crate) struct Run {
    pub(super) envelope: Arc<Envelope>,
    pub(crate) publishes: Vec<Plain>,
}

impl Run {
    /// Takes the first run out of the publishes.
    pub(crate) fn first(
        envelope: &Arc<Envelope>,
        publishes: &mut Peekable<impl Iterator<Item = Plain>>,
    ) -> Option<Self> {
        let first = publishes.next()?;
        let mut bytes = envelope.event_bytes(&first);
        let mut run = vec![first];
        while let Some(plain) = publishes.next_if(|plain| {
            let bytes = bytes + envelope.event_bytes(plain);
            run[0].shares_context(plain) && has_room_for(run.len() + 1, bytes)
        }) {
            bytes += envelope.event_bytes(&plain);
            run.push(plain);
        }
        Some(Self {
            envelope: envelope.clone(),
            publishes: run,
        })
    }

    /// True if its events are not logged.
    pub(crate) fn is_memory(&self) -> bool {
        self.envelope.routing.durability() == Durability::Memory
    }

    /// Number of publishes.
    pub(crate) fn len(&self) -> usize {
        self.publishes.len()
    }

    /// Approximate bytes of its events.
    pub(super) fn bytes(&self) -> usize {
        let bytes = |plain| self.envelope.event_bytes(plain);
        self.publishes.iter().map(bytes).sum()
    }

    /// The publishes, for individual processing.
    pub(crate) fn one_by_one(&self) -> impl Iterator<Item = Publish> {
        self.publishes.iter().map(|plain| Publish {
            sequence: plain.sequence(),
            payload: plain.decoded().map(Payload::Message),
            routing: Some(self.envelope.routing.clone()),
            ..Publish::default()
        })
    }

    /// Sender and order key of its events.
    pub(super) fn sender(&self) -> (AgentId, OrderKey) {
        let sender = self.envelope.routing.from_agent_id.as_str();
        let order = OrderKey::of(self.publishes[0].context_id(), "", sender);
        (sender.into(), order)
    }
}

/// Fields that events of the same time share.
pub(super) struct Stamp {
    seconds: String,
    timestamp: Vec<u8>,
}

impl Stamp {
    pub(super) fn of(now: Now) -> Self {
        Self {
            seconds: now.unix_seconds().to_string(),
            timestamp: timestamp(now.time).encode_to_vec(),
        }
    }

    /// The event id of a message.
    pub(super) fn event_id(&self, plain: &Plain) -> String {
        event_id::join("evt", plain.message_id(), &self.seconds)
    }

    /// Writes the event of a publish as fields: the message bytes are unchanged. The position is that of the log, or
    /// empty.
    pub(super) fn event<T>(
        &self,
        plain: &Plain,
        event_id: &str,
        envelope: &Envelope,
        position: &str,
        write: impl FnOnce(&[Field<'_>]) -> T,
    ) -> T {
        let trace = envelope.trace.unwrap_or_else(TraceContext::start);
        // The fields of an `AgentEvent` (`events.proto`).
        write(&[
            (1, event_id.as_bytes()),
            (2, &self.timestamp),
            (10, plain.message()),
            (20, &envelope.bytes),
            (30, &trace.trace_digits()),
            (31, &trace.span_digits()),
            (32, envelope.routing.tracestate.as_bytes()),
            (40, position.as_bytes()),
        ])
    }
}

impl Core {
    /// The route of a run.
    ///
    /// # Errors
    ///
    /// [`Error::PermissionDenied`] if it would go to whoever subscribes, and the caller may not send to all of them.
    pub(super) fn route_of(
        &self,
        caller: &Caller,
        run: &Run,
        sender: AgentId,
    ) -> Result<Route, Error> {
        let routing = &run.envelope.routing;
        let topics = routing.subscriptions.iter().map(String::as_str);
        let facts = Facts {
            sender,
            recipient: self.recipient(routing),
            task: None,
            wants_one: false,
            wants: Wants {
                topics: topics.filter(|topic| !topic.is_empty()).collect(),
                tags: &routing.required_tags,
                input_modes: &routing.required_input_modes,
                output_modes: &routing.required_output_modes,
            },
            matching_only: routing.matching_only,
        };
        self.allowed_route(&Acting::itself(caller), &facts)
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message as Said, Role},
        agenthub::{AgentEvent, agent_event},
    };

    use super::{super::super::core::event, *};
    use crate::fields;

    /// Subscribers see no difference between both ways of publishing.
    #[test]
    fn the_event_of_a_run_is_the_one_that_it_would_have_been() {
        let said = Said {
            message_id: "m".to_owned(),
            context_id: "c".to_owned(),
            ..Said::new(Role::User, "text")
        };
        let routing = AgentEventMetadata {
            event_type: "t".to_owned(),
            traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned(),
            tracestate: "vendor=1".to_owned(),
            ..AgentEventMetadata::default()
        };
        let publish = Publish {
            sequence: 7,
            payload: Some(Payload::Message(said.clone())),
            routing: Some(routing.clone()),
            ..Publish::default()
        };
        let plain = Plain::read(&publish.encode_to_vec().into()).expect("it is plain");
        let anyone = Caller::anonymous();
        let envelope = Envelope::plain(&anyone, "a", plain.routing()).expect("it is plain");
        let mut publishes = [plain].into_iter().peekable();
        let run = Run::first(&Arc::new(envelope), &mut publishes).expect("there is one");

        let (now, plain) = (Now::read(), &run.publishes[0]);
        let from = AgentEventMetadata {
            from_agent_id: "a".to_owned(),
            ..routing
        };
        let payload = agent_event::Payload::Message(said);
        let mut expected = event(payload, Some(from.clone()), now);
        let stamp = Stamp::of(now);
        assert_eq!(stamp.event_id(plain), expected.event_id);
        for position in ["", "p"] {
            let id = &expected.event_id;
            let bytes = stamp.event(plain, id, &run.envelope, position, |fields| {
                let mut bytes = Vec::new();
                fields::put(fields, &mut bytes);
                bytes
            });
            expected.position = position.to_owned();
            assert_eq!(AgentEvent::decode(&*bytes), Ok((*expected).clone()));
            assert_eq!(bytes, expected.encode_to_vec());
        }
        let again: Vec<Publish> = run.one_by_one().collect();
        let expected = Publish {
            routing: Some(from),
            ..publish
        };
        assert_eq!(again, [expected]);
    }

    /// A decoder limits the nesting of unknown fields, and one that starts further out would reject the event.
    #[test]
    fn what_is_unknown_in_an_envelope_goes_no_further() {
        let routing = AgentEventMetadata {
            from_agent_id: "a".to_owned(),
            event_type: "t".to_owned(),
            ..AgentEventMetadata::default()
        };
        let (begin, end): (&[u8], &[u8]) = (&[0xfb, 0x7f], &[0xfc, 0x7f]);
        let deep = [begin.repeat(100), end.repeat(100)].concat();
        let large = [&[0xfa, 0x7f, 0xff, 0x7f][..], &[0; 0x3fff]].concat();
        for unknown in [deep, large] {
            let came = [routing.encode_to_vec(), unknown].concat();
            assert!(AgentEventMetadata::decode(&*came).is_ok());
            let envelope = Envelope::plain(&Caller::anonymous(), "a", &came).expect("it is plain");
            assert_eq!(envelope.bytes, routing.encode_to_vec());
        }
    }
}
