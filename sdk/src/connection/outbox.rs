//! Publishes on their way: in order, within the hub's credit, and again after a break.

use std::collections::VecDeque;

use agenthub_proto::{
    agenthub::{Ack, AgentEventMetadata, Publish, PublishResult, publish},
    http2,
};
use bytes::{Bytes, BytesMut};
use prost::{Message as _, encoding::message};
use tokio::time::Instant;
use tonic::Code;
use uuid::Uuid;

use super::{Lease, Published, lingering::Lingering, link::Batch};
use crate::Error;

/// The publishes of one frame, unless one batch has more.
const PER_FRAME: usize = 64;

/// The bytes of one frame, unless one batch has more: HTTP/2 carries it in one of its own, so that the hub puts nothing together.
const FRAME_BYTES: usize = http2::FRAME as usize - 1024;

/// The number of a frame's publishes, and the most bytes before each.
const PUBLISH: u32 = 2;
const HEAD: usize = 6;

/// The most bytes of one batch; the hub takes no larger frames.
const BATCH_BYTES: usize = 6 * 1024 * 1024;

/// The publishes that are not answered yet. A batch is answered when each of its publishes is.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    next_sequence: u64,
    window: usize,
    /// Publishes sent and not answered.
    unanswered: usize,
    sent: VecDeque<Entry>,
    waiting: VecDeque<Entry>,
    lingering: Lingering,
}

#[derive(Debug)]
struct Entry {
    /// Without its publishes.
    batch: Batch,
    /// The publishes as fields of a frame: the same bytes however often they are sent.
    encoded: Bytes,
    /// The sequence of the first publish.
    first: u64,
    results: Vec<Option<Result<Published, Error>>>,
}

/// A publish that the hub knows again, so that sending it twice does it once: a message by its id, everything else by a key. Messages with
/// one envelope, which a key would make different, go through the hub together.
pub(crate) fn publish(payload: publish::Payload, mut routing: AgentEventMetadata) -> Publish {
    let has_id = matches!(&payload, publish::Payload::Message(m) if !m.message_id.is_empty());
    if routing.idempotency_key.is_empty() && !has_id {
        routing.idempotency_key = Uuid::now_v7().to_string();
    }
    Publish {
        payload: Some(payload),
        routing: Some(routing),
        ..Publish::default()
    }
}

