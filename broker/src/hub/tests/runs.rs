//! Plain messages published together have the same effect as one by one.

use agenthub_proto::agenthub::{Publish, publish::Payload};
use proptest::prelude::*;
use prost::Message as _;

use super::{
    super::publish::{Envelope, Run},
    *,
};
use crate::{fields, log::Entry, plain::Plain};

/// Senders, and messages with few ids, some of them with another text.
#[derive(Clone, Debug)]
struct Spoken {
    to: &'static str,
    context: &'static str,
    said: Vec<(u16, &'static str)>,
}

fn spoken() -> impl Strategy<Value = Vec<Spoken>> {
    let pick = |of: [&'static str; 3]| prop::sample::select(of.to_vec());
    let said = prop::collection::vec((0..20_u16, pick(["one", "one", "two"])), 1..6);
    let spoken = (pick(["", "worker", "absent"]), pick(["", "", "c"]), said);
    let spoken = spoken.prop_map(|(to, context, said)| Spoken { to, context, said });
    prop::collection::vec(spoken, 1..8)
}

impl Spoken {
    fn publishes(&self) -> impl Iterator<Item = Publish> {
        let routing = AgentEventMetadata {
            from_agent_id: "asker".into(),
            to_agent_id: self.to.into(),
            event_type: "x".into(),
            traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
            ..Default::default()
        };
        self.said.iter().map(move |(id, text)| Publish {
            sequence: 0,
            payload: Some(Payload::Message(Message {
                message_id: id.to_string(),
                context_id: self.context.into(),
                ..Message::new(Role::User, *text)
            })),
            routing: Some(routing.clone()),
            ..Publish::default()
        })
    }

    fn run(&self) -> Run {
        let plain = self.publishes().enumerate().map(|(n, publish)| {
            let bytes = match n % 3 {
                2 => in_another_order(&publish),
                _ => publish.encode_to_vec(),
            };
            Plain::read(&bytes.into()).expect("it is plain")
        });
        let plain: Vec<Plain> = plain.collect();
        let envelope = Envelope::plain(&Caller::anonymous(), "asker", plain[0].routing())
            .expect("it is plain");
        let run = Run::first(&envelope.into(), &mut plain.into_iter().peekable());
        run.expect("there is one")
    }
}

/// A publish as another encoder may write it: fields in reverse order, and an unknown field in the envelope.
fn in_another_order(publish: &Publish) -> Vec<u8> {
    let Some(Payload::Message(message)) = &publish.payload else {
        unreachable!("it is a message");
    };
    let first = Message {
        message_id: message.message_id.clone(),
        ..Message::default()
    };
    let rest = Message {
        message_id: String::new(),
        ..message.clone()
    };
    let message = [rest.encode_to_vec(), first.encode_to_vec()].concat();
    let envelope = publish.routing.as_ref().expect("it has one");
    let envelope = [envelope.encode_to_vec(), vec![0xfa, 0x7f, 1, 0]].concat();
    let mut bytes = Vec::new();
    fields::put(&[(2, &message), (5, &envelope)], &mut bytes);
    bytes
}

type Heard = Vec<(String, String, Position)>;

impl Bench {
    fn speak(&mut self, spoken: &Spoken, is_together: bool) -> Vec<Result<Receipt, Error>> {
        let caller = Caller::anonymous();
        if is_together {
            let results = self.core.publish_logged(&caller, &spoken.run(), self.now);
            return results.expect("the log takes it");
        }
        let publishes = spoken.publishes().map(|publish| {
            let (Some(Payload::Message(message)), Some(routing)) =
                (publish.payload, publish.routing)
            else {
                unreachable!("it is a message");
            };
            let body = Body::Message(message);
            self.core
                .publish(&caller, body, routing, Repetition::Refuse, self.now)
        });
        publishes.collect()
    }

    fn hear(&mut self, session: SessionId) -> Heard {
        let deliveries = self.take(session).deliveries;
        let events = deliveries.iter().flat_map(|(_, handed)| handed.events());
        let heard = events.map(|(event, position)| {
            let position = position.expect("it is in the log");
            assert_eq!(self.core.log.id().token(position), event.position);
            let text = match &event.payload {
                Some(agenthub::agent_event::Payload::Message(message)) => message.text(),
                _ => String::new(),
            };
            (event.event_id.clone(), text, position)
        });
        heard.collect()
    }

    /// Encoded records, without the log's id.
    fn written(&self) -> Vec<(Record, Vec<u8>)> {
        let records = self.records.lock().expect("one thread");
        let events = records.iter().filter_map(|record| {
            let Entry::Published(published) = &record.entry else {
                return None;
            };
            let mut published = published.clone();
            let token = self.core.log.id().token(record.position);
            let mut event = agenthub::AgentEvent::clone(&published.event);
            assert_eq!(event.encoded_len(), published.event.size());
            assert_eq!(event.position, token);
            event.position = record.position.0.to_string();
            published.event = Arc::new(event.into());
            let entry = Entry::Published(published);
            let bytes = crate::log::codec::encode(&entry);
            let record = Record {
                entry,
                ..record.clone()
            };
            Some((record, bytes))
        });
        events.collect()
    }

    /// Deliveries, records and state.
    fn spoken(all: &[Spoken], is_together: bool) -> impl PartialEq + std::fmt::Debug {
        let mut b = Self::new(Settings::default());
        let own = b.connect("worker", "i", durable("own")).id;
        let of_others = b.connect("watcher", "i", durable("all")).id;
        let mut answers = Vec::new();
        for (number, spoken) in all.iter().enumerate() {
            let id = b.core.log.id();
            let results = b.speak(spoken, is_together).into_iter().map(|result| {
                result.map(|receipt| {
                    let position = id.position(&receipt.position).expect("it is one");
                    assert!(position <= receipt.safe_at);
                    (receipt.event_id, position)
                })
            });
            answers.extend(results);
            if number % 3 == 2 {
                b.core();
            }
        }
        b.core();
        let late = b.connect("absent", "i", durable("late")).id;
        let heard: Vec<Heard> = [own, of_others, late].map(|s| b.hear(s)).into();
        let known = b.core.state.dedupe.iter();
        let known = known.map(|(sender, publish, _, seen)| (sender.clone(), publish, seen));
        let known: Vec<_> = known.collect();
        (answers, heard, b.written(), known)
    }
}

/// The limit of a stream's batch; whole segments are sent as shared bytes.
#[test]
fn runs_go_on_together_as_far_as_a_segment_has_room() {
    let mut b = Bench::new(Settings::default());
    let session = b.connect("worker", "i", of_instance("own")).id;
    for from in [0, 100, 200] {
        let said = (from..from + 100).map(|id| (id, "one")).collect();
        let (to, context) = ("worker", "");
        b.speak(&Spoken { to, context, said }, true);
    }
    let mut segments = Vec::new();
    while let Some((_, batch)) = b.take(session).deliveries.pop() {
        segments.push(batch.segment().len());
    }
    segments.dedup();
    assert_eq!(segments, [200, 100]);
}

proptest! {
    /// promise 3, promise 4
    #[test]
    fn what_is_published_together_is_as_if_it_had_been_published_one_by_one(all in spoken()) {
        prop_assert_eq!(Bench::spoken(&all, true), Bench::spoken(&all, false));
    }
}
