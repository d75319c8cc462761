//! A hub, a server of MCP in front of it, agents, and clients that note what they are told.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use agenthub_access::{Identities, Namespace, NewToken, Policy, Sources, TokenStore};
use agenthub_broker::{ExtraServices, Server as Broker, Settings as BrokerSettings};
use agenthub_mcp::server::{Door, DoorSettings, Server, Settings};
use agenthub_sdk::{
    Agent, Card, Failure, IntoOutput, Reply, RunningAgent, Skill, TaskContext,
    internal::{Identity, NotIdentified, WhoIs},
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        CallToolRequestParams, CallToolResult, ClientConfig, ElicitRequestParams, ElicitResult,
        ElicitationCapability, ProgressNotificationParam, ProtocolVersion,
    },
    service::{
        ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext, RunningService,
        ServiceError,
    },
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle, time::timeout};

/// Nothing here takes that long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for something that must come.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it came in time")
}

pub(crate) struct Hub(Broker);

impl Hub {
    pub(crate) async fn start() -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into()).await
    }

    pub(crate) async fn start_at(address: SocketAddr) -> Self {
        let routes = tonic::service::Routes::default();
        let server = Broker::start(BrokerSettings::default(), address, routes).await;
        Self(server.expect("the address is free"))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.address()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    pub(crate) async fn stop(self) {
        self.0.shutdown().await;
    }

    /// A server in front of it.
    pub(crate) async fn served(&self) -> Server {
        serving(Settings::new(self.url())).await
    }

    /// An agent that does this with whatever it is asked.
    pub(crate) async fn agent<F, R>(
        &self,
        name: &str,
        handler: impl Fn(TaskContext) -> F + Send + Sync + 'static,
    ) -> RunningAgent
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoOutput<Reply>,
    {
        let work = Skill::new("work", "Work", "Works");
        let card = Card::new(name, "An agent of a test").skill(work);
        let agent = Agent::worker(card).on_task_type("work", handler);
        agent.start(self.url()).await.expect("it starts")
    }

    /// A door to it on loopback.
    pub(crate) async fn door(&self) -> OpenDoor {
        OpenDoor::to(self, |_| {}).await
    }

    /// An agent that says it is there and then works until it is called back; who was called back, and in which trace, is told.
    pub(crate) async fn stubborn(&self) -> (RunningAgent, mpsc::Receiver<String>) {
        let (told, heard) = mpsc::channel(8);
        let agent = self.agent("stubborn", move |task: TaskContext| {
            let told = told.clone();
            async move {
                task.publish_update("at work").await?;
                let _ = told.send(format!("began {}", task.text())).await;
                task.cancelled().await;
                let _ = told.send(format!("ended {}", task.text())).await;
                Err::<(), _>(Failure::cancelled("as you like"))
            }
        });
        (agent.await, heard)
    }
}

/// A hub that takes tokens, once the first one is issued.
pub(crate) struct GuardedHub {
    pub(crate) hub: Hub,
    store: TokenStore,
    _folder: TempDir,
}

impl GuardedHub {
    pub(crate) async fn start(policy: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TokenStore::in_folder(folder.path());
        let identities = Identities::open(Sources {
            tokens: Some(store.path().to_owned()),
            policy: policy.map(|text| Policy::of_toml(text).expect("a policy")),
            ..Sources::default()
        });
        let services = ExtraServices::default().guarded_by(identities.expect("right"));
        let address = ([127, 0, 0, 1], 0).into();
        let server = Broker::start(BrokerSettings::default(), address, services).await;
        Self {
            hub: Hub(server.expect("a free port")),
            store,
            _folder: folder,
        }
    }

