//! Unlogged plain messages: encoded before the lock is taken, in one segment.

use std::sync::Arc;

use super::{
    super::core::{Core, Now},
    rights::Acting,
    run::{Run, Stamp},
};
use crate::{
    Caller, Error,
    access::{Call, decide},
    plain::Plain,
    segment::{self, Segment},
};

/// A run of unlogged publishes.
#[derive(Debug)]
pub(crate) struct Passing {
    pub(crate) run: Run,
    /// Ids of its events.
    pub(crate) event_ids: Vec<String>,
    segment: Arc<Segment>,
}

impl From<Run> for Passing {
    fn from(run: Run) -> Self {
        let stamp = Stamp::of(Now::read());
        let mut segment = segment::Builder::new(run.len(), run.bytes());
        let event_ids = run.publishes.iter().map(|plain| {
            let event_id = stamp.event_id(plain);
            stamp.event(plain, &event_id, &run.envelope, "", |fields| {
                segment.push_fields(fields);
            });
            event_id
        });
        Self {
            event_ids: event_ids.collect(),
            segment: Arc::new(segment.build()),
            run,
        }
    }
}

impl Core {
    /// Accepts all publishes, or refuses all of them. `false` if one is a duplicate, or there is no room for all: they are
    /// to be published one by one then.
    ///
    /// # Errors
    ///
    /// See [`Core::publish`].
    pub(crate) fn publish_passing(
        &mut self,
        caller: &Caller,
        passing: &Passing,
        now: Now,
    ) -> Result<bool, Error> {
        let run = &passing.run;
        decide(
            Call::PublishMessage,
            caller,
            &run.envelope.routing.namespace,
        )?;
        // Its sender is the agent of the stream.
        self.may_send(&Acting::itself(caller), &run.envelope.routing)?;
        let (sender, order) = run.sender();
        let ahead = self.admit_passing(&order)?;
        let dedupe = &self.state.dedupe;
        let fingerprints = dedupe.fingerprints(&sender, &order);
        let is_known = |plain: &Plain| {
            let publish = fingerprints.of(plain.message_id());
            dedupe.get(publish, now.instant).is_some()
        };
        if !dedupe.is_empty() && run.publishes.iter().any(is_known) {
            return Ok(false);
        }
        let route = self.route_of(caller, run, sender)?;
        if !self.mail_room(caller, &route).has(run.bytes()) {
            return Ok(false);
        }
        self.metrics.events.inc_by(run.len() as u64);
        self.pass(passing.segment.clone(), route, ahead, now);
        Ok(true)
    }
}
