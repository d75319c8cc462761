//! The events of one task, from the hub's log.

use std::sync::Arc;

use agenthub_sdk::{
    Client, Error,
    hub::EventStream,
    proto::agenthub::{SubscribeToTasksRequest, agent_event::Payload},
};

use crate::{listeners::Listener, replies::Replies, shared::Shared};

/// Everything that happens to a task, over breaks of the connection, too.
#[derive(Debug)]
pub(crate) struct Feed {
    client: Client,
    task_id: String,
    source: Source,
    /// Position up to which nothing is shown.
    after: String,
}

#[derive(Debug)]
enum Source {
    /// Events that are there for others as well.
    Shared(Listener),
    /// A subscription of its own, for a stream that was too slow for the others, and after a break.
    Own(Box<EventStream>),
}

impl Feed {
    /// Everything that happens to a task from here on.
    ///
    /// # Errors
    ///
    /// Those of [`Client::task_events`].
    pub(crate) async fn open(
        shared: &Arc<Shared>,
        client: &Client,
        task_id: &str,
    ) -> Result<Self, Error> {
        let (listener, after) = shared.listen(client, task_id).await?;
        Ok(Self {
            client: client.clone(),
            task_id: task_id.to_owned(),
            after,
            source: Source::Shared(listener),
        })
    }

    /// Ends of waits for a task that the gateway has requested, or is about to, from here on; over breaks other events, too. The position
    /// of its message is to be [skipped to](Self::skip_to) before the first one is taken.
    pub(crate) fn of_ends(replies: &Replies, client: &Client, task_id: &str) -> Self {
        Self {
            client: client.clone(),
            task_id: task_id.to_owned(),
            after: String::new(),
            source: Source::Shared(replies.listen(task_id)),
        }
    }

    /// Leaves out what is at or before a position, as of which the task was read since the feed is open.
    pub(crate) fn skip_to(&mut self, position: &str) {
        if !position.is_empty() {
            position.clone_into(&mut self.after);
        }
    }

    /// The next event. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The hub was away for too long, or no longer has what comes next.
    pub(crate) async fn next(&mut self) -> Result<Payload, Error> {
        loop {
            let (position, payload) = match &mut self.source {
                Source::Shared(listener) => match listener.next().await {
                    Some(event) if is_seen(&self.after, &event.position) => continue,
                    Some(event) => (event.position.clone(), Some(event.payload.clone())),
                    None => {
                        let (client, request) = (self.client.clone(), self.request());
                        let own = client.task_events(request).await?;
                        self.source = Source::Own(Box::new(own));
                        continue;
                    }
                },
                Source::Own(events) => {
                    let next = events.next().await;
                    let ended = || Err(Error::Closed("the stream is over".to_owned()));
                    let event = next.unwrap_or_else(ended)?;
                    if is_seen(&self.after, &event.position) {
                        continue;
                    }
                    (event.position, event.payload)
                }
            };
            if !position.is_empty() {
                self.after = position;
            }
            if let Some(payload) = payload {
                return Ok(payload);
            }
        }
    }

    /// Asks for what comes after the last event.
    fn request(&self) -> SubscribeToTasksRequest {
        SubscribeToTasksRequest {
            agent_id: self.client.agent_id().to_owned(),
            task_ids: vec![self.task_id.clone()],
            observe: true,
            after: self.after.clone(),
            ..Default::default()
        }
    }
}

/// True if an event is at or before a position of the same log: it was on its way to all streams as this one began.
pub(crate) fn is_seen(position: &str, event: &str) -> bool {
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
