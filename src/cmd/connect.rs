//! `agenthub connect`

use agenthub_terminal::usage::WrongUsage;

use crate::{
    cli::{Connect, ConnectKafka},
    settings::Settings,
};

/// Carries until it is told to stop.
pub(super) async fn run(args: &Connect, settings: &Settings) -> anyhow::Result<()> {
    match args {
        Connect::Kafka(args) => {
            let wrong = |why| WrongUsage(format!("in the settings: {why}"));
            let rules = args.carried(&settings.connect.kafka).rules();
            kafka(args, settings, rules.map_err(wrong)?).await
        }
    }
}

#[cfg(feature = "kafka")]
async fn kafka(
    args: &ConnectKafka,
    settings: &Settings,
    rules: agenthub_connect::settings::Rules,
) -> anyhow::Result<()> {
    use std::sync::Arc;

    use crate::metrics::Metrics;
    use agenthub_connect::Connector;
    use agenthub_sdk::{Client, durable::Telemetry};
    use agenthub_terminal::{connect::until_there, output, stop::Signals};
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    let mut signals = Signals::new()?;
    let starting = async {
        let Some(bus) = crate::kafka::bus(settings).await? else {
            let why = "a connector to Kafka needs its servers: name them with --kafka HOST:PORT";
            return Err(WrongUsage(why.to_owned()).into());
        };
        let client = || {
            Client::builder(&*settings.hub)
                .agent_id(rules.agent_id())
                .connect()
        };
        let client = until_there(client).await?;
        let connector = Connector::start(bus, client.clone(), rules.clone()).await?;
        anyhow::Ok((client, connector))
    };
    let (client, connector) = tokio::select! {
        started = starting => started?,
        _ = signals.next() => return Ok(()),
    };
    let telemetry = Telemetry::start()?;
    telemetry.measure(connector.collector());
    let metrics = Metrics::serve(settings, Arc::new(connector.collector())).await?;
    let (name, hub) = (&rules.name, &settings.hub);
    let servers = settings.kafka.servers.as_deref().unwrap_or_default();
    match args.json {
        true => {
            output::line(json!({ "name": name, "hub": hub, "kafka": servers }).to_string())?;
        }
        false => {
            let mut lines = vec![format!("{name} connects {hub} and the Kafka at {servers}")];
            lines.extend(rules.in_words());
            lines.push("Ctrl-C stops.".to_owned());
            output::line(output::plain(&lines.join("\n")))?;
        }
    }
    let stop = CancellationToken::new();
    let running = connector.run(&stop);
    tokio::pin!(running);
    tokio::select! {
        ended = &mut running => Ok(ended?),
        _ = signals.next() => {
            stop.cancel();
            let mut ended = Ok(());
            let leaving = async {
                ended = running.await;
                client.close().await;
                tokio::join!(Metrics::close(metrics), telemetry.stop());
            };
            signals.leave(leaving).await?;
            Ok(ended?)
        }
    }
}

#[cfg(not(feature = "kafka"))]
async fn kafka(
    _: &ConnectKafka,
    _: &Settings,
    _: agenthub_connect::settings::Rules,
) -> anyhow::Result<()> {
    Err(WrongUsage(crate::kafka::MISSING.to_owned()).into())
}
