//! Unlogged events while the log is not durable: they wait for records of their own context alone, within limits.

use agenthub_proto::agenthub::{Durability, Publish, publish::Payload};
use prost::Message as _;

use super::{
    super::publish::{Envelope, Run},
    *,
};
use crate::plain::Plain;

const CONTEXTS: [&str; 3] = ["a", "b", "c"];

fn routing(durability: Durability) -> AgentEventMetadata {
    AgentEventMetadata {
        from_agent_id: "asker".into(),
        to_agent_id: "worker".into(),
        durability: durability.into(),
        ..Default::default()
    }
}

fn message(id: usize, context: &str, bytes: usize) -> Message {
    Message {
        message_id: id.to_string(),
        context_id: context.into(),
        ..Message::new(Role::User, "x".repeat(bytes))
    }
}

fn run(id: usize, context: &str, durability: Durability) -> Run {
    let publish = Publish {
        sequence: 0,
        payload: Some(Payload::Message(message(id, context, 1))),
        routing: Some(routing(durability)),
        ..Publish::default()
    };
    let plain = Plain::read(&publish.encode_to_vec().into()).expect("it is plain");
    let envelope =
        Envelope::plain(&Caller::anonymous(), "asker", plain.routing()).expect("it is plain");
    let run = Run::first(&envelope.into(), &mut [plain].into_iter().peekable());
    run.expect("there is one")
}

impl Bench {
    fn utter(&mut self, id: usize, context: &str, durability: Durability) -> Result<(), Error> {
        self.utter_bytes(id, context, durability, 1)
    }

    fn utter_bytes(
        &mut self,
        id: usize,
        context: &str,
        durability: Durability,
        bytes: usize,
    ) -> Result<(), Error> {
        let body = Body::Message(message(id, context, bytes));
        let (caller, routing) = (Caller::anonymous(), routing(durability));
        let said = self
            .core
            .publish(&caller, body, routing, Repetition::Refuse, self.now);
        self.core();
        said.map(drop)
    }

    /// The same as raw bytes of a `Connect` frame.
    fn utter_plain(&mut self, id: usize, context: &str, durability: Durability) {
        let caller = Caller::anonymous();
        let run = run(id, context, durability);
        match durability {
            Durability::Memory => {
                let passed = self.core.publish_passing(&caller, &run.into(), self.now);
                assert_eq!(passed, Ok(true));
            }
            _ => {
                let logged = self.core.publish_logged(&caller, &run, self.now);
                assert!(logged.expect("the log takes it")[0].is_ok());
            }
        }
        self.core();
    }

    /// Contexts and ids received by a stream.
    fn hears(&mut self, session: SessionId) -> Vec<(String, usize)> {
        let outgoing = self.take(session);
        let handed = outgoing.deliveries.iter().map(|(_, handed)| handed);
        let events = handed.flat_map(|handed| handed.events());
        let ids = events.map(|(event, _)| {
            let Some(agenthub::agent_event::Payload::Message(said)) = &event.payload else {
                panic!("{event:?}");
            };
            (
                said.context_id.clone(),
                said.message_id.parse().expect("a number"),
            )
        });
        ids.collect()
    }
}

fn listening() -> (Bench, SessionId) {
    let mut b = Bench::new(Settings::default());
    let session = b.connect("worker", "i", durable("work")).id;
    b.core();
    b.stall();
    (b, session)
}

fn heard(said: &[(&str, usize)]) -> Vec<(String, usize)> {
    let said = said
        .iter()
        .map(|(context, id)| ((*context).to_owned(), *id));
    said.collect()
}

