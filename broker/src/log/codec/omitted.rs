//! Parts of a published event that its record omits, because they follow from the rest of the event.

use std::sync::Arc;

use agenthub_proto::{
    agenthub::{AgentEvent, agent_event::Payload},
    trace::TraceContext,
};
use uuid::Uuid;

use crate::{
    dedupe::{Key, Known},
    event_id,
    fields::{self, Field},
    id::OrderKey,
    log::Published,
};

/// Fields of an `AgentEvent` that may be omitted, and those after them.
const EVENT_ID: u32 = 1;
const TRACE_ID: u32 = 30;
const SPAN_ID: u32 = 31;
const TRACESTATE: u32 = 32;
const POSITION: u32 = 40;

/// The omitted parts, as stored in the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Omitted {
    /// Follows from the payload and the time.
    event_id: bool,
    /// The ids of `routing.traceparent`.
    trace: bool,
    /// Sender, order key and id of the deduplication key.
    pub(super) key: bool,
}

impl Omitted {
    /// The parts of a published event that can be omitted. None for an event that is not decoded, so that it need not
    /// be decoded for this.
    pub(super) fn of(published: &Published) -> Self {
        let Some(event) = published.event.looked_into() else {
            return Self::default();
        };
        let id = event_id::of_event(event);
        Self {
            event_id: !event.event_id.is_empty() && id.is_some_and(|id| id == event.event_id),
            trace: is_of_traceparent(event),
            key: published.key.as_ref().is_some_and(|(key, _)| {
                let (sender, order, id) = names(event);
                *key.sender == *sender && *key.order == *order && key.id == id
            }),
        }
    }

    pub(super) fn from_bits(bits: u32) -> Self {
        Self {
            event_id: bits & 1 != 0,
            trace: bits & 2 != 0,
            key: bits & 4 != 0,
        }
    }

    pub(super) fn bits(self) -> u32 {
        u32::from(self.event_id) | u32::from(self.trace) << 1 | u32::from(self.key) << 2
    }

    /// The encoded event without the omitted fields, in pieces. Relies on the order of fields, as prost writes it.
    pub(super) fn strip<'a>(self, event: &AgentEvent, bytes: &'a [u8]) -> [&'a [u8]; 2] {
        let id = [(EVENT_ID, event.event_id.as_bytes())];
        let begin = if self.event_id { fields::len(&id) } else { 0 };
        if !self.trace {
            return [&bytes[begin..], &[]];
        }
        let trace: [Field<'_>; 2] = [
            (TRACE_ID, event.trace_id.as_bytes()),
            (SPAN_ID, event.span_id.as_bytes()),
        ];
        let rest: [Field<'_>; 2] = [
            (TRACESTATE, event.tracestate.as_bytes()),
            (POSITION, event.position.as_bytes()),
        ];
        let rest = bytes.len() - fields::len(&rest);
        [&bytes[begin..rest - fields::len(&trace)], &bytes[rest..]]
    }

    /// Restores the omitted fields of an event.
    pub(super) fn restore(self, event: &mut AgentEvent) {
        if self.event_id {
            event.event_id = event_id::of_event(event).unwrap_or_default();
        }
        if self.trace {
            let routing = event.routing.as_ref();
            let trace = TraceContext::parse_or_start(routing.map_or("", |r| &r.traceparent));
            event.trace_id = trace.trace_id();
            event.span_id = trace.span_id();
        }
    }

    /// The key of a publish of which only the digest is stored.
    pub(super) fn known(event: &AgentEvent, digest: Uuid) -> Known {
        let (sender, order, id) = names(event);
        let key = Key {
            sender: sender.into(),
            order: order.into(),
            id: id.to_owned(),
        };
        (Arc::new(key), digest)
    }
}

/// True if the trace ids equal those of the envelope.
fn is_of_traceparent(event: &AgentEvent) -> bool {
    let traceparent = event.routing.as_ref().map_or("", |r| &*r.traceparent);
    traceparent.get(3..35) == Some(&event.trace_id)
        && traceparent.get(36..52) == Some(&event.span_id)
        && traceparent.parse::<TraceContext>().is_ok()
}

/// Sender, order key and id of a publish, from its event.
fn names(event: &AgentEvent) -> (&str, &str, &str) {
    let sender = event.sender();
    let order = OrderKey::text(event.context_id(), event.task_id(), sender);
    let key = event.routing.as_ref().map_or("", |r| &*r.idempotency_key);
    let id = match (&event.payload, key) {
        (Some(Payload::Message(message)), "") => &message.message_id,
        (_, key) => key,
    };
    (sender, order, id)
}
