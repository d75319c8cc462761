//! The gateway's connection to the hub. It is a peer like any other; requests that come before it is there are told so.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use agenthub_sdk::{
    Client,
    proto::{a2a::AgentCard, slug::slug},
};

use crate::error::{Error, Kind};

/// An agent of the hub, as a caller addresses it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) id: String,
    pub(crate) card: Arc<AgentCard>,
}

/// The hub, once it is there.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    client: OnceLock<Client>,
    /// Ids by slug, as of a change of the directory.
    slugs: Mutex<(Option<u64>, HashMap<String, String>)>,
}

impl Hub {
    /// Only the first one counts.
    pub(crate) fn open(&self, client: Client) {
        // There is one already.
        let _ = self.client.set(client);
    }

    /// # Errors
    ///
    /// [`Kind::Unavailable`] before it is there.
    pub(crate) fn client(&self) -> Result<&Client, Error> {
        self.client.get().ok_or_else(|| {
            Kind::Unavailable.with("the gateway is not connected to its hub yet: try again soon")
        })
    }

    /// The agent with this slug.
    ///
    /// # Errors
    ///
    /// [`Kind::AgentNotFound`].
    pub(crate) async fn agent(&self, wanted: &str) -> Result<Target, Error> {
        let client = self.client()?;
        if let Some(target) = self.known(client, wanted) {
            return Ok(target);
        }
        // The directory may still be on its way; most slugs are ids.
        let none = || {
            Kind::AgentNotFound.with(format!(
                "no agent \"{wanted}\" on this hub; GET /agents lists those there are"
            ))
        };
        let entry = client.agent(wanted).await.map_err(|error| match error {
            agenthub_sdk::Error::NotFound(_) | agenthub_sdk::Error::Invalid(_) => none(),
            error => error.into(),
        })?;
        if entry.slug != wanted {
            return Err(none());
        }
        Ok(Target {
            id: entry.agent_id,
            card: Arc::new(entry.agent_card.unwrap_or_default()),
        })
    }

    fn known(&self, client: &Client, wanted: &str) -> Option<Target> {
        let directory = client.directory();
        let change = *directory.changed().borrow();
        let id = {
            let mut slugs = self.slugs.lock().unwrap_or_else(PoisonError::into_inner);
            if slugs.0 != Some(change) {
                let all = directory.all().into_iter();
                slugs.1 = all
                    .map(|entry| (slug(&entry.card.name), entry.card.name.clone()))
                    .collect();
                slugs.0 = Some(change);
            }
            slugs.1.get(wanted)?.clone()
        };
        let entry = directory.get(&id)?;
        Some(Target {
            id,
            card: entry.card,
        })
    }
}
