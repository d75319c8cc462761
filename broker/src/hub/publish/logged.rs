//! Logged plain messages: their bytes are passed on unchanged, and only the fields that the hub needs are read.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    super::core::{Core, Now},
    Receipt, Repetition,
    rights::Acting,
    run::{Run, Stamp},
};
use crate::{
    Caller, Error,
    access::{Call, decide},
    dedupe::{self, Key, Known, PublishOutcome},
    event_id, fields,
    log::{Entry, Published},
    sealed::Sealed,
};

impl Core {
    /// Publishes one after the other. Each has its own answer, as from [`Core::publish`]; the log is asked once whether
    /// it accepts them.
    ///
    /// # Errors
    ///
    /// The caller may not publish, or the log accepts nothing: none is published.
    pub(crate) fn publish_logged(
        &mut self,
        caller: &Caller,
        run: &Run,
        now: Now,
    ) -> Result<Vec<Result<Receipt, Error>>, Error> {
        let envelope = &*run.envelope;
        decide(Call::PublishMessage, caller, &envelope.routing.namespace)?;
        // Its sender is the agent of the stream.
        self.may_send(&Acting::itself(caller), &envelope.routing)?;
        self.admit()?;
        let (sender, order) = run.sender();
        let route = self.route_of(caller, run, sender.clone())?;
        let mut room = self.mail_room(caller, &route);
        let stamp = Stamp::of(now);
        let fingerprints = self.state.dedupe.fingerprints(&sender, &order);
        let mut events = Vec::with_capacity(run.len());
        let receipts = run.publishes.iter().map(|plain| {
            let key = Key {
                sender: sender.clone(),
                order: order.clone(),
                id: plain.message_id().to_owned(),
            };
            let known: Known = (Arc::new(key), plain.digest(&envelope.routing.to_agent_id));
            let publish = fingerprints.of(plain.message_id());
            if let Some(seen) = self.seen("", &known, publish, Repetition::Refuse, now)? {
                let position = self.log.id().token(seen.position);
                let event_id = event_id::join("evt", plain.message_id(), &seen.stamp.to_string());
                return Ok(self.receipt(event_id, position));
            }
            self.state.dedupe.admit(&sender, now.instant)?;
            room.take(envelope.event_bytes(plain))?;
            let digest = known.1;
            let event_id = stamp.event_id(plain);
            let at = self.log.next_position();
            let position = self.log.id().token(at);
            let bytes: Bytes = stamp.event(plain, &event_id, envelope, &position, |fields| {
                let mut bytes = Vec::with_capacity(fields::len(fields));
                fields::put(fields, &mut bytes);
                bytes.into()
            });
            let event = Arc::new(Sealed::encoded(bytes));
            events.push((at, event.clone()));
            let published = Published {
                event,
                route: route.clone(),
                assignee: None,
                passes_by: false,
                key: Some(known),
            };
            let entry = Entry::Published(published);
            let record = self.next_record(caller, order.clone(), entry, now);
            // All that the state keeps of such a record, besides its delivery.
            let seen = PublishOutcome {
                digest: dedupe::short(&digest),
                position: at,
                stamp: now.unix_seconds(),
            };
            let dedupe = &mut self.state.dedupe;
            dedupe.remember(&sender, publish, seen, now.instant);
            self.log.append(record);
            Ok(Receipt {
                event_id,
                position,
                safe_at: at,
                is_repeated: false,
            })
        });
        let receipts = receipts.collect();
        self.metrics.events.inc_by(events.len() as u64);
        self.hold(events, route, order, now);
        Ok(receipts)
    }
}
