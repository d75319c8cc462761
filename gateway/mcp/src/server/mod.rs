//! The agents of a hub, as MCP tools.
//!
//! A [`Server`] finds the hub, shows every agent that is there as a tool (`tools.rs`), and makes each call a task of that agent
//! (`call.rs`): what the agent shows on the way becomes progress (`progress.rs`), what it asks a question to the person
//! where the client can ask (`elicitation.rs`), what comes of it the result (`result.rs`), and a call that is cancelled is called back from the agent. It serves one client over a pair of streams ([`Server::serve`]), or many over
//! streamable HTTP ([`Server::router`]).

mod call;
mod changes;
mod elicitation;
mod handler;
mod http;
mod hub;
mod progress;
mod result;
mod tools;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use agenthub_sdk::Error;
use axum::Router;
use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Semaphore,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{changes::Changes, handler::Handler, hub::Hub};

/// Time for calls to be called back from their agents when the server stops.
const DRAIN: Duration = Duration::from_secs(4);

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The hub's address, such as `http://127.0.0.1:50051`.
    pub hub: String,
    /// Time for a call until its task is called off.
    pub timeout: Duration,
    /// The calls that may be under way at a time; a further one is refused.
    pub max_calls: usize,
}

impl Settings {
    /// Calls of at most 5 minutes, 64 at a time.
    pub fn new(hub: impl Into<String>) -> Self {
        Self {
            hub: hub.into(),
            timeout: Duration::from_secs(300),
            max_calls: 64,
        }
    }
}

/// The client cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("what is at the other end does not speak MCP")]
pub struct NotAClient(#[source] Box<ServerInitializeError>);

/// Serves the agents of a hub as MCP tools. [`stop`](Self::stop) it; dropping it breaks off.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
}

/// State that all clients share.
#[derive(Debug)]
struct Shared {
    settings: Settings,
    hub: Hub,
    changes: Changes,
    /// A permit for each call that may begin.
    room: Semaphore,
    /// Ends everything.
    stop: CancellationToken,
    /// Spawned tasks, and the calls under way.
    tasks: TaskTracker,
}

impl Server {
    /// Begins to look for the hub, and goes on until it is there and whenever it was lost.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidUrl`]: no hub can ever be there.
    pub async fn start(settings: Settings) -> Result<Self, Error> {
        let hub = Hub::look(&settings.hub).await?;
        let shared = Arc::new(Shared {
            room: Semaphore::new(settings.max_calls),
            changes: Changes::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            settings,
            hub,
        });
        shared.spawn(|shared| async move { shared.hub.keep().await });
        shared.spawn(|shared| async move { shared.changes.watch(&shared.hub).await });
        Ok(Self { shared })
    }

    /// Serves one client. Returns when the input has ended, after calls that end within 5 s have been answered and the others were called
    /// back; or when the server is stopped.
    ///
    /// # Errors
    ///
    /// The first message is not the beginning of MCP.
    pub async fn serve<R, W>(&self, input: R, output: W) -> Result<(), NotAClient>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let stop = self.shared.stop.child_token();
        let handler = Handler::new(&self.shared);
        match serve_server_with_ct(handler, (input, output), stop).await {
            Ok(running) => {
                if let Err(error) = running.waiting().await {
                    tracing::error!(%error, "the client could not be served further");
                }
                Ok(())
            }
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ok(())
            }
            Err(error) => Err(NotAClient(Box::new(error))),
        }
    }

    /// [`serve`](Self::serve) on standard input and standard output, which nothing else may use then.
    ///
    /// # Errors
    ///
    /// Those of [`serve`](Self::serve).
    pub async fn serve_stdio(&self) -> Result<(), NotAClient> {
        let (input, output) = rmcp::transport::io::stdio_pipes();
        self.serve(input, output).await
    }

    /// Streamable HTTP at `/mcp`, for a server that listens at this address. On loopback only names of this machine are answered; pages
    /// that a browser shows are not answered anywhere, unless they are of this address.
    pub fn router(&self, address: SocketAddr) -> Router {
        http::router(&self.shared, address)
    }

    /// Ends all clients, calls back what they asked for, which may take 4 s, and leaves the hub.
    pub async fn stop(&self) {
        let shared = &self.shared;
        shared.stop.cancel();
        shared.tasks.close();
        if timeout(DRAIN, shared.tasks.wait()).await.is_err() {
            tracing::warn!("not every call was called back in time");
        }
        shared.hub.close().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

impl Shared {
    /// Work that ends when the server stops.
    fn spawn<F>(self: &Arc<Self>, work: impl FnOnce(Arc<Self>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let work = work(Arc::clone(self));
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            stop.run_until_cancelled(work).await;
        });
    }
}
