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

use crate::failing::shortened;

/// Where the bridge's events happen.
const SOURCE: &str = "/agenthub/bridge";

/// Pause before the bus is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// Publishes a result (EXE-7.3), for as long as that takes. It has the same id however often the task is taken up. Where the bus refuses it,
/// the task has failed for that reason.
pub(crate) async fn publish_result(bus: &Arc<dyn Bus>, result: TaskResult, trace: Option<String>) {
    let id = format!("{}.result", result.task_id);
    let envelope = envelope(id, trace);
    let Err(why) = publish(bus, RESULTS, message(&result, envelope.clone())).await else {
        return;
    };
    let failed = TaskResult {
        status: Outcome::Failed,
        output_claim_check: None,
        error_message: Some(shortened(format!("the result cannot be published: {why}"))),
        ..result
    };
    if let Err(why) = publish(bus, RESULTS, message(&failed, envelope)).await {
        tracing::error!(task_id = failed.task_id, why, "a task has no result");
    }
}

/// The stream of a task's answer: its parts get numbers from 1, without gaps (EXE-6.3).
#[derive(Debug)]
pub(crate) struct Stream<'a> {
    bus: &'a Arc<dyn Bus>,
    task: &'a TaskRequest,
    topic: String,
    trace: Option<String>,
    sequence: u64,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(bus: &'a Arc<dyn Bus>, task: &'a TaskRequest, trace: Option<String>) -> Self {
        Self {
            bus,
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
        let published = publish(self.bus, &self.topic, message(&chunk, envelope)).await;
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

/// Publishes a message, for as long as the bus cannot be reached.
///
/// # Errors
///
/// The reason for which the bus refuses it.
async fn publish(bus: &Arc<dyn Bus>, topic: &str, message: Message) -> Result<(), String> {
    let message = [message];
    loop {
        match bus.publish(topic, &message).await {
            Ok(()) => return Ok(()),
            Err(BusError::Unavailable(error)) => {
                tracing::debug!(topic, id = message[0].id, error, "a message waits");
                sleep(PAUSE).await;
            }
            Err(BusError::Refused(why)) => return Err(why),
        }
    }
}
