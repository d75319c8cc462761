//! Messages of the bridge on their way to the bus.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_bus::{
    Bus, BusError, Message,
    messages::{
        Envelope, Outcome, RESULTS, StreamChunk, TaskRequest, TaskResult, message, stream_topic,
    },
};
use tokio::time::sleep;

use crate::{
    failing::shortened,
    metrics::{Asked, Metrics},
};

/// Where the bridge's events happen.
const SOURCE: &str = "/agenthub/bridge";

/// Pause before the bus is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// Attempts between two warnings that a message waits.
const WARNED: u64 = 30;

/// Pause before a result that the bus refuses is published again.
const REFUSED: Duration = Duration::from_secs(10);

/// The way to the bus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outbox<'a> {
    bus: &'a Arc<dyn Bus>,
    metrics: &'a Arc<Metrics>,
}

impl<'a> Outbox<'a> {
    pub(crate) fn new(bus: &'a Arc<dyn Bus>, metrics: &'a Arc<Metrics>) -> Self {
        Self { bus, metrics }
    }

    /// Publishes a message, for as long as the bus cannot be reached.
    ///
    /// # Errors
    ///
    /// The reason for which the bus refuses it.
    async fn publish(self, topic: &str, message: Message) -> Result<(), String> {
        let _outgoing = self.metrics.outgoing();
        let message = [message];
        let mut attempts = 0_u64;
        loop {
            match self.bus.publish(topic, &message).await {
                Ok(()) => return Ok(()),
                Err(BusError::Unavailable(error)) => {
                    self.metrics.again(Asked::Bus);
                    attempts += 1;
                    let id = &message[0].id;
                    match attempts.is_multiple_of(WARNED) {
                        true => tracing::warn!(topic, id, error, "a message waits"),
                        false => tracing::debug!(topic, id, error, "a message waits"),
                    }
                    sleep(PAUSE).await;
                }
                Err(BusError::Refused(why)) => return Err(why),
            }
        }
    }
}

/// Publishes a result (EXE-7.3), for as long as that takes. It has the same id however often the task is taken up. Where the bus refuses it,
/// the task has failed for that reason; where it refuses that, too, whoever runs the bus has to let one of them through.
pub(crate) async fn publish_result(outbox: Outbox<'_>, result: TaskResult, trace: Option<String>) {
    let id = format!("{}.result", result.task_id);
    let envelope = envelope(id, trace);
    let publish = |result: &TaskResult| outbox.publish(RESULTS, message(result, envelope.clone()));
    let mut attempts = 0_u64;
    while let Err(why) = publish(&result).await {
        let failed = TaskResult {
            status: Outcome::Failed,
            output_claim_check: None,
            error_message: Some(shortened(format!("the result cannot be published: {why}"))),
            ..result.clone()
        };
        let Err(why) = publish(&failed).await else {
            return;
        };
        let task_id = failed.task_id;
        match attempts.is_multiple_of(WARNED) {
            true => tracing::error!(task_id, why, "a task has no result yet"),
            false => tracing::debug!(task_id, why, "a task has no result yet"),
        }
        attempts += 1;
        sleep(REFUSED).await;
    }
}

/// The stream of a task's answer: its parts get numbers from 1, without gaps (EXE-6.3).
#[derive(Debug)]
pub(crate) struct Stream<'a> {
    outbox: Outbox<'a>,
    task: &'a TaskRequest,
    topic: String,
    trace: Option<String>,
    sequence: u64,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(outbox: Outbox<'a>, task: &'a TaskRequest, trace: Option<String>) -> Self {
        Self {
            outbox,
            task,
            topic: stream_topic(&task.agent_name),
            trace,
            sequence: 0,
        }
    }

    /// Publishes the next part.
    pub(crate) async fn publish(&mut self, content: String) {
        self.send(content, false).await;
    }

    /// Publishes the end marker.
    pub(crate) async fn end(mut self) {
        self.send(String::new(), true).await;
    }

    async fn send(&mut self, content: String, is_end_of_stream: bool) {
        self.sequence += 1;
        let chunk = StreamChunk {
            run_id: self.task.run_id.clone(),
            agent_name: self.task.agent_name.clone(),
            sequence: self.sequence,
            content,
            is_end_of_stream,
        };
        let id = format!("{}.{}", self.task.task_id, self.sequence);
        let envelope = Envelope {
            task_id: Some(self.task.task_id.clone()),
            ..envelope(id, self.trace.clone())
        };
        let published = self
            .outbox
            .publish(&self.topic, message(&chunk, envelope))
            .await;
        if let Err(why) = published {
            tracing::error!(
                topic = self.topic,
                sequence = self.sequence,
                why,
                "a part of an answer is left out of its stream"
            );
        }
    }
}

fn envelope(id: String, traceparent: Option<String>) -> Envelope {
    Envelope {
        id,
        source: SOURCE.to_owned(),
        time: SystemTime::now(),
        traceparent,
        task_id: None,
    }
}
