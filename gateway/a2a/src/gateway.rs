//! The gateway, from its settings to its end.

use std::sync::{Arc, OnceLock};

use agenthub_access::{Action, Caller, Identities};
use agenthub_sdk::hub::ClientBuilder;
use axum::{
    Router,
    http::uri::{Authority, Uri},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Accepted, CardKey, ExtendedCards, Service,
    card::{Offer, Place, served},
    error::{Error, Kind},
    grpc, http,
    hub::Hub,
    json::{from_json, to_json},
    operations::{Call, Operations},
    push::{self, Push},
    rights::may,
    v1::{AgentCard, GetExtendedAgentCardRequest, a2a_service_server::A2aServiceServer},
};

/// The id under which the gateway is known to the hub: the requester of its tasks. It stays the same over restarts.
const AGENT_ID: &str = "a2a";

/// Settings of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Slug of the agent at `/`.
    pub default_agent: String,
    /// Cards offer streams.
    pub streaming: bool,
    /// The address that cards name, such as `https://hub.example`; the one that callers use if not given.
    pub public_url: Option<String>,
    /// The same for gRPC, such as `hub.example:443`.
    pub public_grpc: Option<String>,
    /// Origins whose pages may ask, such as `https://app.example`; `*` is any.
    pub cors: Vec<String>,
    /// Both addresses are served with TLS.
    pub is_tls: bool,
    /// Security schemes for callers, once there are identities.
    pub accepted: Accepted,
    /// HTTP is served on loopback: names of other machines are refused.
    pub local_only: bool,
    /// Push notifications; `None` to offer none.
    pub push: Option<push::Settings>,
    /// Extended cards. They name addresses whoever asks, so they need `public_url`.
    pub extended: Option<ExtendedCards>,
    /// The key that cards are signed with. It signs addresses, so it needs `public_url`: what a caller says the host is, is not signed.
    pub card_key: Option<Arc<CardKey>>,
    /// Calls to addresses that others name.
    pub outbound: agenthub_outbound::Settings,
}

