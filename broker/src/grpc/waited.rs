//! Time that an event with a time limit spent at the hub: its agent cannot measure that with its own clock.

use std::time::{Duration, SystemTime};

use agenthub_proto::{agenthub::Concern, event::system_time, wkt};
use prost::Message;

use crate::{mailbox::Batch, sealed::Sealed};

/// Shorter waits are not reported.
const TOLD: Duration = Duration::from_secs(1);

/// The fields of an event that are read here.
#[derive(Clone, PartialEq, Message)]
struct Aged {
    #[prost(message, optional, tag = "2")]
    timestamp: Option<wkt::Timestamp>,
    #[prost(message, optional, tag = "20")]
    routing: Option<Limited>,
}

#[derive(Clone, PartialEq, Message)]
struct Limited {
    #[prost(message, optional, tag = "20")]
    time_left: Option<wkt::Duration>,
}

impl Aged {
    fn of(event: &Sealed) -> Self {
        Self::decode(event.bytes().clone()).unwrap_or_default()
    }

    fn age(&self, now: SystemTime) -> Option<Duration> {
        let came = system_time(self.timestamp.as_ref()?)?;
        now.duration_since(came).ok().filter(|age| *age >= TOLD)
    }
}

/// The wait of an event, if it must be reported.
pub(super) fn of(event: &Sealed, now: SystemTime) -> Option<Duration> {
    let aged = Aged::of(event);
    aged.routing.as_ref()?.time_left.as_ref()?;
    aged.age(now)
}

/// True if the wait of one of its events must be reported. Its events arrived together.
pub(super) fn is_told(batch: &Batch, now: SystemTime) -> bool {
    if batch.concern() != Concern::Work || batch.positions().is_empty() {
        return false;
    }
    let mut events = batch.events().map(|(event, _)| event);
    let first = events.next();
    first.is_some_and(|first| {
        Aged::of(&first).age(now).is_some()
            && std::iter::once(first)
                .chain(events)
                .any(|event| of(&event, now).is_some())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agenthub_proto::{
        agenthub::{AgentEvent, AgentEventMetadata, Delivery, HubFrame},
        event::{duration, timestamp, wire_duration},
        grpc::HEADER,
    };
    use tokio::time::Instant;

    use super::*;
    use crate::{
        grpc::frames::frames,
        hub::Outgoing,
        log::Position,
        mailbox::{Bounds, Mail, Mailbox, Timing},
    };

    const BOUNDS: Bounds = Bounds {
        events: 10,
        bytes: 10_000,
        ack_deadline: Duration::from_secs(10),
        max_attempts: 5,
    };

    fn second(n: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(n)
    }

    /// A delivery of an event that arrived at second 100, with or without a time limit.
    fn delivery(position: &str, is_limited: bool, concern: Concern) -> (usize, Batch) {
        let event = AgentEvent {
            position: position.to_owned(),
            timestamp: Some(timestamp(second(100))),
            routing: Some(AgentEventMetadata {
                from_agent_id: "asker".to_owned(),
                time_left: is_limited.then(|| wire_duration(Duration::from_secs(60))),
                ..AgentEventMetadata::default()
            }),
            ..AgentEvent::default()
        };
        let now = Instant::now();
        let mut mailbox = Mailbox::new(BOUNDS, now);
        let mail = Mail {
            event: Arc::new(event.into()),
            recipient: "a".into(),
            position: position.parse().ok().map(Position),
            order: "".into(),
            concern,
            version: None,
            is_directed: true,
            is_copy: false,
            timing: Timing {
                since: Instant::now(),
                due: None,
                expires: now + Duration::from_secs(100),
            },
        };
        mailbox.push(&mail, now);
        let taken = mailbox.take(&"i".into(), None, 1, now);
        (0, taken.expect("it is there").batch)
    }

    /// Positions and reported waits at this second.
    fn told(deliveries: Vec<(usize, Batch)>, at: u64) -> Vec<(String, Option<u64>)> {
        let outgoing = Outgoing {
            deliveries,
            ..Outgoing::default()
        };
        let note = |note: Delivery| {
            assert_eq!((note.subscription, note.attempt), (0, 1));
            let waited = note.waited.as_ref().and_then(duration);
            (note.position, waited.map(|waited| waited.as_secs()))
        };
        let frames = frames(Vec::new(), false, outgoing, second(at)).into_iter();
        let frames = frames.map(|f| HubFrame::decode(&f.bytes().concat()[HEADER..]).expect("one"));
        frames.flat_map(|f| f.delivery).map(note).collect()
    }

    #[test]
    fn work_of_limited_time_comes_with_its_wait() {
        let work = |position, is_limited| delivery(position, is_limited, Concern::Work);
        let wait = || vec![("2".to_owned(), Some(30))];
        let nothing = Vec::new();
        assert_eq!(told(vec![work("2", true)], 130), wait());
        assert_eq!(
            told(vec![work("2", true)], 100),
            nothing,
            "it came just now"
        );
        assert_eq!(
            told(vec![work("2", true)], 90),
            nothing,
            "the clock went back"
        );
        assert_eq!(told(vec![work("2", false)], 130), nothing);
        let reply = delivery("2", true, Concern::Replies);
        assert_eq!(told(vec![reply], 130), nothing);
        let several = vec![work("1", false), work("2", true), work("3", false)];
        assert_eq!(told(several, 130), wait());
    }
}
