//! Deduplication of publishes.
//!
//! An entry is a fingerprint and a few numbers. The number of entries of a sender is limited: beyond the limit its
//! publishes are refused, and no entry is dropped before its time.

mod fingerprint;
mod index;
mod queue;
mod senders;

use std::{sync::Arc, time::Duration};

use sha1::{Digest, Sha1};
use tokio::time::Instant;
use uuid::{Builder, Uuid};

pub(crate) use self::fingerprint::{Fingerprint, Fingerprints, Secret};
use self::{
    index::Index,
    queue::{Queue, Remembered},
    senders::Senders,
};
use crate::{
    Error,
    id::{AgentId, OrderKey},
    log::Position,
};

/// Identity of a publish: its sender, with the idempotency key or, without one, the message id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) sender: AgentId,
    pub(crate) order: OrderKey,
    pub(crate) id: String,
}

/// Key of a publish, with a digest of its body and recipient: the same id with another digest is another publish.
pub(crate) type Known = (Arc<Key>, Uuid);

/// Outcome of a publish, without the parts that follow from the repeated publish itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PublishOutcome {
    /// Digest of body and recipient, shortened: see [`short`].
    pub(crate) digest: u64,
    pub(crate) position: Position,
    /// The number at the end of the event's id. The part before it follows from the body.
    pub(crate) stamp: u64,
}

/// Limits on entries, in time and number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) window: Duration,
    pub(crate) per_sender: usize,
    pub(crate) total: usize,
}

/// The publishes within a time window.
#[derive(Debug)]
pub(crate) struct Dedupe {
    bounds: Bounds,
    secret: Secret,
    /// Base of the times, which are stored as nanoseconds.
    base: Instant,
    senders: Senders,
    /// The last publish of each fingerprint.
    index: Index,
    queue: Queue,
}

/// Expired entries dropped per added one: more than one, so that their number shrinks.
const AT_ONCE: usize = 2;
/// Expired entries dropped when a limit is reached, and at each tick: takes well under a millisecond.
const MANY: usize = 2048;

