//! Reading an agent's frames.

use std::time::{Duration, Instant};

use agenthub_access::QuotaExceeded;
use agenthub_proto::agenthub::{Credit, PublishResult};
use bytes::Bytes;
use prost::Message as _;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use super::{
    super::{
        answers::{answered, answers},
        incoming::{Frames, RawFrame, tag},
        notes::{Note, Notes},
        publishes::{Envelopes, sequence},
        status::status,
    },
    MAX_CREDIT, Outbox, Peer,
};
use crate::{Error, connections::Line, fields::Fields, hub::Together, log::Position};

impl Peer {
    /// Maximum silence of a peer, unless its link is so slow that its frames are delayed.
    fn silence(&self) -> Duration {
        self.hub.settings().presence_lease
    }

    /// Reads frames until the peer disconnects, falls silent or violates the protocol.
    pub(super) async fn read(&self, frames: &mut Frames, line: &Line, gone: &CancellationToken) {
        let mut envelopes = Envelopes::default();
        let wake = self.session().wake();
        let ended = loop {
            let frame = tokio::select! {
                () = gone.cancelled() => break None,
                frame = line.wait(self.silence(), frames.next()) => frame,
            };
            let frame = match frame {
                Err(_elapsed) => {
                    break Some(Status::deadline_exceeded(format!(
                        "nothing came for {:?}; send a heartbeat in every interval of the welcome",
                        self.silence()
                    )));
                }
                Ok(Err(error)) => break Some(error),
                Ok(Ok(None)) => break None,
                Ok(Ok(Some(frame))) => frame,
            };
            let is_goodbye = frame.goodbye;
            let mut handled = self.handle(frame, &mut envelopes);
            while let Ok(Some(more)) = handled {
                // Lets other tasks take the lock.
                tokio::task::yield_now().await;
                handled = self.go_on(*more);
            }
            if let Err(error) = handled {
                break Some(status(error));
            }
            wake.notify_one();
            if is_goodbye {
                self.session().say_goodbye();
                break None;
            }
        };
        self.outbox().ended = Some(ended);
        wake.notify_one();
    }

    /// Processes a frame, and returns the rest for another acquisition of the lock. Publishes nothing once the hub has
    /// ended the stream.
    ///
    /// # Errors
    ///
    /// The frame violates the protocol. Publishes before that are answered all the same.
    fn handle(
        &self,
        frame: RawFrame,
        envelopes: &mut Envelopes,
    ) -> Result<Option<Box<More>>, Error> {
        if frame.hello.is_some() {
            return Err(Error::InvalidArgument(
                "`hello` belongs into the first frame only".to_owned(),
            ));
        }
        let mut notes = frame.notes(self.hub.log());
        let (hold, wrong) = notes.next_hold();
        let (credit, heartbeat) = (frame.notes.clone(), frame.heartbeat);
        let Some(acknowledges) = self.publish(frame, hold, envelopes)? else {
            return Ok(None);
        };
        wrong?;
        self.rest(More {
            notes,
            acknowledges,
            credit,
            heartbeat,
        })
    }

    /// Publishes a frame's messages and processes the first of its notes under the same lock. Returns whether its
    /// acknowledgements are applied, and `None` if nothing of it is.
    fn publish(
        &self,
        frame: RawFrame,
        hold: Vec<Note>,
        envelopes: &mut Envelopes,
    ) -> Result<Option<bool>, Error> {
        let is_publishing = !frame.publish.is_empty();
        if !is_publishing && hold.is_empty() {
            return Ok(Some(true));
        }
        // Stored before the stream can end, so that accepted publishes are answered.
        let mut outbox = self.outbox();
        let session = self.session();
        let allowed = usize::try_from(self.hub.settings().publish_credit).unwrap_or(usize::MAX);
        let mut publishes = frame.publish;
        let room = allowed.saturating_sub(outbox.results.len());
        let is_excessive = frame.has_excess || publishes.len() > room;
        publishes.truncate(room);
        let exceeding = self.exceeding(&mut publishes);
        let (items, all) = envelopes.gather(session.caller(), session.agent(), publishes);
        let mut together = session.together();
        if is_publishing && together.has_ended() {
            return Ok(None);
        }
        let (mut results, settled) = answers(&mut together, session.agent(), items);
        if let Some((rest, exceeded)) = exceeding {
            results.extend(rest.iter().map(|publish| {
                let refused = together.refuse_publish(exceeded.clone().into());
                answered(sequence(publish), refused)
            }));
        }
        let acknowledges = results.iter().all(|(_, result)| result.code == 0);
        if !acknowledges {
            self.witness_refusals(&results);
        }
        let mut noted = match all {
            Ok(()) => settled,
            Err(error) => Err(Error::InvalidArgument(format!(
                "a publish is malformed: {error}"
            ))),
        };
        if noted.is_ok() && is_excessive {
            noted = Err(Error::ResourceExhausted(format!(
                "more than {allowed} publishes are unanswered: read their results before sending more"
            )));
        }
        let noted = noted.and_then(|()| note(&mut together, hold, acknowledges));
        drop(together);
        outbox.results.extend(results);
        noted.map(|()| Some(acknowledges))
    }