    /// A token with its id, which the hub knows.
    pub(crate) async fn issue(&self, name: &str, roles: &[&str]) -> (String, String) {
        let issued = self.store.issue(NewToken {
            principal: name.parse().expect("a name"),
            namespace: Namespace::default(),
            roles: roles.iter().map(|&role| role.to_owned()).collect(),
            // What nobody needs, so that a token without roles is one.
            allow: vec!["see:own-tasks".parse().expect("a right")],
            lasts: None,
        });
        let issued = issued.expect("a token");
        let token = issued.token.secret().to_owned();
        let who = WhoIs::at(&self.hub.url()).expect("an address");
        let known = async {
            while matches!(
                who.shows(Some(&token)).await,
                Err(NotIdentified::Unknown(_))
                    | Ok(Identity {
                        is_anonymous: true,
                        ..
                    })
            ) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        soon(known).await;
        (token, issued.record.id)
    }

    pub(crate) fn revoke(&self, id: &str) {
        self.store.revoke(id).expect("it is there");
    }

    /// An agent that says on whose behalf it was asked.
    pub(crate) async fn agent(&self, name: &str, token: &str) -> RunningAgent {
        let work = Skill::new("work", "Work", "Works");
        let card = Card::new(name, "An agent of a test").skill(work);
        let said = async |task: TaskContext| {
            Ok::<_, Failure>(format!("{} for {}", task.text(), task.on_behalf_of()))
        };
        let agent = Agent::worker(card).on_task_type("work", said);
        let agent = agent.token(token).expect("a token");
        agent.start(self.hub.url()).await.expect("it starts")
    }

    pub(crate) async fn door(&self) -> OpenDoor {
        self.hub.door().await
    }
}

/// A door that is served on loopback.
pub(crate) struct OpenDoor {
    pub(crate) door: Door,
    pub(crate) address: SocketAddr,
    serving: JoinHandle<()>,
}

impl OpenDoor {
    /// A door with settings of one's own.
    pub(crate) async fn to(hub: &Hub, change: impl FnOnce(&mut DoorSettings)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let mut settings = DoorSettings {
            address,
            is_tls: false,
            public_url: None,
            issuers: Vec::new(),
            scopes: Vec::new(),
            needs_identity: false,
        };
        change(&mut settings);
        let door = Door::open(Settings::new(hub.url()), settings).expect("an address of a hub");
        let router = door.router();
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self {
            door,
            address,
            serving,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) async fn client(&self, lifecycle: ClientLifecycleMode) -> McpClient {
        self.client_with(lifecycle, None).await
    }

    /// A client that shows this token.
    pub(crate) async fn client_with(
        &self,
        lifecycle: ClientLifecycleMode,
        token: Option<&str>,
    ) -> McpClient {
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url());
        if let Some(token) = token {
            config = config.auth_header(token);
        }
        let transport = StreamableHttpClientTransport::with_client(web(), config);
        McpClient::over(transport, lifecycle).await
    }

    /// A request as a program sends it that is no MCP client.
    pub(crate) fn post(&self, body: &'static str) -> reqwest::RequestBuilder {
        let request = web().post(self.url()).body(body);
        request
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
    }
}

impl Drop for OpenDoor {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub(crate) fn web() -> reqwest::Client {
    let builder = reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(60));
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .expect("versions")
    .with_root_certificates(rustls::RootCertStore::empty())
    .with_no_client_auth();
    builder
        .tls_backend_preconfigured(tls)
        .build()
        .expect("a client")
}

pub(crate) async fn serving(settings: Settings) -> Server {
    Server::start(settings).await.expect("an address of a hub")
}

/// Notes that a test has not read.
const NOTES: usize = 1024;

/// What a client notes.
#[derive(Clone)]
pub(crate) struct Notes {
    progress: mpsc::Sender<ProgressNotificationParam>,
    changed: mpsc::Sender<()>,
    person: Option<Person>,
}

/// Somebody at a client that can ask: gets questions, and gives answers. Without an answer to give, it thinks on.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) asked: mpsc::Sender<String>,
    pub(crate) answers: Arc<Mutex<VecDeque<ElicitResult>>>,
}