impl Dedupe {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            secret: Secret::random(),
            base: Instant::now(),
            senders: Senders::default(),
            index: Index::default(),
            queue: Queue::default(),
        }
    }

    /// Secret of the fingerprints, for snapshots.
    pub(crate) fn secret(&self) -> Secret {
        self.secret
    }

    /// Sets the secret. There must be no entry yet.
    pub(crate) fn set_secret(&mut self, secret: Secret) {
        debug_assert!(self.queue.is_empty(), "their fingerprints are others");
        self.secret = secret;
    }

    /// The fingerprints of one sender in one order.
    pub(crate) fn fingerprints(&self, sender: &str, order: &str) -> Fingerprints {
        self.secret.fingerprints(sender, order)
    }

    pub(crate) fn fingerprint(&self, key: &Key) -> Fingerprint {
        self.fingerprints(&key.sender, &key.order).of(&key.id)
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// True if there is no entry, so that no lookup is needed.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn get(&self, fingerprint: Fingerprint, now: Instant) -> Option<PublishOutcome> {
        let number = self.index.get(fingerprint, &self.queue)?;
        let found = self.queue.get(number)?;
        (!self.is_over(found, now)).then_some(found.seen)
    }

    /// All entries, oldest first.
    pub(crate) fn iter(
        &self,
    ) -> impl Iterator<Item = (&AgentId, Fingerprint, Instant, PublishOutcome)> {
        let last = |number: &u64, found: &Remembered| {
            self.index.get(found.fingerprint, &self.queue) == Some(*number)
        };
        let numbered = self.queue.iter();
        numbered
            .filter(move |(number, found)| last(number, found))
            .map(|(_, found)| {
                let sender = self.senders.name(found.sender);
                (
                    sender,
                    found.fingerprint,
                    self.instant(found.at),
                    found.seen,
                )
            })
    }

    /// True if a publish of this age is within the window.
    pub(crate) fn remembers(&self, age: Duration) -> bool {
        age <= self.bounds.window
    }

    /// Checks that one more publish of a sender can be remembered.
    ///
    /// # Errors
    ///
    /// [`Error::ResourceExhausted`] if it has reached its limit, or all senders together have.
    pub(crate) fn admit(&mut self, sender: &AgentId, now: Instant) -> Result<(), Error> {
        if self.refusal(sender).is_some() {
            self.forget_expired(MANY, now);
        }
        match self.refusal(sender) {
            Some(refusal) => Err(refusal),
            None => Ok(()),
        }
    }

    /// Remembers a publish, regardless of limits.
    pub(crate) fn remember(
        &mut self,
        sender: &AgentId,
        fingerprint: Fingerprint,
        seen: PublishOutcome,
        now: Instant,
    ) {
        self.forget_expired(AT_ONCE, now);
        let remembered = Remembered {
            fingerprint,
            seen,
            at: self.nanos(now),
            sender: self.senders.add(sender),
        };
        self.index.set(fingerprint, self.queue.next(), &self.queue);
        self.queue.push(remembered);
    }

    /// Drops some of the expired entries.
    pub(crate) fn forget_some(&mut self, now: Instant) {
        self.forget_expired(MANY, now);
    }

    fn forget_expired(&mut self, most: usize, now: Instant) {
        for _ in 0..most {
            let Some((number, oldest)) = self.queue.front() else {
                return;
            };
            if !self.is_over(oldest, now) {
                return;
            }
            // A later publish may have the same fingerprint.
            self.index.remove(oldest.fingerprint, number);
            self.senders.remove(oldest.sender);
            self.queue.pop();
        }
    }

    fn refusal(&self, sender: &AgentId) -> Option<Error> {
        let seconds = self.bounds.window.as_secs();
        let advice = "publish more slowly, or with durability MEMORY what may be lost";
        let Bounds {
            per_sender, total, ..
        } = self.bounds;
        if self.senders.count(sender) >= per_sender {
            return Some(Error::ResourceExhausted(format!(
                "\"{sender}\" has published {per_sender} events in the last {seconds} s; more are not taken, since repeated ones could not be told; {advice}"
            )));
        }
        (self.queue.len() >= total).then(|| {
            Error::ResourceExhausted(format!(
                "{total} events were published in the last {seconds} s by all senders; more are not taken, since repeated ones could not be told; {advice}"
            ))
        })
    }

    fn is_over(&self, remembered: &Remembered, now: Instant) -> bool {
        now.saturating_duration_since(self.instant(remembered.at)) > self.bounds.window
    }

    fn nanos(&self, at: Instant) -> i64 {
        let nanos = |d: Duration| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX);
        let after = nanos(at.saturating_duration_since(self.base));
        let before = nanos(self.base.saturating_duration_since(at));
        after - before
    }

    fn instant(&self, nanos: i64) -> Instant {
        let distance = Duration::from_nanos(nanos.unsigned_abs());
        let at = match nanos < 0 {
            true => self.base.checked_sub(distance),
            false => self.base.checked_add(distance),
        };
        at.expect("it was an instant before")
    }
}

/// Digest of an encoded body and its recipient, if it names one: a UUIDv5, computed with the processor's SHA
/// instructions if it has them.
pub(crate) fn digest(body: &[u8], to: &str) -> Uuid {
    let mut sha1 = Sha1::new();
    sha1.update(Uuid::NAMESPACE_OID);
    sha1.update(body);
    if !to.is_empty() {
        // Separator: no body ends with it.
        sha1.update([0]);
        sha1.update(to);
    }
    let [bytes @ .., _, _, _, _] = <[u8; 20]>::from(sha1.finalize());
    Builder::from_sha1_bytes(bytes).into_uuid()
}

/// The stored part of a digest: enough to detect a sender that reused an id by mistake.
pub(crate) fn short(digest: &Uuid) -> u64 {
    let (high, low) = digest.as_u64_pair();
    high ^ low
}

/// The number at the end of an event's id.
pub(crate) fn stamp(event_id: &str) -> Option<u64> {
    let (_, number) = event_id.rsplit_once('_')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests;
