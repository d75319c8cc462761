//! Deduplicated publishes: packed, since there may be millions, and in segments that are written once, beside the
//! snapshots.

use bytes::{Buf as _, BufMut as _, TryGetError};
use prost::Message;
use uuid::Uuid;

use super::moment::Moment;
use crate::{
    dedupe::{self, Dedupe, Fingerprint, PublishOutcome, Secret},
    id::AgentId,
    log::{Position, SeenSegment},
    steps::step,
};

#[derive(Clone, PartialEq, Message)]
pub(super) struct SeenList {
    /// Written by earlier releases.
    #[prost(message, repeated, tag = "1")]
    publishes: Vec<SeenRecord>,
    /// Secret of all fingerprints in the snapshot; in its first part.
    #[prost(bytes = "vec", tag = "2")]
    secret: Vec<u8>,
    #[prost(string, repeated, tag = "3")]
    senders: Vec<String>,
    /// Concatenated entries of [`ENTRY`] bytes.
    #[prost(bytes = "vec", tag = "4")]
    entries: Vec<u8>,
}

/// A publish with its names.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SeenRecord {
    #[prost(string, tag = "1")]
    sender: String,
    #[prost(string, tag = "2")]
    order: String,
    #[prost(string, tag = "3")]
    id: String,
    #[prost(bytes = "vec", tag = "4")]
    digest: Vec<u8>,
    #[prost(string, tag = "5")]
    event_id: String,
    #[prost(string, tag = "6")]
    position: String,
    #[prost(int64, tag = "7")]
    time_us: i64,
}

/// Publishes per segment: 832 KiB.
const PUBLISHES: usize = 16 * 1024;

/// Bytes of an entry: those of [`pack`], its time, and the number of its sender.
const ENTRY: usize = 5 * 8 + 8 + 4;

/// Packs a fingerprint, and digest, position and stamp.
pub(super) fn pack(publish: Fingerprint, seen: &PublishOutcome, to: &mut Vec<u8>) {
    let [one, other] = publish.halves();
    for number in [one, other, seen.digest, seen.position.0, seen.stamp] {
        to.put_u64_le(number);
    }
}

/// The reverse of [`pack`].
///
/// # Errors
///
/// There are too few bytes.
pub(super) fn unpack(from: &mut &[u8]) -> Result<(Fingerprint, PublishOutcome), TryGetError> {
    let fingerprint = Fingerprint::from([from.try_get_u64_le()?, from.try_get_u64_le()?]);
    let seen = PublishOutcome {
        digest: from.try_get_u64_le()?,
        position: Position(from.try_get_u64_le()?),
        stamp: from.try_get_u64_le()?,
    };
    Ok((fingerprint, seen))
}

impl SeenList {
    /// The part with the secret, which precedes all fingerprints.
    pub(super) fn of_secret(secret: Secret) -> Self {
        Self {
            secret: secret.bytes().to_vec(),
            ..Self::default()
        }
    }

    fn push(
        &mut self,
        sender: &AgentId,
        publish: Fingerprint,
        time_us: i64,
        seen: &PublishOutcome,
    ) {
        // Most have the sender of the previous one.
        let known = self.senders.iter().rposition(|name| **name == **sender);
        let number = known.unwrap_or_else(|| {
            self.senders.push(sender.to_string());
            self.senders.len() - 1
        });
        let number = u32::try_from(number).expect("a list is short");
        pack(publish, seen, &mut self.entries);
        self.entries.put_i64_le(time_us);
        self.entries.put_u32_le(number);
    }

    /// Adds the publishes of the list.
    ///
    /// # Errors
    ///
    /// The damage.
    pub(super) fn read(self, dedupe: &mut Dedupe, moment: Moment) -> Result<(), String> {
        if let Ok(secret) = <[u8; 16]>::try_from(&*self.secret) {
            dedupe.set_secret(secret.into());
        } else if !self.secret.is_empty() {
            return Err("the secret of known publishes is cut off".to_owned());
        }
        for named in self.publishes {
            let publish = named.fingerprint(dedupe.secret());
            let at = moment.instant_at(named.time_us);
            dedupe.remember(&named.sender.as_str().into(), publish, named.seen()?, at);
        }
        let senders: Vec<AgentId> = self.senders.into_iter().map(Into::into).collect();
        for mut entry in self.entries.chunks(ENTRY) {
            let cut = |e: TryGetError| e.to_string();
            let (publish, seen) = unpack(&mut entry).map_err(cut)?;
            let at = moment.instant_at(entry.try_get_i64_le().map_err(cut)?);
            let sender = senders.get(entry.try_get_u32_le().map_err(cut)? as usize);
            let sender = sender.ok_or("the sender of a known publish is missing")?;
            dedupe.remember(sender, publish, seen, at);
        }
        Ok(())
    }
}

