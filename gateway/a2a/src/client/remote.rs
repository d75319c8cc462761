//! An agent elsewhere, over the interface that was chosen.

use std::{pin::Pin, sync::Arc, time::Duration};

use agenthub_outbound::Connector;
use futures_util::Stream;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use tokio::time::sleep;

use super::{
    Auth, Binding, Failure, Following, Interface,
    choice::choose,
    credentials::Credentials,
    grpc::Grpc,
    http::Http,
    jsonrpc::JsonRpc,
    rest::Rest,
    retry::{Trying, pause},
};
use crate::{
    v1::{
        AgentCard, CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse,
        SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task,
        send_message_response::Payload,
    },
    version::Version,
};

/// Events as they come; a break is an error.
pub(super) type Events = Pin<Box<dyn Stream<Item = Result<StreamResponse, Failure>> + Send>>;

/// Beginning of a stream.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    Send(Box<SendMessageRequest>),
    Subscribe(SubscribeToTaskRequest),
}

/// Messages of a task among which an own one is looked for.
const LATEST: i32 = 20;

/// Way in which an agent is called.
#[derive(Clone, Debug)]
pub struct Options {
    /// Credentials of the caller.
    pub auth: Option<Auth>,
    /// The only binding to use; the card's first if not given.
    pub binding: Option<Binding>,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Deadline of a call, and of the beginning of a stream.
    pub deadline: Duration,
    /// Deadline of a message that is answered when the agent is done.
    pub answer: Duration,
    /// The agent knows a message again by its id, or may act on it twice: it is sent again after any failure of the agent's server.
    pub is_repeatable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            auth: None,
            binding: None,
            headers: Vec::new(),
            deadline: Duration::from_secs(30),
            answer: Duration::from_secs(600),
            is_repeatable: false,
        }
    }
}

/// Calls until it succeeds, fails for good, or has failed too often. A macro, as futures of async closures cannot be said to be `Send`.
macro_rules! retried {
    ($call:expr) => {{
        let mut tries = 0;
        loop {
            tries += 1;
            match $call {
                Ok(answer) => break Ok(answer),
                Err(failure) => wait(Trying::Call, failure, tries).await?,
            }
        }
    }};
}

/// An agent elsewhere. Clones share its connections and tokens.
#[derive(Clone, Debug)]
pub struct Remote(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    card: AgentCard,
    interface: Interface,
    wire: Wire,
    connector: Connector,
    credentials: Option<Arc<Credentials>>,
    deadline: Duration,
    answer: Duration,
    is_repeatable: bool,
}

#[derive(Debug)]
enum Wire {
    JsonRpc(JsonRpc),
    Rest(Rest),
    Grpc(Box<Grpc>),
}

impl Remote {
    /// The agent of a card that came from there. Nothing is called yet.
    ///
    /// # Errors
    ///
    /// [`Failure::Card`] if it names no interface that is spoken here, [`Failure::Credentials`] if secrets must not go there.
    pub fn new(
        connector: &Connector,
        card: AgentCard,
        card_url: &Uri,
        options: Options,
    ) -> Result<Self, Failure> {
        let interface = choose(&card, card_url, options.binding)?;
        let url = &interface.url;
        let credentials = match options.auth {
            None => None,
            Some(auth) => {
                let of = Credentials::new(auth, connector.clone(), &card, card_url, url);
                Some(Arc::new(of?))
            }
        };
        let headers: HeaderMap = options.headers.into_iter().collect();
        let is_old = interface.version == Version::Old;
        let http = |media_type, headers, credentials| Http {
            connector: connector.clone(),
            url: url.clone(),
            version: interface.version.name(),
            media_type,
            headers,
            credentials,
        };
        let credentials_of = credentials.clone();
        let wire = match interface.binding {
            Binding::JsonRpc => Wire::JsonRpc(JsonRpc {
                http: http("application/json", headers, credentials),
                is_old,
            }),
            Binding::Rest => Wire::Rest(Rest {
                http: http("application/a2a+json", headers, credentials),
            }),
            Binding::Grpc => {
                let grpc = Grpc::new(connector.http2(), url, headers, credentials);
                Wire::Grpc(Box::new(grpc))
            }
        };
        Ok(Self(Arc::new(Inner {
            card,
            interface,
            wire,
            connector: connector.clone(),
            credentials: credentials_of,
            deadline: options.deadline,
            answer: options.answer,
            is_repeatable: options.is_repeatable,
        })))
    }

