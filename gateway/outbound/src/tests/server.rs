//! Servers for the tests, on sockets of this machine.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
};

/// Answers every connection with the same bytes once it has said something.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
}

/// End of an exchange.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Close,
    Wait,
}

impl Server {
    pub(super) async fn start(ip: &str, answer: impl Into<Vec<u8>>, then: Then) -> Self {
        let ip: IpAddr = ip.parse().expect("an address");
        let listener = TcpListener::bind((ip, 0)).await.expect("it is free");
        let address = listener.local_addr().expect("it has an address");
        let (connections, answer) = (Arc::new(AtomicUsize::new(0)), answer.into());
        let count = connections.clone();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut exchanges = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                exchanges.spawn(exchange(stream, answer.clone(), then));
            }
        });
        Self {
            address,
            connections,
            _serving: serving,
        }
    }

    /// Connections so far.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Reads the head of a request, answers, and closes or waits for the other side to.
pub(super) async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: Vec<u8>,
    then: Then,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    if stream.write_all(&answer).await.is_err() || stream.flush().await.is_err() {
        return;
    }
    match then {
        Then::Wait => drop(stream.read_u8().await),
        // The other side may be gone already.
        Then::Close => drop(stream.shutdown().await),
    }
}
