//! Memory that a hub allocates for a frame: no peer makes it take much more than it sends.

#[path = "memory/bench.rs"]
mod bench;

use std::sync::atomic::Ordering;

use agenthub_broker::{Settings, Storage};
use agenthub_proto::{
    a2a::Message as A2aMessage,
    agenthub::{AgentFrame, Hello, Lifetime, Subscription},
};
use bytes::Bytes;
use prost::Message;
use tonic::Code;

use self::bench::{Bench, LIVE};

const MIB: usize = 1024 * 1024;

fn hello() -> AgentFrame {
    AgentFrame {
        hello: Some(Hello {
            protocol_version: 1,
            agent_id: "hostile".to_owned(),
            instance_id: "i".to_owned(),
            subscription: vec![Subscription {
                name: "own".to_owned(),
                lifetime: Lifetime::Instance.into(),
                ..Subscription::default()
            }],
            ..Hello::default()
        }),
        ..AgentFrame::default()
    }
}

/// A message as a field of another.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    prost::encoding::encode_varint(value.len() as u64, &mut field);
    field.extend_from_slice(value);
    field
}

/// As a frame on the wire.
fn frame(message: &[u8]) -> Bytes {
    [&agenthub_proto::grpc::header(message.len()), message]
        .concat()
        .into()
}

/// A field repeated up to this many bytes.
fn many(field: &[u8], bytes: usize) -> Vec<u8> {
    field.repeat(bytes / field.len())
}

/// promise 10
#[test]
fn no_peer_takes_more_memory_than_it_may() {
    let bench = Bench::start(Settings::default());
    calls_that_are_not_made_take_little(&bench);
    a_hostile_frame_takes_no_more_than_four_times_its_bytes(&bench);
    bench.hub.shutdown_background();
    mail_of_absent_agents_takes_no_more_than_the_bound();
}

/// Mail of absent agents takes the limit on bodies plus a position for each event, also after a restart; and nothing is
/// lost.
fn mail_of_absent_agents_takes_no_more_than_the_bound() {
    const AGENTS: usize = 20;
    const EVENTS: usize = 300;
    const BODIES: usize = 2 * MIB;
    /// Memory of an event in one mailbox, alone in its segment, including the deduplication entry.
    const POSITION: usize = 1024;
    const BYTES: usize = 4096;
    let text = |agent: usize, event: usize| {
        let text = format!("{agent} {event} ");
        let filling = BYTES - text.len();
        text + &"x".repeat(filling)
    };
    let folder = tempfile::tempdir().expect("a folder");
    let settings = || Settings {
        storage: Storage::Folder(folder.path().to_owned()),
        bodies_bytes: BODIES,
        ..Settings::default()
    };
    let check = |what: &str, before: isize| {
        let took = (LIVE.load(Ordering::Relaxed) - before).unsigned_abs();
        let mail = AGENTS * EVENTS;
        println!("{what}: {mail} events of {BYTES} bytes take {took}");
        assert!(took < BODIES * 3 / 2 + mail * POSITION, "{what}: {took}");
    };
    let bench = Bench::start(settings());
    let before = LIVE.load(Ordering::Relaxed);
    bench.fill(AGENTS, EVENTS, text);
    check("published", before);
    bench.stop();
    let before = LIVE.load(Ordering::Relaxed);
    let bench = Bench::start(settings());
    check("restarted", before);
    for agent in 0..AGENTS {
        let came = bench.take_all(agent, EVENTS);
        for context in 0..3 {
            let its = came
                .iter()
                .filter(|m| m.context_id == format!("c{context}"));
            let its: Vec<String> = its.map(A2aMessage::text).collect();
            let expected = (context..EVENTS).step_by(3);
            let expected: Vec<String> = expected.map(|event| text(agent, event)).collect();
            assert_eq!(its, expected);
        }
    }
    bench.stop();
}

fn calls_that_are_not_made_take_little(bench: &Bench) {
    const CALLS: u32 = 50_000;
    const STREAMS: usize = 4096;
    let (most, refused) = bench.memory_of_calls(CALLS);
    println!("{CALLS} calls took {most}, {refused} were refused");
    assert!(refused > 0);
    assert!(most < 8 * 1024 * STREAMS, "{most}");
}

fn a_hostile_frame_takes_no_more_than_four_times_its_bytes(bench: &Bench) {
    // One-time allocations, such as descriptors, do not count.
    let _ = bench.memory_of(
        vec![hello()],
        frame(&field(2, &field(2, &many(&[0x2a, 0], MIB)))),
    );
    let check = |what: &str, first: Vec<AgentFrame>, message: Vec<u8>, expected: Option<Code>| {
        let bytes = message.len();
        // The answer to the heartbeat follows, if the stream continues.
        let message = [message, field(7, b"")].concat();
        let (most, ended) = bench.memory_of(first, frame(&message));
        println!("{what}: {bytes} bytes took {most}, {ended:?}");
        assert!(most <= 4 * bytes, "{what}: {bytes} bytes took {most}");
        assert_eq!(ended.err().map(|s| s.code()), expected, "{what}");
    };
    let refused = Some(Code::InvalidArgument);
    for bytes in [MIB, 4 * MIB] {
        let publishes = many(&field(2, b""), bytes);
        check(
            "publishes",
            vec![hello()],
            publishes,
            Some(Code::ResourceExhausted),
        );
        let parts = field(2, &field(2, &many(&field(5, b""), bytes)));
        check("parts of a publish", vec![hello()], parts, None);
        check(
            "acknowledgements",
            vec![hello()],
            many(&field(3, b""), bytes),
            None,
        );
        let positions = many(&field(2, b""), bytes);
        check(
            "acknowledged positions",
            vec![hello()],
            field(3, &positions),
            refused,
        );
        let elsewhere = many(&field(2, b"0-1"), bytes);
        check(
            "positions of another log",
            vec![hello()],
            field(3, &elsewhere),
            None,
        );
        check(
            "refusals",
            vec![hello()],
            many(&field(4, b""), bytes),
            refused,
        );
        check(
            "extensions",
            vec![hello()],
            many(&field(5, b""), bytes),
            None,
        );
        check(
            "extended positions",
            vec![hello()],
            field(5, &positions),
            refused,
        );
        check("credit", vec![hello()], many(&field(6, b""), bytes), None);
        let subscriptions = field(1, &many(&field(5, b""), bytes));
        check("subscriptions", vec![], subscriptions, refused);
        let claims = many(&field(5, b""), bytes);
        check(
            "claims",
            vec![],
            [hello().encode_to_vec(), claims].concat(),
            None,
        );
    }
}
