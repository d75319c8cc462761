//! Messages of this connector that the hub has, however long ago it took them.
//!
//! The hub knows a repeated message for ten minutes. A connector that was away for longer reads in the hub's log which of its messages arrived behind a
//! position that it has written down, up to a mark that it sets now.

use std::{collections::HashMap, time::Duration};

use agenthub_bus::Partition;

use agenthub_sdk::{
    Client, Error as HubError,
    proto::{
        a2a::{Message, Role},
        agenthub::{AgentEventMetadata, SubscribeToAgentEventsRequest, agent_event::Payload},
    },
};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::{
    connector::{Error, PAUSE},
    incoming::place,
    outgoing::MARKS,
};

/// Longest time between two events of the log, before it is read once more.
const SILENCE: Duration = Duration::from_secs(60);

/// The messages of this connector behind a position.
#[derive(Debug)]
pub(crate) struct Recalled {
    /// Their ids, and which records they were.
    pub(crate) messages: HashMap<String, (Partition, i64)>,
    /// Reason for which some may be missing.
    pub(crate) gap: Option<String>,
    /// A position behind all of them.
    pub(crate) position: String,
}

/// A place in the hub's log.
#[derive(Debug)]
pub(crate) struct Mark {
    /// Id of the message that marks it.
    id: String,
    /// Position of it.
    pub(crate) position: String,
}

/// Sets a mark, for as long as that takes: everything that is published from now on is behind it.
pub(crate) async fn mark(client: &Client) -> Result<Mark, Error> {
    let id = format!("mark-{}", Uuid::new_v4().simple());
    loop {
        let message = Message {
            message_id: id.clone(),
            context_id: client.agent_id().to_owned(),
            ..Message::new(Role::Agent, "")
        };
        let routing = AgentEventMetadata {
            event_type: MARKS.to_owned(),
            subscriptions: vec![MARKS.to_owned()],
            matching_only: true,
            ..AgentEventMetadata::default()
        };
        match client.publish(message, routing).await {
            Ok(published) => {
                return Ok(Mark {
                    id,
                    position: published.position,
                });
            }
            Err(error) => again(error).await?,
        }
    }
}

/// Reads which messages of this connector are in the hub's log behind a position, but for those whose records are counted.
pub(crate) async fn since(
    client: &Client,
    position: &str,
    is_counted: impl Fn(&Partition, i64) -> bool,
) -> Result<Recalled, Error> {
    let mark = mark(client).await?;
    let mut recalled = Recalled {
        messages: HashMap::new(),
        gap: None,
        position: mark.position,
    };
    'reading: loop {
        let request = SubscribeToAgentEventsRequest {
            agent_id: client.agent_id().to_owned(),
            event_types: vec!["message".to_owned()],
            after: position.to_owned(),
            observe: true,
            ..Default::default()
        };
        let mut events = match client.agent_events(request).await {
            Ok(events) => events,
            Err(HubError::Invalid(why)) => {
                recalled.gap = Some(why);
                return Ok(recalled);
            }
            Err(error) => {
                again(error).await?;
                continue;
            }
        };
        loop {
            let next = match timeout(SILENCE, events.next()).await {
                Ok(Some(next)) => next,
                Ok(None) | Err(_) => continue 'reading,
            };
            match next {
                Ok(event) => {
                    if let Some(Payload::Message(message)) = &event.payload
                        && event.sender() == client.agent_id()
                    {
                        if message.message_id == mark.id {
                            return Ok(recalled);
                        }
                        if let Some((partition, offset)) = place(message)
                            && !is_counted(&partition, offset)
                        {
                            let id = message.message_id.clone();
                            recalled.messages.insert(id, (partition, offset));
                        }
                    }
                }
                Err(HubError::Missed(why)) => {
                    recalled.gap = Some(why);
                    return Ok(recalled);
                }
                Err(error) => {
                    again(error).await?;
                    continue 'reading;
                }
            }
        }
    }
}

/// Waits before the hub is asked again, if that makes sense.
pub(crate) async fn again(error: HubError) -> Result<(), Error> {
    if !error.is_retryable() {
        return Err(error.into());
    }
    tracing::warn!(%error, "the hub is waited for");
    sleep(PAUSE).await;
    Ok(())
}
