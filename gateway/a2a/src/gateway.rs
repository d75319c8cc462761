//! The gateway, from its settings to its end.

use std::sync::{Arc, OnceLock};

use agenthub_sdk::{Client, Error};
use axum::Router;
use tokio_util::sync::CancellationToken;

use crate::{
    Service, grpc, http, hub::Hub, operations::Operations, v1::a2a_service_server::A2aServiceServer,
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
    /// HTTP is served on loopback: names of other machines are refused.
    pub local_only: bool,
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
            closing: CancellationToken::new(),
        };
        Self(Arc::new(Inner {
            settings,
            operations,
            grpc_port: OnceLock::new(),
        }))
    }

    /// Connects to the hub and answers from then on. Only the first time counts. `grpc_port` is where the service is served, if it is.
    ///
    /// # Errors
    ///
    /// Those of [`ClientBuilder::connect`](agenthub_sdk::hub::ClientBuilder::connect).
    pub async fn open(&self, hub_url: &str, grpc_port: Option<u16>) -> Result<(), Error> {
        let client = Client::builder(hub_url)
            .agent_id(AGENT_ID)
            .watch_agents(true);
        if let Some(port) = grpc_port {
            // It was opened before.
            let _ = self.0.grpc_port.set(port);
        }
        self.0.operations.hub.open(client.connect().await?);
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
    /// on. Takes 3 s at most.
    pub async fn close(&self) {
        self.0.operations.closing.cancel();
        if let Ok(client) = self.0.operations.hub.client() {
            client.close().await;
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn operations(&self) -> &Operations {
        &self.0.operations
    }

    pub(crate) fn grpc_port(&self) -> Option<u16> {
        self.0.grpc_port.get().copied()
    }
}
