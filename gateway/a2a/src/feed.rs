//! The events of one task, from the hub's log, without a gap over breaks of the connection.

use std::time::Duration;

use agenthub_sdk::{
    Client, Error, EventStream,
    proto::agenthub::{SubscribeToTasksRequest, agent_event::Payload},
};
use tokio::time::{Instant, sleep};

/// How long the hub may be away before a stream ends.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(200);

pub(crate) struct Feed {
    client: Client,
    task_id: String,
    events: EventStream,
    /// Position of the last event, or of the beginning.
    position: String,
}

impl Feed {
    /// Everything that happens to a task after this position, or from here on if it is empty.
    ///
    /// # Errors
    ///
    /// Those of [`Client::task_events`].
    pub(crate) async fn open(client: Client, task_id: &str, after: &str) -> Result<Self, Error> {
        let events = subscribe(&client, task_id, after).await?;
        let position = match after {
            "" => events.position().to_owned(),
            after => after.to_owned(),
        };
        Ok(Self {
            client,
            task_id: task_id.to_owned(),
            events,
            position,
        })
    }

    /// The next event. Subscribes again where a stream breaks. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The hub was away for half a minute, or no longer has the position.
    pub(crate) async fn next(&mut self) -> Result<Payload, Error> {
        let mut broken_at = None;
        loop {
            let error = match self.events.next().await {
                Some(Ok(event)) => {
                    if is_seen(&self.position, &event.position) {
                        continue;
                    }
                    if !event.position.is_empty() {
                        self.position.clone_from(&event.position);
                    }
                    match event.payload {
                        Some(payload) => return Ok(payload),
                        None => continue,
                    }
                }
                Some(Err(error)) => error,
                None => Error::Unavailable("the hub ended the stream".to_owned()),
            };
            let since = *broken_at.get_or_insert_with(Instant::now);
            self.reconnect(since, error).await?;
        }
    }

    async fn reconnect(&mut self, since: Instant, mut error: Error) -> Result<(), Error> {
        loop {
            if !error.is_retryable() || since.elapsed() > PATIENCE {
                return Err(error);
            }
            sleep(PAUSE).await;
            match subscribe(&self.client, &self.task_id, &self.position).await {
                Ok(events) => {
                    self.events = events;
                    return Ok(());
                }
                Err(again) => error = again,
            }
        }
    }
}

async fn subscribe(client: &Client, task_id: &str, after: &str) -> Result<EventStream, Error> {
    let request = SubscribeToTasksRequest {
        agent_id: client.agent_id().to_owned(),
        task_ids: vec![task_id.to_owned()],
        observe: true,
        after: after.to_owned(),
        ..Default::default()
    };
    client.task_events(request).await
}

/// Whether an event is at or before a position of the same log: it was on its way to all streams as this one began.
fn is_seen(position: &str, event: &str) -> bool {
    let read = |text: &str| {
        let (log, number) = text.split_once('-')?;
        Some((log.to_owned(), number.parse::<u64>().ok()?))
    };
    match (read(position), read(event)) {
        (Some((log, seen)), Some((same, number))) => log == same && number <= seen,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_earlier_events_of_the_same_log_were_seen() {
        assert!(is_seen("a1-7", "a1-7"));
        assert!(is_seen("a1-10", "a1-9"));
        assert!(!is_seen("a1-7", "a1-8"));
        assert!(!is_seen("a1-7", "a2-3"));
        assert!(!is_seen("a1-7", ""));
        assert!(!is_seen("", "a1-7"));
    }
}
