//! The agents of a hub, as MCP tools.
//!
//! A caller finds the hub (`hub.rs`), sees every agent that is there and that it may send to as a tool (`tools.rs`), and each of its calls is a task of
//! that agent (`call.rs`): what the agent shows on the way becomes progress (`progress.rs`), what it asks a question to the person
//! where the client can ask (`elicitation.rs`), what comes of it the result (`result.rs`), and a call that is cancelled is called back from the agent.
//!
//! A [`Server`] serves one client over a pair of streams, in the name of its process. A [`Door`] serves many over streamable HTTP, each in its own
//! name: with the token that it shows.

mod call;
mod caller;
mod changes;
mod elicitation;
mod handler;
mod http;
mod hub;
mod progress;
mod result;
mod tools;

use std::{sync::Arc, time::Duration};

use agenthub_sdk::Error;
use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::http::{Door, DoorSettings};

use self::{
    caller::Caller,
    handler::Handler,
    hub::{Hub, Shows},
};

/// Time for calls to be called back from their agents when the server stops.
const DRAIN: Duration = Duration::from_secs(4);

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The hub's address, such as `http://127.0.0.1:50051`.
    pub hub: String,
    /// Time for a call until its task is called off.
    pub timeout: Duration,
    /// The calls of one caller that may be under way at a time; a further one is refused.
    pub max_calls: usize,
}

impl Settings {
    /// Calls of at most 5 minutes, 64 of each caller at a time.
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

/// Serves the agents of a hub as MCP tools, in the name of this process. [`stop`](Self::stop) it; dropping it breaks off.
#[derive(Debug)]
pub struct Server {
    caller: Arc<Caller>,
    /// Ends everything.
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Server {
    /// Begins to look for the hub, and goes on until it is there and whenever it was lost.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidUrl`]: no hub can ever be there.
    pub async fn start(settings: Settings) -> Result<Self, Error> {
        let hub = Hub::look(&settings.hub, Shows::Process).await?;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let caller = Caller::start(&settings, hub, &stop, &tasks, drop);
        Ok(Self {
            caller,
            stop,
            tasks,
        })
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
        let stop = self.stop.child_token();
        let handler = Handler::Only(Arc::clone(&self.caller));
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

    /// Ends its clients, calls back what they asked for, which may take 4 s, and leaves the hub.
    pub async fn stop(&self) {
        self.stop.cancel();
        drain(&self.tasks).await;
        self.caller.close().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Waits until every call was called back, for 4 s at most.
async fn drain(tasks: &TaskTracker) {
    tasks.close();
    if timeout(DRAIN, tasks.wait()).await.is_err() {
        tracing::warn!("not every call was called back in time");
    }
}