impl Outbox {
    /// The batches that may wait to be sent; more are not taken from who publishes.
    pub(super) const CAPACITY: usize = 1024;

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() + self.lingering.len() >= Self::CAPACITY
    }

    /// True if everything was sent and answered.
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.waiting.is_empty() && self.lingering.is_empty()
    }

    /// Keeps a batch of a task back for a moment: it goes with the next one of that task, or alone.
    pub(super) fn linger(&mut self, task_id: String, batch: Batch, now: Instant) {
        if let Some(before) = self.lingering.take(&task_id) {
            self.add(before);
        }
        self.lingering.add(task_id, batch, now);
    }

    /// Time at which the next batch that was kept back goes alone.
    pub(super) fn next_release(&mut self) -> Option<Instant> {
        self.lingering.next()
    }

    /// Adds the batches that were kept back long enough.
    pub(super) fn release(&mut self, now: Instant) {
        while let Some(batch) = self.lingering.pop_due(now) {
            self.add(batch);
        }
    }

    /// Adds a batch, behind what was kept back of its tasks.
    pub(super) fn push(&mut self, batch: Batch) {
        if !self.lingering.is_empty() {
            let tasks = batch.publishes.iter().filter_map(task_id);
            let before: Vec<Batch> = tasks.filter_map(|id| self.lingering.take(id)).collect();
            before.into_iter().for_each(|batch| self.add(batch));
        }
        self.add(batch);
    }

    fn add(&mut self, mut batch: Batch) {
        let bytes: usize = batch.publishes.iter().map(Publish::encoded_len).sum();
        if bytes > BATCH_BYTES {
            let error =
                format!("{bytes} bytes at once are more than the hub takes ({BATCH_BYTES})");
            return batch.answer(Err(Error::Invalid(error)));
        }
        let first = self.next_sequence + 1;
        let mut publishes = std::mem::take(&mut batch.publishes);
        if let (Some(lease), Some(last)) = (&batch.ack, publishes.last_mut()) {
            last.ack = Some(Ack {
                subscription: lease.subscription,
                position: vec![lease.position.clone()],
            });
            last.ack_since = first;
        }
        let mut encoded = BytesMut::with_capacity(bytes + publishes.len() * HEAD);
        for publish in &mut publishes {
            self.next_sequence += 1;
            publish.sequence = self.next_sequence;
            message::encode(PUBLISH, publish, &mut encoded);
        }
        self.waiting.push_back(Entry {
            batch,
            encoded: encoded.freeze(),
            first,
            results: vec![None; publishes.len()],
        });
    }

    /// A stream has begun: what the last one left unanswered goes first.
    pub(super) fn restart(&mut self, window: u32) {
        self.window = window.max(1) as usize;
        self.unanswered = 0;
        while let Some(entry) = self.sent.pop_back() {
            self.waiting.push_front(entry);
        }
    }

    /// The hub has lost its memory: what belongs to tasks of its last life is of no use.
    pub(super) fn forget(&mut self, epoch: u64) {
        let entries = std::mem::take(&mut self.waiting);
        let (kept, lost): (VecDeque<Entry>, VecDeque<Entry>) = entries
            .into_iter()
            .partition(|entry| entry.batch.epoch.is_none_or(|e| e == epoch));
        self.waiting = kept;
        let lost = lost.into_iter().map(|entry| entry.batch);
        for batch in lost.chain(self.lingering.forget(epoch)) {
            let error = Error::Cancelled("the hub restarted and no longer knows the task".into());
            batch.answer(Err(error));
        }
    }

    /// True if there is something that may be sent.
    pub(super) fn is_ready(&self) -> bool {
        self.waiting.front().is_some_and(|e| self.fits(e))
    }

    /// Puts the next publishes into a frame.
    pub(super) fn fill(&mut self, frame: &mut BytesMut) {
        let (mut publishes, mut bytes) = (0, 0);
        while let Some(entry) = self.waiting.front() {
            bytes += entry.encoded.len();
            let full = publishes + entry.results.len() > PER_FRAME || bytes > FRAME_BYTES;
            if !self.fits(entry) || (publishes > 0 && full) {
                break;
            }
            let Some(entry) = self.waiting.pop_front() else {
                break;
            };
            let unanswered = entry.results.iter().filter(|r| r.is_none()).count();
            self.unanswered += unanswered;
            publishes += entry.results.len();
            frame.extend_from_slice(&entry.encoded);
            self.sent.push_back(entry);
        }
    }

    /// Takes a result in. Returns the delivery that the hub has acknowledged with it: that of a batch of which it took each publish.
    pub(super) fn result(&mut self, result: PublishResult) -> Option<Lease> {
        let found = self.sent.iter_mut().enumerate().find_map(|(n, entry)| {
            let index = usize::try_from(result.sequence.checked_sub(entry.first)?).ok()?;
            Some((n, entry.results.get_mut(index)?))
        });
        let (n, slot) = found.filter(|(_, slot)| slot.is_none())?;
        *slot = Some(match Code::from_i32(result.code) {
            Code::Ok => Ok(Published {
                event_id: result.event_id,
                position: result.position,
            }),
            _ => Err(Error::from_result(result)),
        });
        self.unanswered = self.unanswered.saturating_sub(1);
        if self.sent[n].results.iter().any(Option::is_none) {
            return None;
        }
        let mut entry = self.sent.remove(n)?;
        let results: Vec<_> = entry.results.into_iter().flatten().collect();
        let lease = entry.batch.ack.take();
        let is_acknowledged = results.iter().all(Result::is_ok);
        entry.batch.answer(Ok(results));
        lease.filter(|_| is_acknowledged)
    }

    /// Fails all that waits: no publish is sent any more.
    pub(super) fn close(&mut self, error: &Error) {
        let entries = self.sent.drain(..).chain(self.waiting.drain(..));
        let batches = entries.map(|entry| entry.batch);
        for batch in batches.chain(self.lingering.drain()) {
            batch.answer(Err(error.clone()));
        }
    }

    fn fits(&self, entry: &Entry) -> bool {
        self.unanswered == 0 || self.unanswered + entry.results.len() <= self.window
    }
}

/// The task that a publish belongs to.
fn task_id(publish: &Publish) -> Option<&str> {
    let task_id = match publish.payload.as_ref()? {
        publish::Payload::Message(message) => &message.task_id,
        publish::Payload::StatusUpdate(update) => &update.task_id,
        publish::Payload::ArtifactUpdate(update) => &update.task_id,
    };
    Some(task_id)
        .filter(|id| !id.is_empty())
        .map(String::as_str)
}

#[cfg(test)]
mod tests;