    /// Takes the publishes that the caller's quotas do not allow now: the last ones.
    fn exceeding(&self, publishes: &mut Vec<Bytes>) -> Option<(Vec<Bytes>, QuotaExceeded)> {
        if self.meter.is_unlimited() || publishes.is_empty() {
            return None;
        }
        let (allowed, refusal) = self.meter.publish(publishes.len(), Instant::now());
        refusal.map(|refusal| (publishes.split_off(allowed), refusal))
    }

    /// Records publishes that the caller has no right to.
    fn witness_refusals(&self, results: &[(Position, PublishResult)]) {
        let denied = Code::PermissionDenied as i32;
        for (_, result) in results.iter().filter(|(_, result)| result.code == denied) {
            self.witness.of_part("publish").refused("", &result.error);
        }
    }

    /// Processes the next notes of a frame, and returns the rest.
    ///
    /// # Errors
    ///
    /// See [`handle`](Self::handle).
    fn go_on(&self, mut more: More) -> Result<Option<Box<More>>, Error> {
        let (hold, wrong) = more.notes.next_hold();
        note(&mut self.session().together(), hold, more.acknowledges)?;
        wrong?;
        self.rest(more)
    }

    /// Processes the parts of a frame after its notes, once all notes are processed.
    fn rest(&self, more: More) -> Result<Option<Box<More>>, Error> {
        if !more.notes.is_over() {
            return Ok(Some(Box::new(more)));
        }
        let mut outbox = self.outbox();
        outbox.heartbeat |= more.heartbeat;
        outbox.add_credit(&more.credit).map(|()| None)
    }
}

/// The rest of a frame.
#[derive(Debug)]
struct More {
    notes: Notes,
    /// True if its acknowledgements are applied.
    acknowledges: bool,
    /// Bytes that contain its credit.
    credit: Bytes,
    heartbeat: bool,
}

impl Outbox {
    /// Adds the credit of a frame.
    fn add_credit(&mut self, frame: &Bytes) -> Result<(), Error> {
        let malformed = |e| Error::InvalidArgument(format!("a frame is malformed: {e}"));
        for field in Fields::of(frame) {
            let (tag::CREDIT, credit) = field.map_err(malformed)? else {
                continue;
            };
            let credit = credit.bytes().map_err(malformed)?;
            let credit = Credit::decode(credit)
                .map_err(|e| Error::InvalidArgument(format!("a frame is malformed: {e}")))?;
            let index = usize::try_from(credit.subscription).unwrap_or(usize::MAX);
            let Some(held) = self.credits.get_mut(index) else {
                return Err(Error::InvalidArgument(format!(
                    "there is no subscription {} on this stream",
                    credit.subscription
                )));
            };
            *held = held.saturating_add(credit.messages).min(MAX_CREDIT);
        }
        Ok(())
    }
}

/// Applies the notes of a frame to its peer's deliveries. Acknowledges nothing if a publish was refused.
fn note(together: &mut Together<'_>, notes: Vec<Note>, acknowledges: bool) -> Result<(), Error> {
    for note in notes {
        match note {
            Note::Ack { .. } if !acknowledges => {}
            Note::Ack {
                subscription,
                positions,
            } => together.acknowledge_at(subscription, positions)?,
            Note::Refusal {
                subscription,
                position,
                delay,
                reason,
            } => together.refuse(subscription, position, delay, &reason)?,
            Note::Extension {
                subscription,
                positions,
            } => together.extend(subscription, &positions)?,
        }
    }
    Ok(())
}
