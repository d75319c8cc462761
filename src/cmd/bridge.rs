//! `agenthub bridge`

use std::{sync::Arc, time::Duration};

use agenthub_bridge::{Bridge, HubDirectory, Settings as BridgeSettings};
use agenthub_bus::{
    Group,
    messages::{Inbox, TASKS},
};
use agenthub_proto::{
    bearer::Bearer,
    grpc::Transport,
    socket::{HubAddress, channel, without_login},
};
use agenthub_sdk::durable::Telemetry;
use agenthub_terminal::{Listen, connect::until_there, output, stop::Signals, usage::WrongUsage};
use anyhow::bail;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    cli,
    kafka::Kafka,
    metrics::{Collect, Metrics},
    settings::Settings,
};

/// The group that all bridges are members of.
const GROUP: &str = "agenthub.bridges";

/// Longest input of a task, in bytes.
const LONGEST_INPUT: u64 = 16 << 20;

/// Deadline of connecting to the hub.
const CONNECT: Duration = Duration::from_secs(5);

/// Carries tasks to agents over HTTP until it is told to stop.
pub(super) async fn run(args: &cli::Bridge, settings: &Settings) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let starting = async {
        let Some(kafka) = Kafka::connect(settings).await? else {
            let why = "a bridge takes tasks from Kafka: name its servers with --kafka HOST:PORT";
            return Err(WrongUsage(why.to_owned()).into());
        };
        let hub = &settings.hub;
        let there = until_there(|| agenthub_sdk::Client::builder(&**hub).connect());
        there.await?.close().await;
        anyhow::Ok(kafka)
    };
    let kafka = tokio::select! {
        kafka = starting => kafka?,
        _ = signals.next() => return Ok(()),
    };
    let address = match HubAddress::parse(&settings.hub) {
        Ok(address) => address,
        Err(reason) => bail!(
            "{} is no address of a hub: {reason}",
            without_login(&settings.hub)
        ),
    };
    let scheme = match address.is_tls() {
        true => "https",
        false => "http",
    };
    let endpoint = address.endpoint();
    let channel = channel(address, &endpoint, CONNECT);
    let channel = Transport::from(channel).with_bearer(Bearer::of_process());
    let a2a = args.a2a.clone();
    let a2a = a2a.unwrap_or_else(|| format!("{scheme}://{}", Listen(settings.http.dialable())));
    let directory = HubDirectory::new(
        channel,
        &a2a,
        agenthub_a2a::cli::connector()?,
        settings.outbound.connector(),
        settings.bridge.auth.clone(),
    );
    let bridge = Bridge::new(BridgeSettings {
        bus: Arc::clone(&kafka.bus),
        claims: kafka.claims.clone(),
        directory: Arc::new(directory),
        largest_input: LONGEST_INPUT,
    });
    let telemetry = Telemetry::start()?;
    let collect: Collect = {
        let bridge = bridge.clone();
        Arc::new(move |into| bridge.collect(into))
    };
    telemetry.measure({
        let collect = Arc::clone(&collect);
        move |into| collect(into)
    });
    let metrics = Metrics::serve(settings, collect).await?;
    let group = Group {
        in_flight: args.at_once.into(),
        member: args.name.clone(),
        ..Group::new(GROUP, [TASKS])
    };
    let _sweeper = kafka.sweeper();
    let inbox = Inbox::join(Arc::clone(&kafka.groups), group, Arc::clone(&kafka.bus)).await?;
    let (hub, servers) = (&settings.hub, settings.kafka.servers.as_deref());
    let (servers, claims) = (servers.unwrap_or_default(), kafka.claims.url());
    match args.json {
        true => {
            output::line(json!({ "hub": hub, "kafka": servers, "claims": claims }).to_string())?
        }
        false => output::line(output::plain(&format!(
            "Tasks on {TASKS} at {servers} go to the agents of {hub}; outputs are in {claims}\nCtrl-C stops."
        )))?,
    }
    let stop = CancellationToken::new();
    let running = bridge.run(inbox, stop.clone());
    tokio::pin!(running);
    tokio::select! {
        ended = &mut running => Ok(ended?),
        _ = signals.next() => {
            stop.cancel();
            let mut ended = Ok(());
            let leaving = async {
                ended = running.await;
                tokio::join!(Metrics::close(metrics), telemetry.stop());
            };
            signals.leave(leaving).await?;
            Ok(ended?)
        }
    }
}