/// All remembered publishes, in segments.
pub(crate) fn segments(dedupe: &Dedupe, moment: Moment) -> impl Iterator<Item = SeenSegment> {
    let mut publishes = dedupe.iter().peekable();
    std::iter::from_fn(move || {
        let (_, _, _, PublishOutcome { position, .. }) = publishes.peek()?;
        let first = position.0;
        let mut list = SeenList::default();
        let mut last_us = i64::MIN;
        for (sender, publish, at, seen) in publishes.by_ref().take(PUBLISHES) {
            step();
            let time_us = moment.micros_at(at);
            last_us = last_us.max(time_us);
            list.push(sender, publish, time_us, &seen);
        }
        Some(SeenSegment {
            first,
            last_us,
            publishes: list.encode_to_vec(),
        })
    })
}

/// Adds the publishes of a segment.
///
/// # Errors
///
/// The damage.
pub(super) fn read(segment: &[u8], dedupe: &mut Dedupe, moment: Moment) -> Result<(), String> {
    let list = SeenList::decode(segment).map_err(|e| e.to_string())?;
    list.read(dedupe, moment)
}

impl SeenRecord {
    pub(super) fn fingerprint(&self, secret: Secret) -> Fingerprint {
        let fingerprints = secret.fingerprints(&self.sender, &self.order);
        fingerprints.of(&self.id)
    }

    /// # Errors
    ///
    /// The record was not written by a hub.
    pub(super) fn seen(&self) -> Result<PublishOutcome, String> {
        let digest = Uuid::from_slice(&self.digest).map_err(|e| e.to_string())?;
        let position = self.position.split_once('-');
        let position = position.and_then(|(_, number)| number.parse().ok());
        Ok(PublishOutcome {
            digest: dedupe::short(&digest),
            position: Position(position.ok_or("a known publish has no position")?),
            stamp: dedupe::stamp(&self.event_id).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::{
        dedupe::Key,
        settings::Settings,
        snapshot::{
            Reading,
            records::{PartKind, PartRecord, TaskRecord},
        },
    };

    fn part(what: PartKind) -> Vec<u8> {
        PartRecord { what: Some(what) }.encode_to_vec()
    }

    /// A record of releases that stored each publish with its names.
    fn named(id: &str, time: SystemTime) -> SeenRecord {
        SeenRecord {
            sender: "asker".into(),
            order: "c".into(),
            id: id.into(),
            digest: dedupe::digest(b"body", "").as_bytes().to_vec(),
            event_id: format!("evt_{id}_1700000000"),
            position: "0badcafe-42".into(),
            time_us: super::super::moment::micros(time),
        }
    }

    #[test]
    fn publishes_with_names_are_read() {
        let moment = Moment::now();
        let settings = Settings::default();
        let mut reading = Reading::new(&settings, moment);
        let task = agenthub_proto::a2a::Task {
            id: "t".into(),
            ..Default::default()
        };
        let made = TaskRecord {
            task: Some(task),
            made_by_name: Some(named("made it", SystemTime::UNIX_EPOCH)),
            ..TaskRecord::default()
        };
        let ago = |seconds| moment.time - Duration::from_secs(seconds);
        let publishes = vec![named("old", ago(700)), named("recent", ago(500))];
        let list = SeenList {
            publishes,
            ..SeenList::default()
        };
        for what in [PartKind::Task(made), PartKind::Seen(list)] {
            reading.part(&part(what)).expect("it is read");
        }
        let state = reading.finish();
        let fingerprint = |id: &str| {
            state.dedupe.fingerprint(&Key {
                sender: "asker".into(),
                order: "c".into(),
                id: id.into(),
            })
        };
        let seen = PublishOutcome {
            digest: dedupe::short(&dedupe::digest(b"body", "")),
            position: Position(42),
            stamp: 1_700_000_000,
        };
        let get = |id| state.dedupe.get(fingerprint(id), moment.instant);
        assert_eq!((get("recent"), get("old")), (Some(seen), None));
        let made_by = |id| state.tasks.made_by("t", fingerprint(id));
        assert_eq!((made_by("made it"), made_by("recent")), (Some(seen), None));
    }

    #[test]
    fn what_is_cut_off_is_not_read() {
        let moment = Moment::now();
        let mut dedupe = crate::state::State::new(&Settings::default()).dedupe;
        let list = |entries, senders| SeenList {
            entries,
            senders,
            ..SeenList::default()
        };
        let one = |bytes: usize| vec![0; bytes];
        let sender = || vec!["a".to_owned()];
        for short in [1, 40, ENTRY - 1, ENTRY + 1] {
            let read = list(one(short), sender()).read(&mut dedupe, moment);
            assert!(read.is_err(), "{short}");
        }
        assert!(
            list(one(ENTRY), Vec::new())
                .read(&mut dedupe, moment)
                .is_err()
        );
        assert!(
            list(one(2 * ENTRY), sender())
                .read(&mut dedupe, moment)
                .is_ok()
        );
    }
}
