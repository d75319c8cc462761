use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    time::{Instant, timeout},
};

use super::*;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame, which is the first of each side.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const GOAWAY: u8 = 7;

/// What comes in, one after the other, and then nothing; with the time of each.
fn coming(
    what: Vec<io::Result<DuplexStream>>,
) -> (
    impl Stream<Item = io::Result<DuplexStream>> + Send,
    Arc<Mutex<Vec<Instant>>>,
) {
    let times = Arc::new(Mutex::new(Vec::new()));
    let asked = times.clone();
    let mut what: VecDeque<_> = what.into();
    let stream = futures_util::stream::poll_fn(move |_| {
        let mut times = asked.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(Instant::now());
        what.pop_front()
            .map_or(std::task::Poll::Pending, |next| Some(next).into())
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
        ended: tokio::spawn(serve(incoming, Routes::default(), NO_ROOM, stop.clone())),
        stop,
        asked,
    }
}

/// Reads frames until one of this type came, and returns what that holds.
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

/// How long it took until the other side closed the connection.
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
    assert_eq!(until_closed(&mut silent).await, KEEPALIVE);
    assert_eq!(until_closed(&mut halfway).await, Duration::ZERO);
}

/// HTTP/1 has no preface; it is not waited for.
#[tokio::test(start_paused = true)]
async fn a_peer_that_speaks_something_else_is_let_go_at_once() {
    let (mut peer, socket) = duplex(1024);
    let _serving = serving(vec![Ok(socket)]);
    peer.write_all(b"GET /\r\n\r\n").await.expect("it is open");
    assert_eq!(until_closed(&mut peer).await, Duration::ZERO);
}

/// What an agent sends together is not cut into pieces that have to be put together again.
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

/// It does not answer pings.
#[tokio::test(start_paused = true)]
async fn a_peer_that_falls_silent_is_let_go() {
    let (mut peer, socket) = duplex(1024);
    let _serving = serving(vec![Ok(socket)]);
    peer.write_all(&[PREFACE, SETTINGS].concat())
        .await
        .expect("it is open");
    let took = until_closed(&mut peer).await;
    assert!(took <= 2 * KEEPALIVE, "{took:?}");
}

/// Too many open files are no reason to stop, nor to try as often as possible.
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
