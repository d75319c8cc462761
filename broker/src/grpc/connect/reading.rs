//! What an agent sends.

use std::time::Duration;

use agenthub_proto::{agenthub::PublishResult, wkt};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::{
    super::{
        answers::{answers, tolerate},
        incoming::{Frames, RawFrame},
        publishes::Envelopes,
        status::status,
    },
    MAX_CREDIT, Peer,
};
use crate::{Error, hub::Together, log::Position};

impl Peer {
    /// How long a peer may say nothing.
    fn silence(&self) -> Duration {
        self.hub.settings().presence_lease
    }

    /// Reads frames until the peer goes, falls silent or breaks the protocol.
    pub(super) async fn read(&self, frames: &mut Frames, gone: &CancellationToken) {
        let mut envelopes = Envelopes::default();
        let wake = self.session().wake();
        let ended = loop {
            let frame = tokio::select! {
                () = gone.cancelled() => break None,
                frame = timeout(self.silence(), frames.next()) => frame,
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
            let is_goodbye = frame.goodbye.is_some();
            if let Err(error) = self.handle(frame, &mut envelopes) {
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

    /// Does what a frame says. On a stream that the hub has ended, nothing is published any more.
    ///
    /// # Errors
    ///
    /// It breaks the protocol. What it published before that is answered all the same.
    fn handle(&self, mut frame: RawFrame, envelopes: &mut Envelopes) -> Result<(), Error> {
        if frame.hello.is_some() {
            return Err(Error::InvalidArgument(
                "`hello` belongs into the first frame only".to_owned(),
            ));
        }
        // Whoever ends the stream sees the results of all that was accepted.
        let mut outbox = self.outbox();
        let (results, rest) = {
            let session = self.session();
            let publishes = std::mem::take(&mut frame.publish);
            let is_publishing = !publishes.is_empty();
            let (items, all) = envelopes.gather(session.agent(), publishes);
            let mut together = session.together();
            if is_publishing && together.has_ended() {
                return Ok(());
            }
            let (results, settled) = answers(&mut together, session.agent(), items);
            let rest = match all {
                Ok(()) => settled.and_then(|()| mail(&mut together, &results, &frame)),
                Err(e) => Err(Error::InvalidArgument(format!(
                    "a publish is malformed: {e}"
                ))),
            };
            (results, rest)
        };

        outbox.heartbeat |= frame.heartbeat.is_some();
        outbox.results.extend(results);
        let allowed = usize::try_from(self.hub.settings().publish_credit).unwrap_or(usize::MAX);
        if outbox.results.len() > allowed {
            return Err(Error::ResourceExhausted(format!(
                "more than {allowed} publishes are unanswered: read their results before sending more"
            )));
        }
        rest?;
        for credit in &frame.credit {
            let index = usize::try_from(credit.subscription).unwrap_or(usize::MAX);
            let Some(held) = outbox.credits.get_mut(index) else {
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

/// What a frame says of the mail that its peer has. Nothing is acknowledged beside a publish that was refused.
fn mail(
    together: &mut Together<'_>,
    results: &[(Position, PublishResult)],
    frame: &RawFrame,
) -> Result<(), Error> {
    let all_accepted = results.iter().all(|(_, r)| r.code == 0);
    for ack in frame.ack.iter().filter(|_| all_accepted) {
        tolerate(together.acknowledge(ack.subscription, &ack.position))?;
    }
    for refusal in &frame.refuse {
        let delay = refusal.delay.as_ref().map(wait).unwrap_or_default();
        tolerate(together.refuse(
            refusal.subscription,
            &refusal.position,
            delay,
            &refusal.reason,
        ))?;
    }
    for extension in &frame.extend {
        tolerate(together.extend(extension.subscription, &extension.position))?;
    }
    Ok(())
}

/// A delay as a peer gives it: nothing below zero, and an hour at most.
fn wait(delay: &wkt::Duration) -> Duration {
    const LONGEST: Duration = Duration::from_secs(3600);
    agenthub_proto::event::duration(delay)
        .unwrap_or_default()
        .min(LONGEST)
}