#[test]
fn events_that_may_be_lost_wait_for_records_of_their_context_alone() {
    let (mut b, session) = listening();
    b.utter(1, "a", Durability::Unspecified).expect("good");
    b.utter(2, "b", Durability::Memory).expect("good");
    b.utter(3, "a", Durability::Memory).expect("good");
    b.utter_plain(4, "b", Durability::Memory);
    b.utter_plain(5, "a", Durability::Memory);
    assert_eq!(b.hears(session), heard(&[("b", 2), ("b", 4)]));
    let first = b.core.last();
    b.utter_plain(6, "c", Durability::Unspecified);
    b.utter_plain(7, "c", Durability::Memory);
    b.make_safe(first);
    b.utter_plain(8, "a", Durability::Memory);
    let expected = [("a", 1), ("a", 3), ("a", 5), ("a", 8)];
    assert_eq!(b.hears(session), heard(&expected));
    let last = b.core.last();
    b.make_safe(last);
    assert_eq!(b.hears(session), heard(&[("c", 6), ("c", 7)]));
}

#[test]
fn events_that_wait_for_the_log_are_bounded_and_others_go_on() {
    const BYTES: usize = 4096;
    let (mut b, session) = listening();
    b.utter(0, "a", Durability::Unspecified).expect("good");
    let refused = (1..20_000).find_map(|n| {
        let said = b.utter_bytes(n, "a", Durability::Memory, BYTES);
        said.err().map(|error| (n, error))
    });
    let (count, error) = refused.expect("there is a bound");
    assert!(matches!(error, Error::ResourceExhausted(_)), "{error}");
    assert!((1_000..5_000).contains(&count), "{count} were held");
    let behind = b.utter(20_001, "c", Durability::Unspecified);
    assert!(matches!(behind, Err(Error::ResourceExhausted(_))));
    b.utter(20_002, "b", Durability::Memory)
        .expect("it does not wait");
    assert_eq!(b.hears(session), heard(&[("b", 20_002)]));
    let last = b.core.last();
    b.make_safe(last);
    b.utter(20_003, "a", Durability::Memory)
        .expect("there is room again");
    assert_eq!(b.core.held.bytes(), 0);
}

/// promise 3: whenever records become durable.
#[test]
fn a_context_has_one_order_for_what_is_in_the_log_and_what_is_not() {
    for seed in 0..200 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut b, session) = listening();
        let mut said: Vec<(String, usize)> = Vec::new();
        let mut heard = Vec::new();
        for id in 0..60 {
            let context = CONTEXTS[rng.usize(..CONTEXTS.len())];
            let durability = match rng.bool() {
                true => Durability::Memory,
                false => Durability::Unspecified,
            };
            match rng.bool() {
                true => b.utter_plain(id, context, durability),
                false => b.utter(id, context, durability).expect("good"),
            }
            said.push((context.to_owned(), id));
            if rng.u8(..4) == 0 {
                let (safe, last) = (b.core.safe().0, b.core.last().0);
                b.make_safe(Position(rng.u64(safe..=last)));
            }
            if rng.u8(..4) == 0 {
                heard.extend(b.hears(session));
            }
        }
        let last = b.core.last();
        b.make_safe(last);
        heard.extend(b.hears(session));
        assert_eq!(heard.len(), said.len(), "seed {seed}");
        for context in CONTEXTS {
            let of = |all: &[(String, usize)]| -> Vec<usize> {
                let its = all.iter().filter(|(c, _)| c == context);
                its.map(|(_, id)| *id).collect()
            };
            assert_eq!(of(&heard), of(&said), "seed {seed}, context {context}");
        }
    }
}

/// Records cost nothing extra without unlogged events, and are indexed once however many of those there are.
#[test]
fn records_are_looked_at_once_and_only_for_events_that_may_be_lost() {
    const RECORDS: usize = 100;
    let (mut b, _) = listening();
    for id in 0..RECORDS {
        b.utter(id, "a", Durability::Unspecified).expect("good");
    }
    assert_eq!(b.core.held.looks, 0);
    for id in 0..RECORDS {
        b.utter_plain(RECORDS + id, "b", Durability::Memory);
        b.utter_plain(2 * RECORDS + id, "a", Durability::Memory);
    }
    assert_eq!(b.core.held.looks, RECORDS);
    let last = b.core.last();
    b.make_safe(last);
    b.utter_plain(3 * RECORDS, "a", Durability::Memory);
    assert_eq!(b.core.held.looks, RECORDS);
}
