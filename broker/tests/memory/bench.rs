//! A hub whose memory is counted, and clients whose memory is not.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicIsize, Ordering},
    },
    time::Duration,
};

use agenthub_broker::{Server, Settings};
use agenthub_proto::{
    a2a::{Message as A2aMessage, Role},
    agenthub::{
        AgentEventMetadata, AgentFrame, Hello, HubFrame, Lifetime, Publish, Subscription,
        agent_event, publish,
    },
    grpc::{Messages, call, framed},
};
use bytes::Bytes;
use prost::Message;
use tokio::{runtime::Runtime, sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, service::Routes, transport::Channel};

use super::{MIB, hello};

/// Counts allocations of the hub's threads: all but those of clients.
pub(super) struct Counting;

thread_local! {
    static IS_CLIENT: Cell<bool> = const { Cell::new(false) };
}

pub(super) static LIVE: AtomicIsize = AtomicIsize::new(0);
pub(super) static PEAK: AtomicIsize = AtomicIsize::new(0);

pub(super) fn count(bytes: isize) {
    if IS_CLIENT.try_with(Cell::get) == Ok(false) {
        let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(live, Ordering::Relaxed);
    }
}

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A hub whose memory is counted, and clients whose memory is not.
pub(super) struct Bench {
    pub(super) hub: Runtime,
    pub(super) clients: Runtime,
    pub(super) server: Arc<Server>,
}

impl Bench {
    pub(super) fn start(settings: Settings) -> Self {
        IS_CLIENT.set(true);
        let hub = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let server = hub.spawn(async {
            let address = "127.0.0.1:0".parse().expect("an address");
            Server::start(settings, address, Routes::default()).await
        });
        let clients = tokio::runtime::Builder::new_multi_thread()
            .on_thread_start(|| IS_CLIENT.set(true))
            .enable_all()
            .build()
            .expect("a runtime");
        let server = clients.block_on(server).expect("no panic");
        Self {
            server: Arc::new(server.expect("a free port")),
            hub,
            clients,
        }
    }

    /// Opens this many calls on one connection, and sends no request. Returns the memory taken, and the number of
    /// refused calls.
    pub(super) fn memory_of_calls(&self, count: u32) -> (usize, usize) {
        let before = LIVE.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let mut socket = TcpStream::connect(self.server.address()).expect("the hub listens");
        let mut reading = socket.try_clone().expect("a socket");
        let ping = http2(6, 0, 0, &[0; 8]);
        let reading = std::thread::spawn(move || {
            IS_CLIENT.set(true);
            let mut refused = 0;
            loop {
                let mut head = [0; 9];
                if reading.read_exact(&mut head).is_err() {
                    // The hub has closed the connection.
                    return refused;
                }
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
                let mut payload = vec![0; usize::try_from(length).expect("it fits")];
                reading.read_exact(&mut payload).expect("all of it");
                match (head[3], head[4]) {
                    // RST_STREAM with REFUSED_STREAM.
                    (3, _) if payload == [0, 0, 0, 7] => refused += 1,
                    // The answer to the ping.
                    (6, 1) => return refused,
                    _ => {}
                }
            }
        });
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend(http2(4, 0, 0, &[]));
        let path = b"/agenthub.AgentHub/PublishMessage";
        // POST, http, and the path without indexing (RFC 7541).
        let length = u8::try_from(path.len()).expect("it is short");
        let headers = [&[0x83, 0x86, 0x04, length][..], path].concat();
        for call in 0..count {
            bytes.extend(http2(1, 4, 2 * call + 1, &headers));
        }
        bytes.extend(ping);
        let _ = socket.write_all(&bytes);
        let refused = reading.join().expect("it was answered");
        let most = PEAK.load(Ordering::Relaxed) - before;
        (most.unsigned_abs(), refused)
    }

    /// Sends frames on one stream, the last of them once the others were processed. Returns the maximum memory of the
    /// last one, and the end of the stream.
    pub(super) fn memory_of(
        &self,
        first: Vec<AgentFrame>,
        last: Bytes,
    ) -> (usize, Result<(), Status>) {
        self.clients.block_on(async {
            let url = format!("http://{}", self.server.address());
            let channel = Channel::from_shared(url).expect("a URL");
            let channel = channel.connect().await.expect("the hub listens");
            let (frames, outgoing) = mpsc::channel(8);
            let is_first = first.is_empty();
            for frame in first {
                frames.send(framed(&frame)).await.expect("there is room");
            }
            let opening = call(
                channel,
                "/agenthub.AgentHub/Connect",
                ReceiverStream::new(outgoing),
                64 * MIB,
            );
            let mut last = Some(last);
            let mut before = LIVE.load(Ordering::Relaxed);
            let mut send_last = async || {
                before = LIVE.load(Ordering::Relaxed);
                PEAK.store(before, Ordering::Relaxed);
                if let Some(last) = last.take() {
                    frames.send(last).await.expect("there is room");
                }
            };
            if is_first {
                send_last().await;
            }
            let ended = match timeout(DEADLINE, opening).await.expect("in time") {
                Err(status) => Err(status),
                Ok(mut messages) => {
                    if !is_first {
                        let welcome = timeout(DEADLINE, messages.next()).await.expect("in time");
                        welcome.expect("let in").expect("a welcome");
                        send_last().await;
                    }
                    timeout(DEADLINE, until_ended(&mut messages))
                        .await
                        .expect("in time")
                }
            };
            let most = PEAK.load(Ordering::Relaxed) - before;
            (most.unsigned_abs(), ended)
        })
    }
}

