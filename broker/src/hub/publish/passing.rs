//! Publishing plain messages that may be lost, many at once: encoded before anything is locked, routed together, in one segment.

use std::sync::Arc;

use agenthub_proto::{
    agenthub::{AgentEventMetadata, Durability, Publish, publish::Payload},
    event::timestamp,
    trace::TraceContext,
};
use prost::Message;

use super::super::core::{Core, Now, message_event};
use crate::{
    Error,
    access::{Call, decide},
    caller::Caller,
    dedupe::Key,
    id::{AgentId, OrderKey},
    limits,
    plain::Plain,
    routing::{Facts, Wants, route},
    segment::{self, Segment},
};

/// What an event has beside its message and envelope, in bytes, as a rule.
const BESIDES: usize = 160;

/// The envelope of publishes that pass: within its bounds, of a sender that may use it.
#[derive(Debug)]
pub(crate) struct Envelope {
    routing: AgentEventMetadata,
    /// As it travels on.
    bytes: Vec<u8>,
    /// The trace that it names.
    trace: Option<TraceContext>,
}

impl Envelope {
    /// The envelope of an agent's publishes; `None` if they have to be looked at one by one.
    pub(crate) fn passing(agent: &str, came: &[u8]) -> Option<Self> {
        let mut routing = AgentEventMetadata::decode(came).ok()?;
        let mut bytes = came.to_vec();
        if routing.from_agent_id.is_empty() {
            agent.clone_into(&mut routing.from_agent_id);
            bytes = routing.encode_to_vec();
        }
        let passes = routing.durability() == Durability::Memory
            && routing.from_agent_id == agent
            && routing.idempotency_key.is_empty()
            && limits::routing(&routing).is_ok();
        passes.then(|| Self {
            trace: routing.traceparent.parse().ok(),
            routing,
            bytes,
        })
    }
}

/// Publishes one after the other with one envelope, in one context.
#[derive(Debug)]
pub(crate) struct Run {
    envelope: Arc<Envelope>,
    /// Each with the id of its event.
    pub(crate) publishes: Vec<(Plain, String)>,
    segment: Arc<Segment>,
}

impl Run {
    /// The run that the publishes begin with, which it takes out.
    pub(crate) fn first(
        envelope: &Arc<Envelope>,
        publishes: &mut std::iter::Peekable<impl Iterator<Item = Plain>>,
    ) -> Option<Self> {
        let now = Now::read();
        let seconds = now.unix_seconds().to_string();
        let timestamp = timestamp(now.time).encode_to_vec();
        let count = publishes.size_hint().0;
        let each = publishes.peek()?.message().len() + envelope.bytes.len() + BESIDES;
        let mut segment = segment::Builder::new(count, each);
        let mut run: Vec<(Plain, String)> = Vec::with_capacity(count);
        while !segment.is_full()
            && let Some(plain) = publishes.next_if(|plain| {
                let first = run.first();
                first.is_none_or(|(first, _)| first.shares_context(plain))
            })
        {
            let event_id = message_event(plain.message_id(), &seconds);
            splice(&mut segment, &plain, &event_id, envelope, &timestamp);
            run.push((plain, event_id));
        }
        Some(Self {
            envelope: envelope.clone(),
            publishes: run,
            segment: Arc::new(segment.build()),
        })
    }

    /// The publishes, to be looked at one by one.
    pub(crate) fn one_by_one(&self) -> impl Iterator<Item = Publish> {
        self.publishes.iter().map(|(plain, _)| Publish {
            sequence: plain.sequence(),
            payload: plain.decoded().map(Payload::Message),
            routing: Some(self.envelope.routing.clone()),
        })
    }

    /// How many publishes there are.
    pub(crate) fn len(&self) -> usize {
        self.publishes.len()
    }
}

/// The fields of an `AgentEvent` (`events.proto`).
mod field {
    pub(super) const EVENT_ID: u32 = 1;
    pub(super) const TIMESTAMP: u32 = 2;
    pub(super) const MESSAGE: u32 = 10;
    pub(super) const ROUTING: u32 = 20;
    pub(super) const TRACE_ID: u32 = 30;
    pub(super) const SPAN_ID: u32 = 31;
    pub(super) const TRACESTATE: u32 = 32;
}

