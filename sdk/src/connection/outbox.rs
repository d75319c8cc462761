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
            code => Err(Error::from_code(code, &result.error)),
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

    /// Nothing will be sent any more.
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
mod tests {
    use super::*;
    use agenthub_proto::{
        a2a::{Message, Role},
        agenthub::AgentFrame,
    };
    use proptest::prelude::*;
    use tokio::sync::oneshot;

    type Waiter = oneshot::Receiver<super::super::link::Answer>;

    fn batch(publishes: usize, acked: bool, epoch: Option<u64>) -> (Batch, Waiter) {
        let (done, answer) = oneshot::channel();
        let message = || publish::Payload::Message(Message::new(Role::User, "hi"));
        let batch = Batch {
            publishes: (0..publishes)
                .map(|_| publish(message(), AgentEventMetadata::default()))
                .collect(),
            ack: acked.then(|| Lease {
                subscription: 1,
                position: "p".into(),
                epoch: 0,
            }),
            epoch,
            done: Some(done),
        };
        (batch, answer)
    }

    /// The publishes of the next frame.
    fn next_publishes(outbox: &mut Outbox) -> Vec<Publish> {
        let mut frame = BytesMut::new();
        outbox.fill(&mut frame);
        AgentFrame::decode(frame).expect("a frame").publish
    }

    fn sequences(publishes: &[Publish]) -> Vec<u64> {
        publishes.iter().map(|p| p.sequence).collect()
    }

    fn accepted(sequence: u64) -> PublishResult {
        PublishResult {
            sequence,
            event_id: format!("e{sequence}"),
            ..Default::default()
        }
    }

    #[test]
    fn what_was_not_answered_is_sent_again_in_order_byte_for_byte() {
        let mut outbox = Outbox::default();
        outbox.restart(10);
        let mut answers = Vec::new();
        for n in 1..=3 {
            let (batch, answer) = batch(n, false, None);
            outbox.push(batch);
            answers.push(answer);
        }
        let first = next_publishes(&mut outbox);
        assert_eq!(sequences(&first), [1, 2, 3, 4, 5, 6]);
        outbox.result(accepted(1));
        assert!(
            answers[0]
                .try_recv()
                .is_ok_and(|r| r.is_ok_and(|r| r[0].is_ok()))
        );

        outbox.restart(10);
        let again = next_publishes(&mut outbox);
        assert_eq!(again, first[1..]);
    }

    #[test]
    fn the_hub_knows_every_publish_again() {
        let key_of = |payload| {
            let routing = publish(payload, AgentEventMetadata::default()).routing;
            routing.expect("it has one").idempotency_key
        };
        let said = Message::new(Role::User, "text");
        let nameless = Message {
            message_id: String::new(),
            ..said.clone()
        };
        assert!(!said.message_id.is_empty());
        assert_eq!(
            key_of(publish::Payload::Message(said)),
            "",
            "its id is enough"
        );
        assert!(!key_of(publish::Payload::Message(nameless)).is_empty());
        let update = publish::Payload::StatusUpdate(Default::default());
        assert!(!key_of(update).is_empty());
    }

    #[test]
    fn an_acknowledgement_depends_on_its_own_publishes_only() {
        let mut outbox = Outbox::default();
        outbox.restart(10);
        for (publishes, acked) in [(1, false), (2, true), (1, false)] {
            outbox.push(batch(publishes, acked, None).0);
        }
        let publishes = next_publishes(&mut outbox);
        assert_eq!(sequences(&publishes), [1, 2, 3, 4]);
        let acks: Vec<_> = publishes.iter().map(|p| p.ack.is_some()).collect();
        assert_eq!(acks, [false, false, true, false]);
        assert_eq!(publishes[2].ack_since, 2);
        assert!(!outbox.is_ready());
    }

    #[test]
    fn a_delivery_is_settled_when_all_publishes_that_settle_it_were_taken() {
        let mut outbox = Outbox::default();
        outbox.restart(10);
        for (publishes, acked) in [(2, true), (2, true), (1, false)] {
            outbox.push(batch(publishes, acked, None).0);
        }
        next_publishes(&mut outbox);
        let refused = PublishResult {
            code: Code::FailedPrecondition.into(),
            ..accepted(3)
        };
        let results = [accepted(1), accepted(2), refused, accepted(4), accepted(5)];
        let settled = results.map(|result| outbox.result(result).is_some());
        assert_eq!(settled, [false, true, false, false, false]);
        assert!(outbox.is_empty());
    }

    fn of_task(task_id: &str) -> Batch {
        let mut batch = batch(1, false, None).0;
        if let Some(publish::Payload::Message(message)) = &mut batch.publishes[0].payload {
            task_id.clone_into(&mut message.task_id);
        }
        batch
    }

    #[test]
    fn what_lingers_goes_with_the_next_batch_of_its_task_or_alone() {
        let mut outbox = Outbox::default();
        outbox.restart(10);
        let now = Instant::now();
        for task in ["a", "b"] {
            outbox.linger(task.to_owned(), of_task(task), now);
        }
        outbox.push(of_task("c"));
        let tasks = |publishes: &[Publish]| -> Vec<String> {
            let tasks = publishes.iter().filter_map(task_id);
            tasks.map(str::to_owned).collect()
        };
        assert_eq!(tasks(&next_publishes(&mut outbox)), ["c"]);
        outbox.push(of_task("b"));
        assert_eq!(tasks(&next_publishes(&mut outbox)), ["b", "b"]);
        assert!(!outbox.is_empty(), "one lingers");
        let due = outbox.next_release().expect("one lingers");
        outbox.release(due);
        assert_eq!(tasks(&next_publishes(&mut outbox)), ["a"]);
        assert_eq!(outbox.next_release(), None);
    }

    #[test]
    fn a_hub_without_memory_gets_nothing_of_its_last_lifes_tasks() {
        let mut outbox = Outbox::default();
        outbox.restart(10);
        let (old, mut old_answer) = batch(1, true, Some(1));
        let (new, mut new_answer) = batch(1, false, None);
        outbox.push(old);
        outbox.push(new);
        next_publishes(&mut outbox);
        outbox.restart(10);
        outbox.forget(2);
        assert!(old_answer.try_recv().is_ok_and(|r| r.is_err()));
        assert!(new_answer.try_recv().is_err());
        assert_eq!(sequences(&next_publishes(&mut outbox)), [2]);
    }

    proptest! {
        #[test]
        fn never_more_unanswered_than_the_hub_allows(
            window in 1u32..20,
            steps in prop::collection::vec(0u8..4, 1..200),
        ) {
            let mut outbox = Outbox::default();
            outbox.restart(window);
            let mut unanswered: Vec<u64> = Vec::new();
            for step in steps {
                match step {
                    0 => outbox.push(batch(1, false, None).0),
                    1 => unanswered.extend(sequences(&next_publishes(&mut outbox))),
                    2 if !unanswered.is_empty() => {
                        outbox.result(accepted(unanswered.remove(0)));
                    }
                    2 => {}
                    _ => {
                        outbox.restart(window);
                        unanswered.clear();
                    }
                }
                prop_assert!(unanswered.len() <= window as usize);
            }
        }
    }
}
