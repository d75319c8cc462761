//! From the hub to Kafka: events, and the position behind them, in one transaction.

use std::time::{Duration, SystemTime};

use agenthub_bus::{NewRecord, kafka::Transactions, messages::events::Gap};
use agenthub_sdk::{
    Error as HubError,
    hub::EventStream,
    proto::{
        agenthub::{AgentEvent, SubscribeToAgentEventsRequest},
        event::{system_time, timestamp},
    },
};
use futures_util::FutureExt;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::{
    connector::{BATCH, BATCH_BYTES, Connector, Error, LINGER, PAUSE},
    metrics::{Asked, Way},
    outgoing, positions,
};

/// Interval at which the position is written if nothing that is carried was behind it: the hub may forget what is before it.
const IDLE: Duration = Duration::from_secs(5);

/// Kinds of events that are read. Both, whatever is carried, so that the position does not fall behind the hub's log.
const KINDS: [&str; 2] = ["message", "status_update"];

/// Events that are carried together.
#[derive(Default)]
struct Batch {
    events: usize,
    bytes: usize,
    records: Vec<NewRecord>,
    /// Time of the first event that becomes a record.
    oldest: Option<SystemTime>,
}

impl Batch {
    fn add(&mut self, records: Vec<NewRecord>, at: Option<SystemTime>) {
        let bytes = |record: &NewRecord| record.body.as_ref().map_or(0, |body| body.len());
        self.events += 1;
        if !records.is_empty() {
            self.oldest = self.oldest.or(at);
        }
        self.bytes += records.iter().map(bytes).sum::<usize>();
        self.records.extend(records);
    }

    fn has_room(&self) -> bool {
        self.events < BATCH && self.bytes < BATCH_BYTES
    }
}

/// Mirrors events after a position, or from now on.
pub(crate) async fn run(
    connector: &Connector,
    writer: &Transactions,
    after: Option<String>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let mirror = Mirror {
        connector,
        writer,
        stop,
    };
    let Some((mut events, mut written)) = mirror.subscribe(after).await? else {
        return Ok(());
    };
    let mut idle = interval(IDLE);
    idle.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let first = tokio::select! {
            biased;
            () = stop.cancelled() => return mirror.note(events.position(), &mut written).await,
            _ = idle.tick() => {
                mirror.note(events.position(), &mut written).await?;
                continue;
            }
            next = events.next() => next,
        };
        let mut batch = Batch::default();
        let mut missed = mirror.add(first, &mut batch)?;
        let until = Instant::now() + LINGER;
        while missed.is_none() && batch.has_room() {
            // What is there is taken without a look at the clock.
            let next = match events.next().now_or_never() {
                Some(next) => next,
                None => match timeout_at(until, events.next()).await {
                    Ok(next) => next,
                    Err(_) => break,
                },
            };
            missed = mirror.add(next, &mut batch)?;
        }
        let (events_in_batch, oldest) = (batch.events, batch.oldest);
        connector.metrics.begins(Way::Out, events_in_batch);
        let mut records = batch.records;
        if let Some(reason) = missed {
            records.extend(mirror.gap(&written, reason));
        }
        if records.is_empty() {
            connector.metrics.mirrored(events_in_batch);
            connector.metrics.arrived(Way::Out, None);
            continue;
        }
        let position = events.position().to_owned();
        records.push(positions::mirrored(&connector.positions_topic, &position));
        connector.write(Way::Out, writer, records).await?;
        connector.metrics.mirrored(events_in_batch);
        connector.metrics.arrived(Way::Out, oldest);
        written = position;
    }
}

struct Mirror<'a> {
    connector: &'a Connector,
    writer: &'a Transactions,
    stop: &'a CancellationToken,
}

impl Mirror<'_> {
    /// Subscribes, and the position that is written by then; `None` once it is to stop.
    async fn subscribe(
        &self,
        mut after: Option<String>,
    ) -> Result<Option<(EventStream, String)>, Error> {
        let client = &self.connector.client;
        let topic = &self.connector.positions_topic;
        let mut records = Vec::new();
        loop {
            let request = SubscribeToAgentEventsRequest {
                agent_id: client.agent_id().to_owned(),
                event_types: KINDS.map(str::to_owned).into(),
                after: after.clone().unwrap_or_default(),
                observe: true,
                ..Default::default()
            };
            match client.agent_events(request).await {
                Ok(events) => {
                    let events = events.patience(Duration::MAX);
                    let position = events.position().to_owned();
                    if after.is_none() {
                        // From here on nothing is missed, whenever it ends.
                        records.push(positions::mirrored(topic, &position));
                        self.connector.write(Way::Out, self.writer, records).await?;
                    }
                    let (from, name) = (&position, &self.connector.rules.name);
                    tracing::info!(name, from, "events of the hub are mirrored");
                    return Ok(Some((events, position)));
                }
                Err(HubError::Invalid(why)) if after.is_some() => {
                    let position = after.take().unwrap_or_default();
                    records = self.gap(&position, why);
                }
                Err(error) if error.is_retryable() => {
                    self.connector.metrics.again(Asked::Hub);
                    tracing::warn!(%error, "the hub is waited for");
                    if self.stop.run_until_cancelled(sleep(PAUSE)).await.is_none() {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Adds what came; the reason if events were missed.
    fn add(
        &self,
        next: Option<Result<AgentEvent, HubError>>,
        batch: &mut Batch,
    ) -> Result<Option<String>, Error> {
        match next {
            Some(Ok(event)) => {
                let rules = &self.connector.rules.out;
                let at = event.timestamp.as_ref().and_then(system_time);
                batch.add(
                    outgoing::records(&event, rules, &self.connector.source()),
                    at,
                );
                Ok(None)
            }
            Some(Err(HubError::Missed(why))) => Ok(Some(why)),
            Some(Err(error)) => Err(error.into()),
            None => Err(HubError::Closed("the stream of events is over".to_owned()).into()),
        }
    }

    /// Says that events after a position are missing.
    fn gap(&self, after: &str, reason: String) -> Vec<NewRecord> {
        let name = &self.connector.rules.name;
        self.connector.metrics.gap(Way::Out);
        tracing::error!(
            name,
            after,
            reason,
            "events of the hub are missing on Kafka"
        );
        let gap = Gap {
            after: after.to_owned(),
            reason,
        };
        let source = self.connector.source();
        let time = timestamp(SystemTime::now()).to_string();
        outgoing::gap(&gap, &self.connector.rules.out, &source, &time)
    }

    /// Writes the position, if it has moved.
    async fn note(&self, position: &str, written: &mut String) -> Result<(), Error> {
        if !position.is_empty() && position != written {
            let record = positions::mirrored(&self.connector.positions_topic, position);
            let connector = self.connector;
            connector.write(Way::Out, self.writer, vec![record]).await?;
            position.clone_into(written);
        }
        Ok(())
    }
}
