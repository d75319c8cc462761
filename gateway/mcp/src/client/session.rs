//! A session with a server, from the handshake to the end of its program.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rmcp::{
    RoleClient,
    model::ProtocolVersion,
    service::{
        ClientInitializeError, ClientLifecycleMode, Peer, RunningService,
        serve_client_with_lifecycle,
    },
    transport::{StreamableHttpClientTransport, async_rw::AsyncRwTransport},
};
use serde_json::Value;
use tokio::{
    process::{ChildStdin, ChildStdout},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Reach, ServerSettings, handler::Handler, http, process::Program, why};

/// Deadline for a server from its start to the end of the handshake: what `npx` and the like fetch first takes its time.
pub(super) const OPENING: Duration = Duration::from_secs(20);

/// Deadline of the protocol's end of a session.
const ENDING: Duration = Duration::from_secs(3);

/// Time for a program whose stdout has ended to say how.
const FALLING: Duration = Duration::from_millis(500);

/// The longest message of a server over stdio, in bytes.
const MAX_MESSAGE: usize = 8 * 1024 * 1024;

/// A session with a server.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) server: String,
    pub(super) peer: Peer<RoleClient>,
    pub(super) handler: Handler,
    pub(super) tasks: TaskTracker,
    /// Ends it.
    end: CancellationToken,
    /// True if the server has answered anything but the handshake.
    has_answered: AtomicBool,
    /// The list of tools, and after how many changes it was read.
    listed: Mutex<Option<(u64, Arc<[Value]>)>>,
}

type Service = RunningService<RoleClient, Handler>;

/// The reason why a handshake came to nothing.
enum Broken {
    /// The server answered the beginning of it with an error.
    Refused(String),
    Failed(String),
}

impl Session {
    /// Starts the server or connects to it, and shakes hands. The session lasts until `stop`, or until the server ends it; a task in
    /// `tasks` then ends what belongs to it.
    ///
    /// # Errors
    ///
    /// The reason why there is none, in words for people.
    pub(super) async fn open(
        settings: &ServerSettings,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<Self, String> {
        let handler = Handler::new(&settings.name);
        let begin = |lifecycle| begin(settings, tasks, handler.clone(), lifecycle);
        let (service, program) = match begin(ClientLifecycleMode::Initialize).await {
            Ok(begun) => begun,
            Err(Broken::Failed(why)) => return Err(why),
            // A server that knows only the handshake-free protocol.
            Err(Broken::Refused(first)) => {
                let lifecycle = ClientLifecycleMode::Discover {
                    preferred_versions: vec![ProtocolVersion::LATEST],
                };
                begin(lifecycle).await.map_err(|_| first)?
            }
        };
        let session = Self {
            server: settings.name.clone(),
            peer: service.peer().clone(),
            handler,
            tasks: tasks.clone(),
            end: stop.child_token(),
            has_answered: AtomicBool::new(false),
            listed: Mutex::default(),
        };
        tasks.spawn(keep(service, program, session.end.clone()));
        tracing::debug!(server = settings.name, "connected to the MCP server");
        Ok(session)
    }

    /// True if nothing can be asked in it any more.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_cancelled() || self.peer.is_transport_closed()
    }

    /// Gives it up, since nothing comes through any more.
    pub(super) fn give_up(&self) {
        self.end.cancel();
    }

    /// True if it was of any use.
    pub(super) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Acquire)
    }

    pub(super) fn answered(&self) {
        self.has_answered.store(true, Ordering::Release);
    }

    /// The list of tools, unless the server has said that it has others since.
    pub(super) fn listed(&self) -> Option<Arc<[Value]>> {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let (changes, tools) = listed.as_ref()?;
        (*changes == self.handler.changes()).then(|| Arc::clone(tools))
    }

    /// Keeps what the server listed after so many changes.
    pub(super) fn keep_listed(&self, changes: u64, tools: &Arc<[Value]>) {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        *listed = Some((changes, Arc::clone(tools)));
    }
}

async fn begin(
    settings: &ServerSettings,
    tasks: &TaskTracker,
    handler: Handler,
    lifecycle: ClientLifecycleMode,
) -> Result<(Service, Option<Program>), Broken> {
    match &settings.reach {
        Reach::Command {
            line,
            folder,
            environment,
        } => {
            let started =
                Program::start(&settings.name, line, folder.as_deref(), environment, tasks);
            let (program, stdout, stdin) = started.map_err(Broken::Failed)?;
            begin_with(program, (stdout, stdin), handler, lifecycle).await
        }
        Reach::Http { url, token_env } => {
            let config = http::config(url, token_env.as_deref()).map_err(Broken::Failed)?;
            let transport = StreamableHttpClientTransport::from_config(config);
            let serving = serve_client_with_lifecycle(handler, transport, lifecycle);
            match timeout(OPENING, serving).await {
                Ok(Ok(service)) => Ok((service, None)),
                Ok(Err(ClientInitializeError::JsonRpcError(error))) => {
                    Err(Broken::Refused(why::refused(&error)))
                }
                Ok(Err(error)) => Err(Broken::Failed(http::why(&error, url, token_env.as_deref()))),
                Err(_) => Err(Broken::Failed(why::late(OPENING))),
            }
        }
    }
}

async fn begin_with(
    mut program: Program,
    (stdout, stdin): (ChildStdout, ChildStdin),
    handler: Handler,
    lifecycle: ClientLifecycleMode,
) -> Result<(Service, Option<Program>), Broken> {
    let transport = AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(MAX_MESSAGE);
    let serving = serve_client_with_lifecycle(handler, transport, lifecycle);
    let begun = tokio::select! {
        begun = timeout(OPENING, serving) => begun,
        how = program.ended() => return Err(Broken::Failed(told(how, &program.said().await))),
    };
    let broken = match begun {
        Ok(Ok(service)) => return Ok((service, Some(program))),
        Ok(Err(ClientInitializeError::JsonRpcError(error))) => {
            Broken::Refused(why::refused(&error))
        }
        Ok(Err(error)) => {
            let how = timeout(FALLING, program.ended()).await;
            let how =
                how.unwrap_or_else(|_| format!("it does not speak MCP: {}", why::chain(&error)));
            Broken::Failed(told(how, &program.said().await))
        }
        Err(_) => Broken::Failed(told(why::late(OPENING), &program.said().await)),
    };
    program.end().await;
    Err(broken)
}

/// The event, and what the program has said of it.
fn told(how: String, said: &str) -> String {
    match said {
        "" => how,
        said => format!("{how}: {}", agenthub_sdk::internal::redacted(said)),
    }
}

/// Owns what belongs to a session until it is over, and ends it.
async fn keep(service: Service, mut program: Option<Program>, stop: CancellationToken) {
    let server = service.service().server().to_owned();
    let end = service.cancellation_token();
    let over = service.waiting();
    tokio::pin!(over);
    let falls = async {
        match &mut program {
            Some(program) => program.ended().await,
            None => std::future::pending().await,
        }
    };
    let is_over = tokio::select! {
        _ = &mut over => {
            tracing::info!(server, "the MCP server ended the connection; the next call connects again");
            true
        }
        how = falls => {
            tracing::info!(server, "the MCP server has ended ({how}); the next call starts it again");
            false
        }
        () = stop.cancelled() => false,
    };
    if !is_over {
        end.cancel();
        if timeout(ENDING, &mut over).await.is_err() {
            tracing::warn!(
                server,
                "the connection to the MCP server did not end in time"
            );
        }
    }
    if let Some(program) = program {
        program.end().await;
    }
}
