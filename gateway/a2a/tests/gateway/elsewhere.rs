//! Agents elsewhere: servers on sockets, and lines to them that can be cut.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::Router;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// Serves a router.
pub(crate) struct Elsewhere {
    pub(crate) address: SocketAddr,
    _serving: JoinSet<()>,
}

impl Elsewhere {
    pub(crate) async fn serve(router: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("it is free");
        Self::on(listener, router)
    }

    /// Does the same on a socket whose address was known before.
    pub(crate) fn on(listener: TcpListener, router: Router) -> Self {
        let address = listener.local_addr().expect("it has an address");
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Self {
            address,
            _serving: serving,
        }
    }
}

/// A line to an address. [`cut`](Self::cut) ends all its connections; later ones are served again.
pub(crate) struct Line {
    pub(crate) address: SocketAddr,
    cuts: watch::Sender<u32>,
    is_down: Arc<AtomicBool>,
    target: Arc<Mutex<SocketAddr>>,
    _serving: JoinSet<()>,
}

impl Line {
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("it is free");
        let address = listener.local_addr().expect("it has an address");
        let (cuts, cut) = watch::channel(0);
        let is_down = Arc::new(AtomicBool::new(false));
        let down = is_down.clone();
        let target = Arc::new(Mutex::new(target));
        let leads_to = target.clone();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut lines = JoinSet::new();
            while let Ok((mut ours, _)) = listener.accept().await {
                if down.load(Ordering::SeqCst) {
                    continue;
                }
                let mut cut = cut.clone();
                cut.mark_unchanged();
                let target = *leads_to.lock().expect("nobody panicked");
                lines.spawn(async move {
                    let Ok(mut theirs) = TcpStream::connect(target).await else {
                        return;
                    };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut ours, &mut theirs) => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Self {
            address,
            cuts,
            is_down,
            target,
            _serving: serving,
        }
    }

    /// Cuts it, and leads to another address from here on.
    pub(crate) fn lead_to(&self, target: SocketAddr) {
        *self.target.lock().expect("nobody panicked") = target;
        self.cut();
    }

    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|n| *n += 1);
    }

    /// Cuts it, and serves no connections until it is up again.
    pub(crate) fn down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
        self.cut();
    }
}