impl ClientHandler for Notes {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        if self.person.is_some() {
            info.capabilities.elicitation = Some(ElicitationCapability::default());
        }
        info
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let person = self.person.as_ref().expect("only those who can are asked");
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else {
            panic!("it is a form: {request:?}");
        };
        let answer = person.answers.lock().expect("no panic").pop_front();
        // A test that wants no questions does not read them.
        let _ = person.asked.send(message).await;
        match answer {
            Some(answer) => Ok(answer),
            None => std::future::pending().await,
        }
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.progress.try_send(params).expect("the test reads on");
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        // That something changed is known already where there is no room.
        let _ = self.changed.try_send(());
    }
}

pub(crate) struct McpClient {
    pub(crate) service: RunningService<RoleClient, Notes>,
    pub(crate) progress: mpsc::Receiver<ProgressNotificationParam>,
    pub(crate) changed: mpsc::Receiver<()>,
    pub(crate) serving: Option<JoinHandle<()>>,
}

/// Both ways of beginning: the handshake, and what replaced it in 2026-07-28.
pub(crate) fn lifecycles() -> [ClientLifecycleMode; 2] {
    [ClientLifecycleMode::Initialize, modern()]
}

pub(crate) fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

impl McpClient {
    /// A client at the other end of a pipe.
    pub(crate) async fn piped(server: &std::sync::Arc<Server>) -> Self {
        Self::piped_as(server, ClientLifecycleMode::Initialize).await
    }

    pub(crate) async fn piped_as(
        server: &std::sync::Arc<Server>,
        lifecycle: ClientLifecycleMode,
    ) -> Self {
        Self::piped_with(server, lifecycle, None).await
    }

    /// A client with somebody who can be asked.
    pub(crate) async fn piped_with(
        server: &std::sync::Arc<Server>,
        lifecycle: ClientLifecycleMode,
        person: Option<Person>,
    ) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (input, output) = tokio::io::split(theirs);
        let server = std::sync::Arc::clone(server);
        let serving = tokio::spawn(async move {
            server.serve(input, output).await.expect("a client");
        });
        let mut client = Self::over_with(ours, lifecycle, person).await;
        client.serving = Some(serving);
        client
    }

    pub(crate) async fn over<T, E, A>(transport: T, lifecycle: ClientLifecycleMode) -> Self
    where
        T: rmcp::transport::IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        Self::over_with(transport, lifecycle, None).await
    }

    async fn over_with<T, E, A>(
        transport: T,
        lifecycle: ClientLifecycleMode,
        person: Option<Person>,
    ) -> Self
    where
        T: rmcp::transport::IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let (progress, progressed) = mpsc::channel(NOTES);
        let (changed, was_changed) = mpsc::channel(NOTES);
        let notes = Notes {
            progress,
            changed,
            person,
        };
        let service = soon(notes.serve_with_lifecycle(transport, lifecycle)).await;
        Self {
            service: service.expect("it is served"),
            progress: progressed,
            changed: was_changed,
            serving: None,
        }
    }

    /// The names of the tools.
    pub(crate) async fn names(&self) -> Vec<String> {
        let tools = soon(self.service.list_all_tools()).await;
        let tools = tools.expect("a list").into_iter();
        tools.map(|tool| tool.name.to_string()).collect()
    }

    pub(crate) async fn call(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<CallToolResult, ServiceError> {
        soon(self.service.call_tool(params(name, arguments))).await
    }

    /// Waits until the tools are these.
    pub(crate) async fn sees(&mut self, expected: &[&str]) {
        while self.names().await != expected {
            soon(self.changed.recv()).await.expect("a change");
        }
    }

    /// Leaves, and waits until the server has seen that.
    pub(crate) async fn leave(self) {
        soon(self.service.cancel()).await.expect("it ends");
        if let Some(serving) = self.serving {
            soon(serving).await.expect("it ends well");
        }
    }
}

pub(crate) fn params(name: &str, arguments: Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().expect("an object").clone();
    CallToolRequestParams::new(name.to_owned()).with_arguments(arguments)
}

/// The texts of a result.
pub(crate) fn texts(result: &CallToolResult) -> Vec<&str> {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    texts.map(|text| &*text.text).collect()
}
