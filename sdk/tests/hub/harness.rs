//! A hub, a line to it that can be cut, and waiting for conditions.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use agenthub_broker::{Server, Settings};
use agenthub_sdk::{Card, Client, Skill, hub::ClientBuilder, proto::a2a::AgentCard};
use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use tokio::{
    io::{self, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Mutex,
    task::JoinSet,
    time::{sleep, timeout},
};
use tower::ServiceExt as _;

/// Nothing here takes that long unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Hub {
    server: Server,
}

impl Hub {
    pub(crate) async fn start() -> Self {
        Self::start_with(Settings::default()).await
    }

    pub(crate) async fn start_with(settings: Settings) -> Self {
        Self::start_at(settings, ([127, 0, 0, 1], 0).into()).await
    }

    async fn start_at(settings: Settings, address: SocketAddr) -> Self {
        let server = Server::start(settings, address, tonic::service::Routes::default());
        Self {
            server: server.await.expect("the address is free"),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    pub(crate) async fn client(&self) -> Client {
        connect(&self.url()).await
    }

    /// A client that calls the hub in this process.
    pub(crate) fn in_process(&self) -> ClientBuilder {
        Client::builder("http://in-process").in_process(self.server.in_process())
    }

    /// A figure of the hub's metrics.
    pub(crate) async fn metric(&self, name: &str) -> Option<u64> {
        let request = Request::get("/metrics").body(Body::empty()).expect("good");
        let router = agenthub_broker::http_router(self.server.hub().clone());
        let answer = router.oneshot(request).await.expect("it always answers");
        let text = to_bytes(answer.into_body(), usize::MAX).await.ok()?;
        let text = String::from_utf8(text.to_vec()).ok()?;
        let line = text.lines().find(|l| l.starts_with(&format!("{name} ")))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    pub(crate) async fn stop(self) {
        self.server.shutdown().await;
    }

    /// Another hub at the same address, which knows nothing.
    pub(crate) async fn restart(self) -> Self {
        let address = self.address();
        self.stop().await;
        Self::start_at(Settings::default(), address).await
    }
}

pub(crate) async fn connect(url: &str) -> Client {
    let client = Client::builder(url).agent_id("user").connect().await;
    client.expect("the hub is there")
}

pub(crate) fn card(name: &str) -> AgentCard {
    Card::new(name, "An agent of a test")
        .skill(Skill::new("work", "Work", "Works"))
        .into()
}

/// A line to the hub that can be cut.
pub(crate) struct Line {
    address: SocketAddr,
    is_cut: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    calls: Arc<Mutex<JoinSet<()>>>,
    _accepting: JoinSet<()>,
}

impl Line {
    pub(crate) async fn to(hub: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let is_cut = Arc::new(AtomicBool::new(false));
        let sent = Arc::new(AtomicU64::new(0));
        let calls = Arc::new(Mutex::new(JoinSet::new()));
        let mut accepting = JoinSet::new();
        let call = (sent.clone(), calls.clone());
        accepting.spawn(accept(listener, hub, is_cut.clone(), call));
        Self {
            address,
            is_cut,
            sent,
            calls,
            _accepting: accepting,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Bytes that came from the clients so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    /// Breaks every connection, and lets none through until mended.
    pub(crate) async fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        self.calls.lock().await.shutdown().await;
    }

    pub(crate) fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

async fn accept(
    listener: TcpListener,
    hub: SocketAddr,
    is_cut: Arc<AtomicBool>,
    (sent, calls): (Arc<AtomicU64>, Arc<Mutex<JoinSet<()>>>),
) {
    while let Ok((near, _)) = listener.accept().await {
        if is_cut.load(Ordering::SeqCst) {
            continue;
        }
        let sent = sent.clone();
        calls.lock().await.spawn(async move {
            if let Ok(far) = TcpStream::connect(hub).await {
                let _ = carry(near, far, &sent).await;
            }
        });
    }
}

/// Carries what both sides say until one ends, and counts what the near one sends.
async fn carry(mut near: TcpStream, mut far: TcpStream, sent: &AtomicU64) -> io::Result<()> {
    let (mut from_near, mut to_near) = near.split();
    let (mut from_far, mut to_far) = far.split();
    let there = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = from_near.read(&mut buffer).await?;
            if count == 0 {
                return to_far.shutdown().await;
            }
            sent.fetch_add(count as u64, Ordering::SeqCst);
            to_far.write_all(&buffer[..count]).await?;
        }
    };
    let back = async {
        io::copy(&mut from_far, &mut to_near).await?;
        to_near.shutdown().await
    };
    tokio::try_join!(there, back).map(drop)
}

/// Waits until the condition holds.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let waiting = async {
        while !holds().await {
            sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(PATIENCE, waiting).await.is_ok(), "never: {what}");
}

/// Waits for something that must come.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it came in time")
}