/// Reasons why a gateway cannot open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The hub cannot be reached.
    #[error(transparent)]
    Hub(#[from] agenthub_sdk::Error),
    /// The store of push notifications cannot be used.
    #[error(transparent)]
    Push(#[from] push::OpenError),
}

/// A2A in front of a hub. It has its routes before there is a hub: until it is [opened](Self::open), requests are answered with 503. Clones are
/// the same.
#[derive(Clone, Debug)]
pub struct Gateway(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    operations: Operations,
    grpc_port: OnceLock<u16>,
}

impl Gateway {
    /// A gateway that is not open yet.
    pub fn new(settings: Settings) -> Self {
        let operations = Operations {
            hub: Hub::default(),
            default_agent: settings.default_agent.clone(),
            streaming: settings.streaming,
            push: Push::new(settings.push.clone(), settings.outbound.clone()),
            shared: Arc::default(),
            replies: Arc::default(),
            closing: CancellationToken::new(),
        };
        Self(Arc::new(Inner {
            settings,
            operations,
            grpc_port: OnceLock::new(),
        }))
    }

    /// Looks at the rights that principals of this namespace have from then on: push notifications of who may see no task any more wait. To be called before
    /// it is [opened](Self::open).
    pub fn knows(&self, identities: Identities, namespace: &str) {
        let owners = push::Owners::new(identities, namespace);
        self.0.operations.push.knows(owners);
    }

    /// Connects to the hub, under the gateway's own id, and answers from then on. Only the first time counts. `grpc_port` is where the service is served, if it is.
    ///
    /// # Errors
    ///
    /// The hub cannot be reached, or the store of push notifications cannot be used.
    pub async fn open(&self, hub: ClientBuilder, grpc_port: Option<u16>) -> Result<(), OpenError> {
        let client = hub.agent_id(AGENT_ID).watch_agents(true);
        if let Some(port) = grpc_port {
            // It was opened before.
            let _ = self.0.grpc_port.set(port);
        }
        let replies = Arc::clone(&self.0.operations.replies);
        let client = client.on_reply(move |event| replies.take(event));
        let client = client.connect().await?;
        self.0.operations.replies.watch(client.connection());
        self.0.operations.push.open(client.clone()).await?;
        self.0.operations.hub.open(client);
        Ok(())
    }

    /// Routes of JSON-RPC, HTTP+JSON and cards.
    pub fn router(&self) -> Router {
        http::router(self.clone())
    }

    /// The gRPC service.
    pub fn service(&self) -> A2aServiceServer<Service> {
        A2aServiceServer::new(grpc::Service::new(self.clone()))
    }

    /// Ends streams and calls that wait, so that their clients come back where they find a gateway, and says goodbye to the hub. The tasks go
    /// on. Takes 4 s at most.
    pub async fn close(&self) {
        self.0.operations.closing.cancel();
        self.0.operations.push.close().await;
        self.0.operations.shared.close().await;
        if let Ok(client) = self.0.operations.hub.client() {
            client.close().await;
            self.0.operations.replies.close().await;
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The key that cards are signed with, if they are.
    pub(crate) fn card_key(&self) -> Option<&CardKey> {
        let settings = &self.0.settings;
        let key = settings.public_url.as_ref().and(settings.card_key.as_ref());
        key.map(Arc::as_ref)
    }

    /// Capabilities of an agent that settings decide on; `None` is the default agent.
    pub(crate) fn offer(&self, slug: Option<&str>) -> Offer {
        let settings = &self.0.settings;
        let slug = slug.unwrap_or(&settings.default_agent);
        let extended = settings.extended.as_ref();
        Offer {
            push: settings.push.is_some(),
            extended: extended.is_some_and(|extended| extended.has(slug)),
        }
    }

    /// §3.1.11. Extended cards are given where the gateway's address is known, whoever asks for them.
    pub(crate) async fn extended_card(
        &self,
        call: &Call,
        request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, Error> {
        let operations = self.operations();
        may(&call.caller, Action::SeeDirectory)?;
        let slug = operations.slug(call, &request.tenant)?;
        let agent = operations.hub.agent(slug).await?;
        let is_default = call.slug.is_none() && request.tenant.is_empty();
        let place = self.place_for(None, &call.caller);
        let card = served(
            &agent.card,
            (!is_default).then_some(slug),
            &place,
            self.offer(Some(slug)),
        );
        let extended = match &self.settings().extended {
            Some(extended) => extended.card(slug, &card, &call.authorization, &call.caller)?,
            None => None,
        };
        match extended {
            Some(mut extended) => {
                let key = self.card_key();
                let signed = key.and_then(|key| key.sign(&to_json(&extended), &place.keys_url()));
                let signature = signed.and_then(|signed| from_json(signed).ok());
                extended.signatures.extend(signature);
                Ok(extended)
            }
            None if agent.card.supports_authenticated_extended_card => {
                Err(Kind::ExtendedAgentCardNotConfigured.with(format!(
                    "{} says that it has an extended card, and the hub has none for it (a2a.extended_cards)",
                    agent.id
                )))
            }
            None => Err(Kind::UnsupportedOperation.with(format!("{} has no extended card", agent.id))),
        }
    }

    /// The addresses, as a caller sees them that names this host.
    pub(crate) fn place_for(&self, host: Option<Authority>, caller: &Caller) -> Place {
        let settings = self.settings();
        let public: Option<Uri> = settings
            .public_url
            .as_ref()
            .and_then(|url| url.parse().ok());
        // What a caller says the host is, is not taken for the public name.
        let name = match (public.as_ref().and_then(Uri::host), &host) {
            (Some(name), _) => name.to_owned(),
            (None, Some(host)) => host.host().to_owned(),
            (None, None) => "127.0.0.1".to_owned(),
        };
        let scheme = match settings.is_tls {
            true => "https",
            false => "http",
        };
        let http = match (&settings.public_url, host) {
            (Some(url), _) => url.trim_end_matches('/').to_owned(),
            (None, Some(host)) => format!("{scheme}://{host}"),
            (None, None) => format!("{scheme}://{name}"),
        };
        let grpc = match (&settings.public_grpc, self.grpc_port()) {
            (Some(address), _) => address.clone(),
            (None, Some(port)) if settings.is_tls => format!("https://{name}:{port}"),
            (None, Some(port)) => format!("{name}:{port}"),
            (None, None) => String::new(),
        };
        Place {
            http,
            grpc,
            streaming: settings.streaming,
            accepted: (!caller.is_anonymous()).then(|| settings.accepted.clone()),
        }
    }

    pub(crate) fn operations(&self) -> &Operations {
        &self.0.operations
    }

    pub(crate) fn grpc_port(&self) -> Option<u16> {
        self.0.grpc_port.get().copied()
    }
}
