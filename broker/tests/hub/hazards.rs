//! Peers that answer HTTP/2 pings but do not read, and frames so small that HTTP/2 takes them for an attack.

use std::time::Duration;

use agenthub_broker::{Settings, http_router};
use agenthub_proto::agenthub::{
    AgentEventMetadata, AgentFrame, Durability, Heartbeat, HubFrame, Publish,
    SubscribeToMessagesRequest, agent_event::Payload, publish,
};
use bytes::{BufMut, Bytes, BytesMut};
use h2::{Reason, RecvStream, SendStream, client};
use prost::Message as _;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tonic::{
    codegen::http::{Request, Response},
    transport::Endpoint,
};

use crate::{
    harness::{Client, TestHub, in_context, routing, until, user, within},
    operations::gauge,
    peer::{agent, try_connect},
};

/// Default window of HTTP/2.
const NARROW: u32 = 65_535;

/// A client that reads only what the test reads of its streams. Its connection lives as long as the tasks; it answers
/// pings.
struct RawClient {
    requests: client::SendRequest<Bytes>,
    address: String,
    _tasks: JoinSet<()>,
}

impl RawClient {
    async fn of(hub: &TestHub) -> Self {
        let address = hub.server.address();
        let socket = within(TcpStream::connect(address))
            .await
            .expect("it listens");
        let mut builder = client::Builder::new();
        // One unread stream leaves room for the others.
        builder.initial_connection_window_size(8 * NARROW);
        let (requests, connection) = within(builder.handshake(socket)).await.expect("HTTP/2");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let _ = connection.await;
        });
        Self {
            requests,
            address: format!("http://{address}"),
            _tasks: tasks,
        }
    }

    async fn call(
        &self,
        method: &str,
        first: Bytes,
        is_all: bool,
    ) -> (SendStream<Bytes>, RecvStream) {
        let request = Request::post(format!("{}/agenthub.AgentHub/{method}", self.address))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .expect("a request");
        let mut requests = within(self.requests.clone().ready())
            .await
            .expect("it is open");
        let (answer, mut sending) = requests.send_request(request, false).expect("it is open");
        sending.send_data(first, is_all).expect("it is open");
        let answer = within(answer).await.expect("an answer");
        (sending, Response::into_body(answer))
    }

    async fn messages(&self, agent_id: &str) -> RecvStream {
        let request = SubscribeToMessagesRequest {
            agent_id: agent_id.to_owned(),
            ..Default::default()
        };
        self.call("SubscribeToMessages", framed(&request), true)
            .await
            .1
    }
}

/// A message with its gRPC header.
fn framed(message: &impl prost::Message) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(message.encoded_len().try_into().expect("it is small"));
    message.encode(&mut bytes).expect("there is room");
    bytes.freeze()
}

/// Reads this many bytes of a stream.
async fn read(stream: &mut RecvStream, bytes: usize) {
    let mut read = 0;
    while read < bytes {
        let some = within(stream.data())
            .await
            .expect("it goes on")
            .expect("it is open");
        let _ = stream.flow_control().release_capacity(some.len());
        read += some.len();
    }
}

/// Its calls end, so that their buffers are freed. Others, also on its connection, get everything meanwhile.
///
/// spec: promise 6
#[tokio::test]
async fn a_reader_that_is_stuck_but_answers_pings_is_cut_off_alone() {
    const COUNT: usize = 40;
    let hub = TestHub::with(Settings {
        stream_stall: Duration::from_millis(300),
        ..Settings::default()
    })
    .await;
    let client = RawClient::of(&hub).await;
    let mut stuck = client.messages("stuck").await;
    let mut beside = client.messages("beside").await;
    let mut elsewhere = hub.messages("elsewhere").await;
    let padding = "x".repeat(20_000);
    for n in 0..COUNT {
        let message = in_context("c", &format!("{n} {padding}"));
        hub.publish(message, routing("asker", "")).await;
        read(&mut beside, padding.len()).await;
        assert!(elsewhere.text().await.starts_with(&format!("{n} ")));
    }
    until("it is cut off", async || {
        let metrics = http_router(hub.server.hub().clone());
        let cut_off = gauge(metrics, "agenthub_streams_cut_off_total").await;
        cut_off.filter(|n| *n == 1)
    })
    .await;
    let ended = until("its call ends", async || within(stuck.data()).await?.err()).await;
    assert_eq!(ended.reason(), Some(Reason::CANCEL), "{ended}");
    hub.publish(user("after that"), routing("asker", "")).await;
    read(&mut beside, 1).await;
    assert_eq!(elsewhere.text().await, "after that");
}

