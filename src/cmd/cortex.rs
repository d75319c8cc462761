//! `agenthub cortex`

use std::{sync::Arc, time::Duration};

use agenthub_api::{Http, Runs, Service};
use agenthub_broker::{Namespaces, Served, gated, watch};
use agenthub_cortex::{CORTEX, Cortex, Running, Settings as CortexSettings};
use agenthub_proto::cortex::cortex_server::CortexServer;
use agenthub_sdk::{Client, durable::Telemetry, hub::Connection};
use agenthub_terminal::{connect::until_there, output, stop::Signals};
use anyhow::bail;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use tonic::service::Routes;

use super::access;
use crate::{
    cli,
    http::{self, Bound, HttpServer},
    journal::Kept,
    metrics::Metrics,
    model,
    rpc::{self, RpcServer},
    settings::Settings,
};

/// Time for turns at work when Cortex stops: that of models, and 0.75 s for what is broken off to end.
const DRAIN: Duration = Duration::from_millis(2_250);

/// Time for their models to answer at the end.
const LAST_ANSWERS: Duration = Duration::from_millis(1_500);

/// Runs Cortex alone until it is told to stop.
pub(super) async fn run(args: &cli::Cortex, settings: &Settings) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let telemetry = Telemetry::start()?;
    let model = model::model(&settings.model).await?;
    let kept = Kept::of_cortex(settings).await?;
    let doors = Doors::open(args, settings).await?;
    let metrics = Metrics::serve(settings, Arc::new(|_| ())).await?;
    let cortex = lasting(CortexSettings::new(&settings.hub, model), &kept, &telemetry);
    let cortex = tokio::select! {
        started = until_there(|| Cortex::start(cortex.clone())) => started?,
        _ = signals.next() => {
            return Ok(signals.leave(doors.shutdown()).await?);
        }
    };
    let namespace = tokio::select! {
        namespace = access::namespace(&settings.hub) => namespace,
        _ = signals.next() => {
            let leaving = async {
                tokio::join!(doors.shutdown(), stop(cortex));
            };
            signals.leave(leaving).await?;
            return Ok(());
        }
    };
    doors.lead_to(&cortex, &namespace);
    let model = model::described(&settings.model);
    output::line(format!(
        "{CORTEX} is connected to {}; model: {model}{}",
        settings.hub,
        doors.described()
    ))?;
    let closed = tokio::select! {
        _ = signals.next() => None,
        reason = closed(cortex.client()) => Some(reason),
    };
    let leaving = async {
        doors.pages.close();
        stop(cortex).await;
        tokio::join!(doors.shutdown(), Metrics::close(metrics), telemetry.stop());
    };
    let left = signals.leave(leaving).await;
    match closed {
        None => Ok(left?),
        Some(reason) => bail!("the hub closed the connection for good: {reason}"),
    }
}

/// Services by which Cortex is asked other than over the hub.
struct Doors {
    service: Service,
    pages: Http,
    grpc: Option<RpcServer>,
    http: Option<HttpServer>,
    scheme: &'static str,
    served: Served,
    /// Notices changed identities.
    _identities: AbortOnDropHandle<()>,
    /// Keys of issuers elsewhere.
    _keys: AbortOnDropHandle<()>,
}

impl Doors {
    /// Listens where that is wanted; what is asked before Cortex is there is answered with that.
    async fn open(args: &cli::Cortex, settings: &Settings) -> anyhow::Result<Self> {
        let identities = settings.identities()?;
        let wanted = [("--grpc", args.grpc), ("--http", args.http)];
        let wanted = wanted.map(|(flag, address)| Some((flag, address?)));
        let tls = match wanted.iter().any(Option::is_some) {
            true => settings.tls.open()?,
            false => None,
        };
        for (flag, address) in wanted.into_iter().flatten() {
            http::check(flag, address, settings.insecure, identities.is_open())?;
            if tls.is_none() {
                http::warn_of_plain_text(flag, address, identities.is_open());
            }
        }
        let (service, pages) = (Service::default(), Http::default());
        // Known once the hub says who this process is.
        let served = Served::default();
        let http = match args.http {
            Some(address) => {
                let router = pages.router(http::hosts(address));
                let others = Namespaces::default();
                others.settle();
                let router = gated(router, served.clone(), others, identities.clone());
                Some(Bound::bind(address).await?.serve(router, tls.clone()))
            }
            None => None,
        };
        let grpc = match args.grpc {
            Some(address) => {
                let services = Routes::new(CortexServer::new(service.clone()));
                let (served, identities, tls) = (served.clone(), identities.clone(), tls.clone());
                Some(rpc::serve(address, services, served, identities, tls).await?)
            }
            None => None,
        };
        Ok(Self {
            service,
            pages,
            grpc,
            http,
            scheme: match tls {
                Some(_) => "https",
                None => "http",
            },
            _keys: settings.keep_keys(&identities),
            served,
            _identities: AbortOnDropHandle::new(tokio::spawn(watch(identities))),
        })
    }

    /// Lets callers of this namespace to Cortex.
    fn lead_to(&self, cortex: &Running, namespace: &str) {
        self.served.is(namespace);
        let runs = Runs::of(cortex.handle());
        self.service.open(&runs);
        self.pages.open(&runs);
    }

    /// Their addresses, as the rest of a line.
    fn described(&self) -> String {
        let grpc = self.grpc.as_ref();
        let http = self.http.as_ref();
        let grpc = grpc.map(|server| format!("; gRPC: {}", server.address()));
        let scheme = self.scheme;
        let http = http.map(|server| format!("; HTTP: {scheme}://{}", server.address()));
        grpc.into_iter().chain(http).collect()
    }

    async fn shutdown(self) {
        self.pages.close();
        if let Some(server) = self.http {
            server.shutdown().await;
        }
        if let Some(server) = self.grpc {
            server.shutdown().await;
        }
    }
}

/// Cortex with a journal, so that the next one goes on where this one was stopped or died, and with those who watch it.
pub(crate) fn lasting(
    cortex: CortexSettings,
    kept: &Kept,
    telemetry: &Telemetry,
) -> CortexSettings {
    CortexSettings {
        spans: telemetry.sink(),
        journal: kept.journal.clone(),
        instance_id: Some(kept.instance.clone()),
        others: kept.others.clone(),
        drain: LAST_ANSWERS,
        keep_runs: kept.keep.unwrap_or(cortex.keep_runs),
        ..cortex
    }
}

/// Stops Cortex, and breaks off what takes too long.
pub(crate) async fn stop(cortex: Running) {
    if timeout(DRAIN, cortex.stop()).await.is_err() {
        tracing::warn!("turns at work were broken off");
    }
}

async fn closed(client: &Client) -> String {
    let mut connection = client.connection();
    loop {
        if let Connection::Closed { reason } = &*connection.borrow_and_update() {
            return reason.clone();
        }
        if connection.changed().await.is_err() {
            return "the client was closed".to_owned();
        }
    }
}
