//! The services of one namespace beside its hub, from before there is a hub: A2A, agents elsewhere and the pages.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use agenthub_a2a::{
    FILE_DESCRIPTOR_SET, Gateway,
    outside::{OutsideAgents, Settings as OutsideSettings},
};
use agenthub_access::Identities;
use agenthub_broker::{ExtraServices, Hub, gated_in_process, http_router, measured};
use agenthub_page::{Files, Journals, Login, Model, Pages};
use agenthub_proto::{browser::Hosts, grpc::InProcess};
use agenthub_sdk::Client;
use anyhow::Context;
use axum::Router;
use futures_util::future::join;
use tokio::time::timeout;

use crate::{
    http::hosts,
    journal,
    model::{advice, described},
    settings::Settings,
};

/// Time for agents elsewhere, and for clients over A2A, to leave.
const LEAVE: Duration = Duration::from_millis(1_500);

/// These services. [`close`](Self::close) them before the hub ends.
#[derive(Debug)]
pub(super) struct Doors {
    a2a: Gateway,
    outside: OutsideAgents,
    pages: Pages,
    login: Login,
    hosts: Hosts,
}

/// The hub as they reach it.
pub(super) struct Reached<'a> {
    /// Its address for parts of this process.
    pub(super) url: &'a str,
    pub(super) in_process: InProcess,
    /// The port of gRPC that cards name.
    pub(super) port: u16,
    /// The Cortex that the pages ask, if there is one.
    pub(super) cortex: Option<InProcess>,
    /// The namespace, and who is who in it.
    pub(super) namespace: &'a str,
    pub(super) identities: Identities,
}

/// The files of people that the pages show.
fn shown(settings: &Settings) -> Files {
    let data = settings.data().map(Path::to_owned);
    let journals = data.map(|data| -> Journals {
        Arc::new(move || {
            let data = data.clone();
            Box::pin(async move {
                journal::all(&data).await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "the journals of agents cannot be read");
                    BTreeMap::new()
                })
            })
        })
    });
    Files {
        teams: settings.folders.teams.clone(),
        workflows: settings.folders.workflows.clone(),
        journals,
        model: Some(Model {
            name: described(&settings.model),
            advice: advice(&settings.model).map(str::to_owned),
        }),
    }
}

impl Doors {
    /// Services that are not open yet.
    ///
    /// # Errors
    ///
    /// The settings of A2A are wrong.
    pub(super) fn new(settings: &Settings, login: Login) -> anyhow::Result<Self> {
        Ok(Self {
            a2a: Gateway::new(settings.gateway()?),
            outside: OutsideAgents::new(OutsideSettings {
                connector: settings.outbound.connector(),
                folder: settings.data().map(Into::into),
                variables: !settings.is_of_namespace,
            }),
            pages: Pages::with(shown(settings)),
            login,
            hosts: hosts(settings.http),
        })
    }

    /// Their services of gRPC, beside others.
    pub(super) fn services(&self, others: ExtraServices) -> ExtraServices {
        others
            .with(self.a2a.service(), FILE_DESCRIPTOR_SET)
            .with(self.outside.service(), FILE_DESCRIPTOR_SET)
    }

    /// Their routes of HTTP, beside those of the hub and `runs`.
    pub(super) fn router(&self, hub: &Hub, runs: Router) -> Router {
        let watched = hub.clone();
        self.pages.watch(move |metrics| watched.collect(metrics));
        let router = http_router(hub.clone())
            .merge(runs)
            .merge(self.a2a.router())
            .merge(self.pages.router(self.hosts, self.login.clone()));
        measured(router, hub)
    }

    /// Connects them to the hub.
    ///
    /// # Errors
    ///
    /// One of them cannot start.
    pub(super) async fn open(&self, hub: Reached<'_>) -> anyhow::Result<()> {
        let client = Client::builder(hub.url).in_process(hub.in_process.clone());
        self.a2a.knows(hub.identities.clone(), hub.namespace);
        let opened = self.a2a.open(client.clone(), Some(hub.port)).await;
        opened.context("the A2A gateway cannot start")?;
        let gated = |cortex| gated_in_process(cortex, hub.namespace, hub.identities);
        self.pages.open(hub.in_process, hub.cortex.map(gated));
        let opened = self.outside.open(client, hub.url).await;
        opened.context("agents elsewhere cannot come to the hub")
    }

    /// Ends A2A streams, push notifications and pages, within 1.5 s.
    pub(super) async fn close(&self) {
        self.pages.close();
        let leaving = join(self.outside.close(), self.a2a.close());
        if timeout(LEAVE, leaving).await.is_err() {
            tracing::warn!("agents elsewhere or clients over A2A did not leave in time");
        }
    }
}
