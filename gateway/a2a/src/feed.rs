//! The events of one task, from the hub's log.

use agenthub_sdk::{
    Client, Error,
    hub::EventStream,
    proto::agenthub::{SubscribeToTasksRequest, agent_event::Payload},
};

pub(crate) struct Feed {
    events: EventStream,
    /// Nothing at or before this position is shown.
    after: String,
}

impl Feed {
    /// Everything that happens to a task after this position, or from here on if it is empty; over breaks of the connection, too.
    ///
    /// # Errors
    ///
    /// Those of [`Client::task_events`].
    pub(crate) async fn open(client: &Client, task_id: &str, after: &str) -> Result<Self, Error> {
        let request = SubscribeToTasksRequest {
            agent_id: client.agent_id().to_owned(),
            task_ids: vec![task_id.to_owned()],
            observe: true,
            after: after.to_owned(),
            ..Default::default()
        };
        let events = client.task_events(request).await?;
        let after = match after {
            "" => events.position().to_owned(),
            after => after.to_owned(),
        };
        Ok(Self { events, after })
    }

    /// The next event. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The hub was away for too long, or no longer has what comes next.
    pub(crate) async fn next(&mut self) -> Result<Payload, Error> {
        loop {
            let next = self.events.next().await;
            let next = next.unwrap_or_else(|| Err(Error::Closed("the stream is over".to_owned())));
            let event = next?;
            if is_seen(&self.after, &event.position) {
                continue;
            }
            if let Some(payload) = event.payload {
                return Ok(payload);
            }
        }
    }
}

/// True if an event is at or before a position of the same log: it was on its way to all streams as this one began.
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