/// Shows that the tests below are needed: frames of 60 bytes close a reader's connection.
#[tokio::test]
async fn many_small_frames_that_wait_unread_end_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let serving = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.expect("a peer");
        let mut connection = h2::server::handshake(socket).await.expect("HTTP/2");
        let (_, mut answer) = connection.accept().await.expect("a call").expect("good");
        let mut sending = answer
            .send_response(Response::new(()), false)
            .expect("open");
        for _ in 0..400 {
            sending.send_data(vec![0; 60].into(), false).expect("open");
        }
        within(std::future::poll_fn(|cx| connection.poll_closed(cx))).await
    });
    let socket = TcpStream::connect(address).await.expect("it listens");
    let (requests, connection) = client::handshake(socket).await.expect("HTTP/2");
    let connection = tokio::spawn(connection);
    let mut requests = requests.ready().await.expect("open");
    let (answer, _) = requests
        .send_request(Request::new(()), true)
        .expect("it is open");
    let _unread = within(answer).await.expect("an answer");
    let ended = within(connection).await.expect("it ends");
    let error = ended.expect_err("not well");
    assert_eq!(error.reason(), Some(Reason::ENHANCE_YOUR_CALM));
    let _ = serving.await;
}

/// A client of the SDK with the smallest windows.
async fn narrow(hub: &TestHub) -> Client {
    let endpoint = Endpoint::from_shared(format!("http://{}", hub.server.address()))
        .expect("an address")
        .initial_stream_window_size(NARROW)
        .initial_connection_window_size(NARROW);
    Client::new(within(endpoint.connect()).await.expect("it listens"))
}

/// The smallest events, one at a time; those that may be lost have no position either.
async fn trickle(hub: &TestHub, count: usize, durability: Durability) {
    let mut other = hub.messages("other").await;
    for _ in 0..count {
        let routing = AgentEventMetadata {
            durability: durability.into(),
            ..routing("c", "")
        };
        hub.publish(user("x"), routing).await;
        other.next().await;
    }
}

/// spec: promise 6
#[tokio::test]
async fn small_events_that_wait_unread_do_not_cost_a_client_its_connection() {
    const COUNT: usize = 1000;
    let hub = TestHub::start().await;
    let request = SubscribeToMessagesRequest {
        agent_id: "a".to_owned(),
        ..Default::default()
    };
    let answer = within(narrow(&hub).await.subscribe_to_messages(request)).await;
    let mut paused = answer.expect("subscribed").into_inner();
    trickle(&hub, COUNT, Durability::Unspecified).await;
    for n in 0..COUNT {
        let event = within(paused.message()).await;
        let event = event.unwrap_or_else(|status| panic!("after {n} events: {status}"));
        assert!(matches!(
            event.expect("it goes on").payload,
            Some(Payload::Message(_))
        ));
    }
}

/// spec: promise 6
#[tokio::test]
async fn small_events_that_wait_unread_do_not_cost_an_agent_its_connection() {
    const COUNT: usize = 500;
    let hub = TestHub::start().await;
    let first = AgentFrame {
        hello: Some(agent("a", "i", 10_000)),
        ..Default::default()
    };
    let connected = try_connect(&narrow(&hub).await, first).await;
    let mut paused = connected.expect("welcome");
    trickle(&hub, COUNT, Durability::Memory).await;
    for _ in 0..COUNT {
        assert_eq!(paused.word().await, "message x");
    }
}

/// The hub reads agents' frames, and has large windows for unread ones.
#[tokio::test]
async fn an_agent_that_sends_very_many_small_frames_keeps_its_connection() {
    const COUNT: usize = 20_000;
    let hub = TestHub::start().await;
    let client = RawClient::of(&hub).await;
    let hello = AgentFrame {
        hello: Some(agent("echo", "i", 9)),
        ..Default::default()
    };
    let (mut sending, mut frames) = client.call("Connect", framed(&hello), false).await;
    let heartbeat = AgentFrame {
        heartbeat: Some(Heartbeat {}),
        ..Default::default()
    };
    for _ in 0..COUNT {
        sending.send_data(framed(&heartbeat), false).expect("open");
    }
    let last = AgentFrame {
        publish: vec![Publish {
            sequence: 1,
            payload: Some(publish::Payload::Message(user("x"))),
            routing: Some(routing("echo", "somebody")),
            ..Publish::default()
        }],
        ..Default::default()
    };
    sending.send_data(framed(&last), false).expect("open");
    let mut bytes = BytesMut::new();
    loop {
        let some = within(frames.data())
            .await
            .expect("it goes on")
            .expect("it is open");
        let _ = frames.flow_control().release_capacity(some.len());
        bytes.extend_from_slice(&some);
        while bytes.len() >= 5 {
            let length = u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]) as usize;
            if bytes.len() < 5 + length {
                break;
            }
            let message = bytes.split_to(5 + length).split_off(5);
            let frame = HubFrame::decode(message).expect("a frame");
            if let Some(result) = frame.result.first() {
                assert_eq!(result.code, 0, "{}", result.error);
                return;
            }
        }
    }
}
