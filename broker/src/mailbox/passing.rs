//! Mail that came together passes together, as long as nothing else is there.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Mail, Mailbox, Parcel, leases::Lease, waiting::Waiting};
use crate::{id::InstanceId, segment::Segment};

impl Mailbox {
    /// Adds the events of a segment, which are alike; `first` is the first of them. See [`push`](Self::push).
    pub(crate) fn pass(&mut self, first: Mail, segment: &Arc<Segment>, now: Instant) {
        let first = Waiting::new(first, self.serial + 1, self.born, now);
        let parcel = Parcel::new(first, segment.clone());
        self.serial += parcel.len() as u64;
        self.events += parcel.len();
        self.bytes += parcel.bytes();
        if self.room.may_pass(&parcel) {
            self.room.pass(parcel);
            return;
        }
        for waiting in parcel.each() {
            self.room.insert(waiting);
        }
    }

    /// Takes out what passes and is next in turn, at most so many pieces. Of what may be lost, whoever takes it has it, once; on the rest
    /// the instance has a lease.
    pub(crate) fn take_passing(
        &mut self,
        count: usize,
        instance: &InstanceId,
        now: Instant,
    ) -> Option<Parcel> {
        if self.lent.is_with_another(instance) {
            return None;
        }
        let parcel = self.room.pop_passing(count)?;
        if parcel.is_logged() {
            for position in parcel.positions() {
                self.note(*position);
            }
            let until = now + self.bounds.ack_deadline;
            self.lent.insert(parcel.clone(), instance, until);
        } else {
            self.events -= parcel.len();
            self.bytes -= parcel.bytes();
        }
        Some(parcel)
    }

    /// What is out in parcels is out piece by piece from here on: something happens to one of them, or its lane counts.
    pub(super) fn part(&mut self) {
        for Lease {
            waiting,
            instance,
            until,
        } in self.lent.take()
        {
            if let Some(position) = waiting.mail.position {
                self.room.hold(&waiting.lane(), &instance);
                self.leases.insert(position, waiting, &instance, until);
            }
        }
    }
}
