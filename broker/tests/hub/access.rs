//! Identities over real sockets: who is let in, as whom, to what, and for how long.

mod acts;
mod charges;
mod credentials;
mod ids;
mod mailbox_quotas;
mod rights;

use std::time::Duration;

use agenthub_access::{Identities, Issued, Namespace, NewToken, Policy, Sources, TokenStore};
use agenthub_broker::{ExtraServices, Server, Settings, Storage};
use agenthub_proto::{
    a2a::{Message, TaskState},
    agenthub::{
        AgentEventMetadata, AgentFrame, GetTaskRequest, ListTasksRequest, PublishMessageRequest,
        PublishTaskUpdateRequest, QuotaUse, RegisterAgentRequest, WhoAmIRequest, WhoAmIResponse,
        access_client::AccessClient,
    },
};
use tempfile::TempDir;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status, transport::Channel};

use crate::{
    harness::{Client, card, routing, status, until, user, within, work},
    peer::{Peer, durable, hello, try_connect_as},
};

/// A hub with tokens, whose log is in a folder.
pub(crate) struct Guarded {
    folder: TempDir,
    store: TokenStore,
    policy: Option<Policy>,
    server: Server,
    pub(crate) client: Client,
}

/// A call with a token.
pub(crate) fn with<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    if !token.is_empty() {
        let header = format!("Bearer {token}").parse().expect("a header");
        request.metadata_mut().insert("authorization", header);
    }
    request
}

async fn serve(folder: &TempDir, policy: Option<Policy>) -> (Server, Client) {
    let identities = Identities::open(Sources {
        tokens: Some(TokenStore::in_folder(folder.path()).path().to_owned()),
        policy,
        ..Sources::default()
    });
    let settings = Settings {
        storage: Storage::Folder(folder.path().to_owned()),
        ..Settings::default()
    };
    let services = ExtraServices::default().guarded_by(identities.expect("no file is wrong"));
    let address = "127.0.0.1:0".parse().expect("an address");
    let server = Server::start(settings, address, services).await;
    let server = server.expect("a free port");
    let url = format!("http://{}", server.address());
    let channel = Channel::from_shared(url).expect("a URL").connect().await;
    (server, Client::new(channel.expect("the hub listens")))
}

impl Guarded {
    async fn start() -> Self {
        Self::serving(None).await
    }

    /// A hub with tokens and this policy, in TOML.
    pub(crate) async fn with_policy(policy: &str) -> Self {
        Self::serving(Some(Policy::of_toml(policy).expect("right"))).await
    }

    async fn serving(policy: Option<Policy>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TokenStore::in_folder(folder.path());
        let (server, client) = serve(&folder, policy.clone()).await;
        Self {
            folder,
            store,
            policy,
            server,
            client,
        }
    }

    pub(crate) async fn restart(&mut self) {
        let (server, client) = {
            let address = "127.0.0.1:0".parse().expect("an address");
            let next = Server::start(Settings::default(), address, ExtraServices::default()).await;
            std::mem::replace(&mut self.server, next.expect("a free port"))
                .shutdown()
                .await;
            serve(&self.folder, self.policy.clone()).await
        };
        std::mem::replace(&mut self.server, server).shutdown().await;
        self.client = client;
    }

    async fn who_am_i(&self, token: &str) -> Result<WhoAmIResponse, Status> {
        let mut access = AccessClient::new(self.channel().await);
        let who = within(access.who_am_i(with(token, WhoAmIRequest::default()))).await;
        who.map(Response::into_inner)
    }

    async fn has_seen(&self, token: &str, name: &str) {
        until("the hub has seen the token", async || {
            let who = self.who_am_i(token).await;
            who.ok().filter(|who| who.principal == name)
        })
        .await;
    }

    fn issue(&self, name: &str, roles: &[&str], allow: &[&str], lasts: Option<Duration>) -> Issued {
        let issued = self.store.issue(NewToken {
            principal: name.parse().expect("a name"),
            namespace: Namespace::default(),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            allow: allow
                .iter()
                .map(|right| right.parse().expect("a right"))
                .collect(),
            lasts,
        });
        issued.expect("a token")
    }

    /// A token and its id, known to the hub.
    async fn token_of(&self, name: &str, role: &str, lasts: Option<Duration>) -> (String, String) {
        let issued = self.issue(name, &[role], &[], lasts);
        let token = issued.token.secret().to_owned();
        if lasts.is_none() {
            self.has_seen(&token, name).await;
        }
        (token, issued.record.id)
    }

