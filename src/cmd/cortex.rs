//! `agenthub cortex`

use std::time::Duration;

use agenthub_api::{Http, Runs, Service};
use agenthub_cortex::{CORTEX, Cortex, Running, Settings as CortexSettings};
use agenthub_proto::cortex::cortex_server::CortexServer;
use agenthub_sdk::{Client, durable::Telemetry, hub::Connection};
use agenthub_terminal::{connect::until_there, output, stop::Signals};
use anyhow::bail;
use tokio::time::timeout;
use tonic::service::Routes;

use crate::{
    cli,
    http::{self, Bound, HttpServer},
    journal::Kept,
    model,
    rpc::{self, RpcServer},
    settings::Settings,
};

/// Time for turns at work when Cortex stops.
const DRAIN: Duration = Duration::from_secs(3);

/// Time for their models to answer at the end.
const LAST_ANSWERS: Duration = Duration::from_millis(1_500);

/// Runs Cortex alone until it is told to stop.
pub(super) async fn run(args: &cli::Cortex, settings: &Settings) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let telemetry = Telemetry::start()?;
    let model = model::model(&settings.model).await?;
    let kept = Kept::of_cortex(settings).await?;
    let doors = Doors::open(args, settings).await?;
    let cortex = lasting(CortexSettings::new(&settings.hub, model), &kept, &telemetry);
    let cortex = tokio::select! {
        started = until_there(|| Cortex::start(cortex.clone())) => started?,
        _ = signals.next() => {
            return Ok(signals.leave(doors.shutdown()).await?);
        }
    };
    doors.lead_to(&cortex);
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
        tokio::join!(doors.shutdown(), telemetry.stop());
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
}

impl Doors {
    /// Listens where that is wanted; what is asked before Cortex is there is answered with that.
    async fn open(args: &cli::Cortex, settings: &Settings) -> anyhow::Result<Self> {
        for (flag, address) in [("--grpc", args.grpc), ("--http", args.http)] {
            if let Some(address) = address {
                http::check(flag, address, settings.insecure)?;
            }
        }
        let (service, pages) = (Service::default(), Http::default());
        let http = match args.http {
            Some(address) => {
                let router = pages.router(http::hosts(address));
                Some(Bound::bind(address).await?.serve(router))
            }
            None => None,
        };
        let grpc = match args.grpc {
            Some(address) => {
                let services = Routes::new(CortexServer::new(service.clone()));
                Some(rpc::serve(address, services).await?)
            }
            None => None,
        };
        Ok(Self {
            service,
            pages,
            grpc,
            http,
        })
    }

    fn lead_to(&self, cortex: &Running) {
        let runs = Runs::of(cortex.handle());
        self.service.open(&runs);
        self.pages.open(&runs);
    }

    /// Their addresses, as the rest of a line.
    fn described(&self) -> String {
        let grpc = self.grpc.as_ref();
        let http = self.http.as_ref();
        let grpc = grpc.map(|server| format!("; gRPC: {}", server.address()));
        let http = http.map(|server| format!("; HTTP: http://{}", server.address()));
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
pub(super) fn lasting(
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
pub(super) async fn stop(cortex: Running) {
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
