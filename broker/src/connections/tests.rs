use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use agenthub_proto::socket::DEAD;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadBuf, duplex},
    time::{Instant, Sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use agenthub_access::Identities;

use super::*;
use crate::{Namespaces, Served};

/// Services of a hub without identities.
fn gated(routes: Routes) -> Gated<Routes> {
    Gated::new(
        routes,
        Served::default_namespace(),
        Namespaces::default(),
        Identities::none(),
    )
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame, the first frame of each side.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const GOAWAY: u8 = 7;
/// Bytes sent to a slow peer.
const MAIL: usize = 512 * 1024;

/// Received bytes, one after the other, then silence; with the time of each.
fn coming(
    what: Vec<io::Result<DuplexStream>>,
) -> (
    impl Stream<Item = io::Result<Socket<DuplexStream>>> + Send,
    Arc<Mutex<Vec<Instant>>>,
) {
    let times = Arc::new(Mutex::new(Vec::new()));
    let asked = times.clone();
    let mut what: VecDeque<_> = what.into();
    let stream = futures_util::stream::poll_fn(move |_| {
        let mut times = asked.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(Instant::now());
        let next = what.pop_front();
        next.map_or(Poll::Pending, |next| Some(next.map(Socket::new)).into())
    });
    (stream, times)
}

struct Serving {
    stop: CancellationToken,
    ended: tokio::task::JoinHandle<()>,
    asked: Arc<Mutex<Vec<Instant>>>,
}

fn serving(what: Vec<io::Result<DuplexStream>>) -> Serving {
    let (incoming, asked) = coming(what);
    let stop = CancellationToken::new();
    Serving {
        ended: tokio::spawn(serve(
            incoming,
            None,
            None,
            gated(Routes::default()),
            NO_ROOM,
            stop.clone(),
        )),
        stop,
        asked,
    }
}

/// Reads frames until one of this type, and returns its payload.
async fn until_frame(peer: &mut DuplexStream, kind: u8) -> Vec<u8> {
    loop {
        let mut head = [0; 9];
        peer.read_exact(&mut head).await.expect("a frame");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        peer.read_exact(&mut payload).await.expect("all of it");
        if head[3] == kind {
            return payload;
        }
    }
}

/// Time until the other side closed the connection.
async fn until_closed(peer: &mut DuplexStream) -> Duration {
    let start = Instant::now();
    let mut rest = Vec::new();
    let closed = timeout(Duration::from_secs(3600), peer.read_to_end(&mut rest)).await;
    assert!(closed.is_ok(), "it is still open");
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_says_nothing_is_let_go() {
    let (mut silent, socket) = duplex(1024);
    let (mut halfway, other) = duplex(1024);
    let _serving = serving(vec![Ok(socket), Ok(other)]);
    halfway.write_all(&PREFACE[..10]).await.expect("it is open");
    assert_eq!(until_closed(&mut silent).await, GREETING);
    assert_eq!(until_closed(&mut halfway).await, Duration::ZERO);
}

/// HTTP/1 has no preface; the server does not wait for it.
#[tokio::test(start_paused = true)]
async fn a_peer_that_speaks_something_else_is_let_go_at_once() {
    let (mut peer, socket) = duplex(1024);
    let _serving = serving(vec![Ok(socket)]);
    peer.write_all(b"GET /\r\n\r\n").await.expect("it is open");
    assert_eq!(until_closed(&mut peer).await, Duration::ZERO);
}

/// Data sent together arrives without being split and reassembled.
#[tokio::test(start_paused = true)]
async fn peers_may_send_large_frames() {
    const MAX_FRAME_SIZE: u16 = 5;
    let (mut peer, socket) = duplex(1024);
    let _serving = serving(vec![Ok(socket)]);
    peer.write_all(&[PREFACE, SETTINGS].concat())
        .await
        .expect("it is open");
    let told = until_frame(&mut peer, SETTINGS[3]).await;
    let sizes = told
        .chunks_exact(6)
        .filter(|s| s[..2] == MAX_FRAME_SIZE.to_be_bytes());
    let sizes: Vec<&[u8]> = sizes.map(|s| &s[2..]).collect();
    assert_eq!(sizes, [wire::FRAME.to_be_bytes()]);
}

/// The peer does not answer pings.
#[tokio::test(start_paused = true)]
async fn a_peer_that_falls_silent_is_let_go() {
    let (mut peer, socket) = duplex(1024);
    let _serving = serving(vec![Ok(socket)]);
    peer.write_all(&[PREFACE, SETTINGS].concat())
        .await
        .expect("it is open");
    let took = until_closed(&mut peer).await;
    assert!(took <= DEAD, "{took:?}");
}

/// Too many open files must not stop the server, nor make it spin.
#[tokio::test(start_paused = true)]
async fn having_no_room_is_waited_out() {
    let (mut peer, socket) = duplex(1024);
    let full = || Err(io::Error::from_raw_os_error(24));
    let serving = serving(vec![full(), full(), Ok(socket)]);
    peer.write_all(&[PREFACE, SETTINGS].concat())
        .await
        .expect("it is open");
    until_frame(&mut peer, SETTINGS[3]).await;
    let asked = serving.asked.lock().unwrap_or_else(PoisonError::into_inner);
    let waits: Vec<_> = asked.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(waits[..2].iter().all(|w| *w >= NO_ROOM), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_was_gone_is_no_reason_to_wait() {
    let gone = || Err(io::ErrorKind::ConnectionAborted.into());
    let serving = serving((0..50).map(|_| gone()).collect());
    tokio::time::sleep(Duration::from_millis(1)).await;
    let asked = serving.asked.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(asked.len() > 50, "{}", asked.len());
}

#[tokio::test(start_paused = true)]
async fn peers_are_told_to_go_and_their_connections_end() {
    let (mut peer, socket) = duplex(1024);
    let (mut silent, other) = duplex(1024);
    let Serving { stop, ended, .. } = serving(vec![Ok(socket), Ok(other)]);
    peer.write_all(&[PREFACE, SETTINGS].concat())
        .await
        .expect("it is open");
    until_frame(&mut peer, SETTINGS[3]).await;
    let start = Instant::now();
    stop.cancel();
    until_frame(&mut peer, GOAWAY).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    drop(peer);
    assert_eq!(until_closed(&mut silent).await, Duration::ZERO);
    ended.await.expect("it ends");
}

#[tokio::test(start_paused = true)]
async fn dropping_it_ends_connections_at_once() {
    let (mut peer, socket) = duplex(1024);
    let Serving { ended, .. } = serving(vec![Ok(socket)]);
    peer.write_all(&[PREFACE, SETTINGS].concat())
        .await
        .expect("it is open");
    until_frame(&mut peer, SETTINGS[3]).await;
    ended.abort();
    assert_eq!(until_closed(&mut peer).await, Duration::ZERO);
}

/// Reading rate of a peer, in bytes per ten seconds.
struct Slow {
    stream: DuplexStream,
    rate: usize,
    next: Pin<Box<Sleep>>,
}

impl Slow {
    fn new(stream: DuplexStream, rate: usize) -> Self {
        let next = Box::pin(sleep(Duration::ZERO));
        Self { stream, rate, next }
    }
}

impl AsyncRead for Slow {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        const PACKET: usize = 1024;
        ready!(self.next.as_mut().poll(context));
        let mut bytes = [0; PACKET];
        let mut packet = ReadBuf::new(&mut bytes[..PACKET.min(buffer.remaining())]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut packet))?;
        let count = packet.filled().len();
        buffer.put_slice(packet.filled());
        let took = DEAD.mul_f64(count as f64 / self.rate as f64);
        self.next.as_mut().reset(Instant::now() + took);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Slow {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Received part of an answer and its time, for a peer with this reading rate.
async fn comes_at(rate: usize) -> (usize, Duration) {
    // Bytes in this buffer count as taken.
    let (peer, socket) = duplex(2 * 1024);
    let (incoming, _asked) = coming(vec![Ok(socket)]);
    let answer = axum::routing::get(async || vec![7; MAIL]);
    let routes = Routes::from(axum::Router::new().route("/mail", answer));
    let _serving = AbortOnDropHandle::new(tokio::spawn(serve(
        incoming,
        None,
        None,
        gated(routes),
        DEAD,
        CancellationToken::new(),
    )));
    let start = Instant::now();
    let handshake = h2::client::handshake(Slow::new(peer, rate));
    let (requests, connection) = handshake.await.expect("HTTP/2");
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
    let request = Request::get("http://hub/mail").body(()).expect("a request");
    let mut requests = requests.ready().await.expect("it is open");
    let (answer, _) = requests.send_request(request, true).expect("it is open");
    let mut body = answer.await.expect("an answer").into_body();
    let mut came = 0;
    while let Some(Ok(data)) = body.data().await {
        came += data.len();
        let _ = body.flow_control().release_capacity(data.len());
    }
    (came, start.elapsed())
}

/// Promise 6. Its answers to pings are as slow as its reading.
#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_slowly_is_kept() {
    assert_eq!(comes_at(16 * 1024).await.0, MAIL);
    assert_eq!(comes_at(300 * 1024).await.0, MAIL);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_next_to_nothing_is_let_go() {
    let (came, _) = comes_at(1024).await;
    assert!(came < MAIL / 4, "{came}");
}