    /// Checks that the interface may be called and that its secrets are there. Nothing is sent.
    ///
    /// # Errors
    ///
    /// [`Failure::Outbound`] for an address that is refused or unknown, [`Failure::Credentials`] for a secret that cannot be read.
    pub async fn check(&self) -> Result<(), Failure> {
        if let Some(credentials) = &self.0.credentials {
            credentials.check()?;
        }
        Ok(self.0.connector.check(&self.0.interface.url).await?)
    }

    /// The agent's card.
    pub fn card(&self) -> &AgentCard {
        &self.0.card
    }

    /// The interface that is used.
    pub fn interface(&self) -> &Interface {
        &self.0.interface
    }

    /// Sends a message (§3.1.1). Its id stays the same over tries, and before it is sent again the agent is asked whether it has it, as far as
    /// it can be asked.
    ///
    /// # Errors
    ///
    /// See [`Failure`].
    pub async fn send_message(
        &self,
        mut request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Failure> {
        self.0.name_tenant(&mut request.tenant);
        let mut tries = 0;
        loop {
            tries += 1;
            let failure = match self.send_once(&request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            wait(self.sending(), failure.clone(), tries).await?;
            if !failure.is_unsent()
                && let Some(task) = self.find_sent(&request).await
            {
                return Ok(SendMessageResponse {
                    payload: Some(Payload::Task(task)),
                });
            }
        }
    }

    /// Sends a message and shows what comes of it (§3.1.2), over breaks of the connection. Agents that do not stream are asked again and again.
    pub fn send_streaming_message(&self, mut request: SendMessageRequest) -> Following {
        self.0.name_tenant(&mut request.tenant);
        let sent = request.message.as_ref().map(|m| m.message_id.clone());
        Following::new(
            self.clone(),
            Ask::Send(Box::new(request)),
            &sent.unwrap_or_default(),
        )
    }

    /// Shows what becomes of a task (§3.1.6), over breaks of the connection. Unlike the operation, it shows a task that has ended, too.
    pub fn subscribe_to_task(&self, id: impl Into<String>) -> Following {
        self.resume(id, "")
    }

    /// The same after this message was sent: a question that it answers is not taken for one that is open.
    pub fn resume(&self, id: impl Into<String>, message_id: &str) -> Following {
        let mut request = SubscribeToTaskRequest {
            id: id.into(),
            ..Default::default()
        };
        self.0.name_tenant(&mut request.tenant);
        Following::new(self.clone(), Ask::Subscribe(request), message_id)
    }

    /// One task (§3.1.3).
    ///
    /// # Errors
    ///
    /// See [`Failure`].
    pub async fn get_task(&self, mut request: GetTaskRequest) -> Result<Task, Failure> {
        self.0.name_tenant(&mut request.tenant);
        retried!(self.get_once(&request).await)
    }

    /// A page of tasks (§3.1.4).
    ///
    /// # Errors
    ///
    /// See [`Failure`].
    pub async fn list_tasks(
        &self,
        mut request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Failure> {
        self.0.name_tenant(&mut request.tenant);
        let (request, time) = (&request, self.0.deadline);
        retried!(match &self.0.wire {
            Wire::JsonRpc(wire) => wire.list(request, time).await,
            Wire::Rest(wire) => wire.list(request, time).await,
            Wire::Grpc(wire) => wire.list(request, time).await,
        })
    }

    /// Cancels a task (§3.1.5).
    ///
    /// # Errors
    ///
    /// See [`Failure`].
    pub async fn cancel_task(&self, mut request: CancelTaskRequest) -> Result<Task, Failure> {
        self.0.name_tenant(&mut request.tenant);
        let (request, time) = (&request, self.0.deadline);
        retried!(match &self.0.wire {
            Wire::JsonRpc(wire) => wire.cancel(request, time).await,
            Wire::Rest(wire) => wire.cancel(request, time).await,
            Wire::Grpc(wire) => wire.cancel(request, time).await,
        })
    }

    /// Retries of messages.
    pub(super) fn sending(&self) -> Trying {
        match self.0.is_repeatable {
            true => Trying::Repeatable,
            false => Trying::Call,
        }
    }

    /// True if the agent streams, as its card says.
    pub(super) fn streams(&self) -> bool {
        self.0
            .card
            .capabilities
            .as_ref()
            .is_some_and(|c| c.streaming())
    }

    pub(super) async fn send_once(
        &self,
        request: &SendMessageRequest,
    ) -> Result<SendMessageResponse, Failure> {
        let is_quick = request
            .configuration
            .as_ref()
            .is_some_and(|c| c.return_immediately);
        let time = if is_quick {
            self.0.deadline
        } else {
            self.0.answer
        };
        match &self.0.wire {
            Wire::JsonRpc(wire) => wire.send(request, time).await,
            Wire::Rest(wire) => wire.send(request, time).await,
            Wire::Grpc(wire) => wire.send(request, time).await,
        }
    }

    pub(super) async fn get_once(&self, request: &GetTaskRequest) -> Result<Task, Failure> {
        let time = self.0.deadline;
        match &self.0.wire {
            Wire::JsonRpc(wire) => wire.get(request, time).await,
            Wire::Rest(wire) => wire.get(request, time).await,
            Wire::Grpc(wire) => wire.get(request, time).await,
        }
    }

    /// Opens a stream once.
    pub(super) async fn open(&self, ask: &Ask) -> Result<Events, Failure> {
        let time = self.0.deadline;
        match &self.0.wire {
            Wire::JsonRpc(wire) => wire.stream(ask, time).await,
            Wire::Rest(wire) => wire.stream(ask, time).await,
            Wire::Grpc(wire) => wire.stream(ask, time).await,
        }
    }

    /// The task that a message led to that may have arrived. Found only if its context was named, and by agents that list tasks.
    pub async fn find_sent(&self, request: &SendMessageRequest) -> Option<Task> {
        let message = request.message.as_ref()?;
        let has_it = |task: &Task| {
            let mut all = task.history.iter();
            all.any(|known| known.message_id == message.message_id)
        };
        if !message.task_id.is_empty() {
            let get = GetTaskRequest {
                id: message.task_id.clone(),
                history_length: Some(LATEST),
                ..Default::default()
            };
            return self.get_task(get).await.ok().filter(has_it);
        }
        if message.context_id.is_empty() {
            return None;
        }
        let list = ListTasksRequest {
            context_id: message.context_id.clone(),
            history_length: Some(LATEST),
            include_artifacts: Some(true),
            ..Default::default()
        };
        let page = self.list_tasks(list).await.ok()?;
        page.tasks.into_iter().find(has_it)
    }
}

impl Inner {
    fn name_tenant(&self, tenant: &mut String) {
        if tenant.is_empty() {
            self.interface.tenant.clone_into(tenant);
        }
    }
}

/// Waits before the next try, or gives up.
pub(super) async fn wait(trying: Trying, failure: Failure, tries: u32) -> Result<(), Failure> {
    match pause(trying, &failure, tries, fastrand::f64()) {
        Some(pause) => {
            tracing::debug!(%failure, tries, "an agent elsewhere is asked again");
            sleep(pause).await;
            Ok(())
        }
        None => Err(failure),
    }
}
