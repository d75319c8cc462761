//! Parts of a published event that its record leaves out, because the rest of the event says the same.

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

/// The fields of an `AgentEvent` that may be left out, and those behind them.
const EVENT_ID: u32 = 1;
const TRACE_ID: u32 = 30;
const SPAN_ID: u32 = 31;
const TRACESTATE: u32 = 32;
const POSITION: u32 = 40;

/// The omitted parts, as the record says them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Omitted {
    /// Made of the payload and the time.
    event_id: bool,
    /// Those of `routing.traceparent`.
    trace: bool,
    /// Sender, order key and id of the key under which the publish is known.
    pub(super) key: bool,
}

impl Omitted {
    /// The parts of a published event that follow from the rest. Nothing does of an event that nobody has looked into, so that it need not
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

    /// The encoded event without the omitted fields, in pieces. It is encoded in the order of its fields, as prost does it.
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

    /// Puts the omitted fields back into an event.
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

    /// The key of a publish of which only the digest is written.
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

/// Tells whether the ids of the trace are the digits that the envelope has.
fn is_of_traceparent(event: &AgentEvent) -> bool {
    let traceparent = event.routing.as_ref().map_or("", |r| &*r.traceparent);
    traceparent.get(3..35) == Some(&event.trace_id)
        && traceparent.get(36..52) == Some(&event.span_id)
        && traceparent.parse::<TraceContext>().is_ok()
}

/// Sender, order key and id of a publish, as far as its event still has them.
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
