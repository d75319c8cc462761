//! Mail of those who ask for something on a page: answers are on the pages of tasks, so nobody else reads it, and none is left in the hub.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use agenthub_proto::agenthub::SubscribeToAgentEventsRequest;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::hub::Hub;

/// The most ids whose mail is read. Mail of others waits until the hub drops it.
const MAX_READERS: usize = 256;

/// The kinds of mail that answers are.
const KINDS: [&str; 4] = ["message", "task", "status_update", "artifact"];

/// Readers of mail, by the id that it is for. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct MailReaders(Arc<Mutex<HashMap<String, AbortOnDropHandle<()>>>>);

impl MailReaders {
    /// Reads the mail of a viewer's id from here on, until `closing`, or until the hub does not let it.
    pub(crate) fn read(&self, hub: Hub, closing: CancellationToken) {
        let mut readers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        readers.retain(|_, reader| !reader.is_finished());
        if readers.contains_key(hub.agent_id()) || readers.len() >= MAX_READERS {
            return;
        }
        let id = hub.agent_id().to_owned();
        let reading = async move { closing.run_until_cancelled(read(hub)).await };
        let reader = tokio::spawn(async move {
            reading.await;
        });
        readers.insert(id, AbortOnDropHandle::new(reader));
    }
}

async fn read(hub: Hub) {
    let request = SubscribeToAgentEventsRequest {
        agent_id: hub.agent_id().to_owned(),
        event_types: KINDS.map(str::to_owned).into(),
        ..SubscribeToAgentEventsRequest::default()
    };
    match hub.agent_events(request).await {
        Ok(mut mail) => while let Ok(Some(_)) = mail.next().await {},
        Err(trouble) => tracing::debug!(?trouble, "the mail of a page is not read"),
    }
}
