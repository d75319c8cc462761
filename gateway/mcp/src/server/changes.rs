//! Notifications of clients that the list of tools has changed, as agents come and go.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use agenthub_sdk::{Client, internal::AgentTool};
use futures_util::future::join_all;
use rmcp::{Peer, RoleServer};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::hub::{Hub, State, is_connected};

/// Changes that follow each other faster are one, unless they go on for longer.
const QUIET: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(2);

/// Deadline for telling a client.
const TELLING: Duration = Duration::from_secs(5);

/// The list that clients were last able to see.
#[derive(Debug, PartialEq)]
enum ListedTools {
    /// Not looked at yet.
    Unknown,
    /// No hub.
    Nothing,
    Tools(Vec<AgentTool>),
}

/// Clients to notify, and a count of notifications.
#[derive(Debug)]
pub(super) struct Changes {
    /// The clients of the protocol before 2026-07-28 by their sessions; those after subscribe with a request of their own.
    peers: Mutex<HashMap<String, Peer<RoleServer>>>,
    count: watch::Sender<u64>,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            peers: Mutex::default(),
            count: watch::Sender::new(0),
        }
    }
}

impl Changes {
    /// Tells the client of this session from here on, which has none if it is the only client.
    pub(super) fn tell(&self, session: &str, peer: &Peer<RoleServer>) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if !peers.contains_key(session) {
            peers.retain(|_, peer| !peer.is_transport_closed());
            peers.insert(session.to_owned(), peer.clone());
        }
    }

    /// A number that rises with each change of the list.
    pub(super) fn count(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    /// Watches the hub and tells the clients. Never ends.
    pub(super) async fn watch(&self, hub: &Hub) {
        let mut state = hub.state();
        let mut shown = ListedTools::Unknown;
        loop {
            let now = state.borrow_and_update().clone();
            match now {
                State::Away(_) => {
                    shown = ListedTools::Nothing;
                    if state.changed().await.is_err() {
                        return;
                    }
                }
                State::Here(client) => self.follow(&client, &mut state, &mut shown).await,
            }
        }
    }

    /// Follows one connection, until there is another or none.
    async fn follow(
        &self,
        client: &Client,
        state: &mut watch::Receiver<State>,
        shown: &mut ListedTools,
    ) {
        let mut directory = client.directory().changed();
        let mut connection = client.connection();
        loop {
            // Before the look, so that no change after it is missed.
            directory.borrow_and_update();
            connection.borrow_and_update();
            let now = match is_connected(client) {
                true => {
                    let mut tools = client.agent_tools().await;
                    tools.retain(|tool| tool.online && tool.allowed);
                    ListedTools::Tools(tools)
                }
                // Nothing is told of a hub that went away: there is nothing to list until it is back.
                false => ListedTools::Nothing,
            };
            let is_news =
                *shown != ListedTools::Unknown && now != ListedTools::Nothing && now != *shown;
            *shown = now;
            if is_news {
                self.count.send_modify(|count| *count += 1);
                self.tell_all().await;
            }
            tokio::select! {
                Ok(()) = directory.changed() => {}
                Ok(()) = connection.changed() => {}
                _ = state.changed() => return,
            }
            let longest = Instant::now() + LONGEST;
            loop {
                tokio::select! {
                    Ok(()) = directory.changed() => {}
                    () = sleep(QUIET) => break,
                    () = sleep_until(longest) => break,
                }
            }
        }
    }

    async fn tell_all(&self) {
        let peers = {
            let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
            peers.retain(|_, peer| !peer.is_transport_closed());
            peers.values().cloned().collect::<Vec<_>>()
        };
        let telling = peers
            .iter()
            .map(|peer| timeout(TELLING, peer.notify_tool_list_changed()));
        for told in join_all(telling).await {
            if !matches!(told, Ok(Ok(()))) {
                tracing::debug!(?told, "a client was not told of the change");
            }
        }
    }
}