/// Adds the event of a publish: message and envelope are bytes as they came.
fn splice(
    segment: &mut segment::Builder,
    plain: &Plain,
    event_id: &str,
    envelope: &Envelope,
    timestamp: &[u8],
) {
    let trace = envelope.trace.unwrap_or_else(TraceContext::start);
    let (trace_id, span_id) = (trace.trace_digits(), trace.span_digits());
    let fields = [
        (field::EVENT_ID, event_id.as_bytes()),
        (field::TIMESTAMP, timestamp),
        (field::MESSAGE, plain.message()),
        (field::ROUTING, &envelope.bytes),
        (field::TRACE_ID, &trace_id),
        (field::SPAN_ID, &span_id),
        (field::TRACESTATE, envelope.routing.tracestate.as_bytes()),
    ];
    let has_tracestate = !envelope.routing.tracestate.is_empty();
    segment.push_fields(&fields[..fields.len() - usize::from(!has_tracestate)]);
}

impl Core {
    /// Accepts a run of publishes, or says why none of it is. `false` if one of them was published before: they are to be published one
    /// by one then.
    ///
    /// # Errors
    ///
    /// See [`Core::publish`].
    pub(crate) fn publish_passing(
        &mut self,
        caller: &Caller,
        run: &Run,
        now: Now,
    ) -> Result<bool, Error> {
        let routing = &run.envelope.routing;
        decide(Call::PublishMessage, caller, &routing.namespace)?;
        self.log.admit()?;
        let sender = AgentId::from(routing.from_agent_id.as_str());
        let context = run.publishes.first().map(|(plain, _)| plain.context_id());
        let mut key = Key {
            order: OrderKey::of(context.unwrap_or_default(), "", &sender),
            sender: sender.clone(),
            id: String::new(),
        };
        for (plain, _) in &run.publishes {
            key.id.clear();
            key.id.push_str(plain.message_id());
            if self.state.dedupe.get(&key, now.instant).is_some() {
                return Ok(false);
            }
        }
        let facts = Facts {
            sender,
            recipient: self.recipient(routing),
            task: None,
            wants_one: false,
            wants: Wants {
                topics: topics(routing),
                tags: &routing.required_tags,
                input_modes: &routing.required_input_modes,
                output_modes: &routing.required_output_modes,
            },
        };
        let route = route(&facts, |wants| self.candidates(wants));
        self.counters.events.inc_by(run.len() as u64);
        self.pass(run.segment.clone(), route);
        Ok(true)
    }
}

fn topics(routing: &AgentEventMetadata) -> Vec<&str> {
    let topics = routing.subscriptions.iter().map(String::as_str);
    topics.filter(|topic| !topic.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message as Said, Role},
        agenthub::agent_event,
    };

    use super::{super::super::core::event, *};

    /// Subscribers see no difference between what passed and what was looked at by itself.
    #[test]
    fn what_passes_is_the_event_that_it_would_have_been() {
        let said = Said {
            message_id: "m".to_owned(),
            context_id: "c".to_owned(),
            ..Said::new(Role::User, "text")
        };
        let routing = AgentEventMetadata {
            event_type: "t".to_owned(),
            durability: Durability::Memory.into(),
            traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned(),
            tracestate: "vendor=1".to_owned(),
            ..AgentEventMetadata::default()
        };
        let publish = Publish {
            sequence: 7,
            payload: Some(Payload::Message(said.clone())),
            routing: Some(routing.clone()),
        };
        let plain = Plain::read(&publish.encode_to_vec().into()).expect("it is plain");
        let envelope = Envelope::passing("a", plain.routing()).expect("it passes");
        let mut publishes = [plain].into_iter().peekable();
        let run = Run::first(&Arc::new(envelope), &mut publishes).expect("there is one");

        let from = AgentEventMetadata {
            from_agent_id: "a".to_owned(),
            ..routing
        };
        let payload = agent_event::Payload::Message(said);
        let found = run.segment.event(0);
        let mut expected = event(payload, Some(from.clone()), Now::read());
        expected.event_id.clone_from(&found.event_id);
        expected.timestamp.clone_from(&found.timestamp);
        assert_eq!(***found, *expected);
        assert_eq!(run.publishes[0].1, found.event_id);
        assert!(found.event_id.starts_with("evt_m_"), "{}", found.event_id);
        let again: Vec<Publish> = run.one_by_one().collect();
        assert_eq!(
            again,
            [Publish {
                routing: Some(from),
                ..publish
            }]
        );
    }
}