/// An HTTP/2 frame (RFC 9113, section 4.1).
pub(super) fn http2(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = u32::try_from(payload.len()).expect("it fits").to_be_bytes();
    [&[a, b, c, kind, flags], &stream.to_be_bytes()[..], payload].concat()
}

pub(super) const DEADLINE: Duration = Duration::from_secs(60);

/// Reads until the stream ends, or the answer to a heartbeat arrives.
pub(super) async fn until_ended(messages: &mut Messages) -> Result<(), Status> {
    while let Some(frame) = messages.next().await? {
        let frame = HubFrame::decode(frame).expect("a frame of the hub");
        if frame.heartbeat.is_some() {
            break;
        }
    }
    Ok(())
}

/// An agent with a durable mailbox.
pub(super) fn absent(agent: usize, credit: u32) -> AgentFrame {
    AgentFrame {
        hello: Some(Hello {
            protocol_version: 1,
            agent_id: format!("absent {agent}"),
            instance_id: "i".to_owned(),
            subscription: vec![Subscription {
                name: "work".to_owned(),
                lifetime: Lifetime::Durable.into(),
                credit,
                ..Subscription::default()
            }],
            ..Hello::default()
        }),
        ..AgentFrame::default()
    }
}

impl Bench {
    pub(super) fn stop(self) {
        let Self {
            hub,
            clients,
            server,
        } = self;
        let server = Arc::into_inner(server).expect("nobody else has it");
        clients.block_on(server.shutdown());
        // Dropped by the hub's threads, as it was allocated there.
        hub.shutdown_timeout(DEADLINE);
    }

    pub(super) async fn open(&self, first: AgentFrame) -> (mpsc::Sender<Bytes>, Messages) {
        let url = format!("http://{}", self.server.address());
        let channel = Channel::from_shared(url).expect("a URL");
        let channel = channel.connect().await.expect("the hub listens");
        let (frames, outgoing) = mpsc::channel(8);
        frames.send(framed(&first)).await.expect("there is room");
        let opening = call(
            channel,
            "/agenthub.AgentHub/Connect",
            ReceiverStream::new(outgoing),
            64 * MIB,
        );
        let mut messages = timeout(DEADLINE, opening)
            .await
            .expect("in time")
            .expect("it is answered");
        next(&mut messages).await.welcome.expect("a welcome");
        (frames, messages)
    }

    /// Mail for every absent agent, each event for one of them.
    pub(super) fn fill(&self, agents: usize, events: usize, text: impl Fn(usize, usize) -> String) {
        self.clients.block_on(async {
            for agent in 0..agents {
                drop(self.open(absent(agent, 0)).await);
            }
            let (frames, mut messages) = self.open(hello()).await;
            for event in 0..events {
                let publish = (0..agents).map(|agent| Publish {
                    payload: Some(publish::Payload::Message(A2aMessage {
                        context_id: format!("c{}", event % 3),
                        ..A2aMessage::new(Role::User, text(agent, event))
                    })),
                    routing: Some(AgentEventMetadata {
                        to_agent_id: format!("absent {agent}"),
                        ..AgentEventMetadata::default()
                    }),
                    ..Publish::default()
                });
                let frame = AgentFrame {
                    publish: publish.collect(),
                    ..AgentFrame::default()
                };
                frames.send(framed(&frame)).await.expect("there is room");
                let mut answered = 0;
                while answered < agents {
                    for result in next(&mut messages).await.result {
                        assert_eq!(result.code, 0, "{}", result.error);
                        answered += 1;
                    }
                }
            }
        });
    }

    /// All mail of an absent agent, in order.
    pub(super) fn take_all(&self, agent: usize, events: usize) -> Vec<A2aMessage> {
        self.clients.block_on(async {
            let credit = u32::try_from(events).expect("they are few");
            let (_frames, mut messages) = self.open(absent(agent, credit)).await;
            let mut came = Vec::new();
            while came.len() < events {
                for event in next(&mut messages).await.event {
                    match event.payload {
                        Some(agent_event::Payload::Message(message)) => came.push(message),
                        other => panic!("no message: {other:?}"),
                    }
                }
            }
            came
        })
    }
}

pub(super) async fn next(messages: &mut Messages) -> HubFrame {
    let frame = timeout(DEADLINE, messages.next()).await.expect("in time");
    let frame = frame.expect("the stream goes on").expect("a frame");
    HubFrame::decode(frame).expect("a frame of the hub")
}