    /// A token without roles of its own, for a principal of the policy, whose agent is registered.
    pub(crate) async fn join(&self, name: &str) -> String {
        let issued = self.issue(name, &[], &["see:own-tasks"], None);
        let token = issued.token.secret().to_owned();
        self.has_seen(&token, name).await;
        self.register(&token, name).await.expect("it is free");
        token
    }

    /// Connects with a subscription to work and this credit.
    async fn peer(&self, token: &str, name: &str, credit: u32) -> Peer {
        let first = AgentFrame {
            hello: Some(hello(name, "1", vec![durable("work", credit)])),
            ..Default::default()
        };
        let peer = try_connect_as(&self.client, token, first).await;
        peer.expect("its own")
    }

    /// Use of the quotas of a token's principal.
    async fn quotas(&self, token: &str) -> Vec<QuotaUse> {
        self.who_am_i(token).await.expect("it is known").quotas
    }

    pub(crate) async fn token(&self, name: &str, role: &str) -> String {
        self.token_of(name, role, None).await.0
    }

    async fn channel(&self) -> Channel {
        let url = format!("http://{}", self.server.address());
        let channel = Channel::from_shared(url).expect("a URL").connect().await;
        channel.expect("the hub listens")
    }

    pub(crate) async fn register(&self, token: &str, name: &str) -> Result<(), String> {
        let request = RegisterAgentRequest {
            agent_card: Some(card(name)),
            ..Default::default()
        };
        let answer = within(self.client.clone().register_agent(with(token, request))).await;
        let answer = answer.map_err(|status| status.to_string())?.into_inner();
        match answer.success {
            true => Ok(()),
            false => Err(answer.error),
        }
    }

    async fn say(&self, token: &str, from: &str, to: &str, task: &str) -> Result<(), Status> {
        let message = match task {
            "" => user("hi"),
            task => work(task, "do it"),
        };
        self.publish(token, message, routing(from, to)).await
    }

    pub(crate) async fn publish(
        &self,
        token: &str,
        message: Message,
        routing: AgentEventMetadata,
    ) -> Result<(), Status> {
        let request = PublishMessageRequest {
            message: Some(message),
            routing: Some(routing),
            ..Default::default()
        };
        let said = within(self.client.clone().publish_message(with(token, request))).await;
        said.map(|answer| assert!(answer.into_inner().success))
    }

    async fn report(&self, token: &str, from: &str, task: &str) -> Result<(), Status> {
        let request = PublishTaskUpdateRequest {
            update: Some(status(task, TaskState::Working)),
            routing: Some(routing(from, "")),
        };
        let said = within(
            self.client
                .clone()
                .publish_task_update(with(token, request)),
        )
        .await;
        said.map(|answer| assert!(answer.into_inner().success))
    }

    async fn get(&self, token: &str, task: &str) -> Result<String, Status> {
        let request = GetTaskRequest {
            task_id: task.to_owned(),
            history_length: 0,
        };
        let task = within(self.client.clone().get_task(with(token, request))).await;
        task.map(|task| task.into_inner().id)
    }

    async fn tasks(&self, token: &str, agent: &str) -> Result<Vec<String>, Status> {
        let request = ListTasksRequest {
            agent_id: agent.to_owned(),
            ..Default::default()
        };
        let page = within(self.client.clone().list_tasks(with(token, request))).await?;
        let mut ids: Vec<String> = page.into_inner().tasks.into_iter().map(|t| t.id).collect();
        ids.sort();
        Ok(ids)
    }

    async fn connect(
        &self,
        token: &str,
        hello: agenthub_proto::agenthub::Hello,
    ) -> Result<tonic::Streaming<agenthub_proto::agenthub::HubFrame>, Status> {
        let (frames, sent) = tokio::sync::mpsc::channel(4);
        let first = AgentFrame {
            hello: Some(hello),
            ..Default::default()
        };
        frames.send(first).await.expect("there is room");
        let stream = within(
            self.client
                .clone()
                .connect(with(token, ReceiverStream::new(sent))),
        )
        .await?;
        // The stream's own end is what is looked at.
        std::mem::forget(frames);
        Ok(stream.into_inner())
    }
}

fn denied<T: std::fmt::Debug>(result: Result<T, Status>, right: &str) {
    let status = result.expect_err(right);
    assert_eq!(status.code(), Code::PermissionDenied, "{right}: {status:?}");
    assert!(status.message().contains(right), "{status:?}");
}
