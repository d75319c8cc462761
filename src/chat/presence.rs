//! Whether there is a hub, and Cortex on it.

use std::time::Duration;

use agenthub_cortex::CORTEX;
use agenthub_sdk::{Client, Connection, Directory};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// How long Cortex may be away when the hub has just come back: it is on its way, too.
const GRACE: Duration = Duration::from_secs(6);

/// How things stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Cortex can be asked.
    Fine,
    /// The connection to the hub broke.
    NoHub,
    /// The hub will not have us back.
    Closed { reason: String },
    /// Nobody who answers is on the hub.
    NoCortex,
}

/// Watches how things stand.
#[derive(Debug)]
pub(super) struct Presence {
    connection: watch::Receiver<Connection>,
    directory: Directory,
    changed: watch::Receiver<u64>,
    told: Standing,
    since: Option<Instant>,
}

impl Presence {
    /// As of this client, which must watch agents.
    pub(super) fn new(client: &Client) -> Self {
        let directory = client.directory();
        Self {
            connection: client.connection(),
            changed: directory.changed(),
            directory,
            told: Standing::Fine,
            since: None,
        }
    }

    /// How things stand at this moment.
    pub(super) fn standing(&self) -> Standing {
        match &*self.connection.borrow() {
            Connection::Reconnecting { .. } => Standing::NoHub,
            Connection::Closed { reason } => Standing::Closed {
                reason: reason.clone(),
            },
            Connection::Connected { .. } => match self.directory.get(CORTEX) {
                Some(cortex) if cortex.online => Standing::Fine,
                _ => Standing::NoCortex,
            },
        }
    }

    /// Waits until things stand otherwise than it was told before. Cancel-safe.
    pub(super) async fn next(&mut self) -> Standing {
        loop {
            self.connection.mark_unchanged();
            self.changed.mark_unchanged();
            let standing = self.standing();
            if standing == self.told {
                self.since = None;
                self.change().await;
                continue;
            }
            let since = *self.since.get_or_insert_with(Instant::now);
            let due = match (&standing, &self.told) {
                (Standing::NoCortex, Standing::NoHub) => since + GRACE,
                _ => since,
            };
            if due <= Instant::now() {
                self.since = None;
                self.told = standing.clone();
                return standing;
            }
            tokio::select! {
                () = sleep_until(due) => {}
                () = self.change() => {}
            }
        }
    }

    /// Waits until anything about it may have changed. Cancel-safe.
    pub(super) async fn change(&mut self) {
        let ended = tokio::select! {
            connection = self.connection.changed() => connection.is_err(),
            changed = self.changed.changed() => changed.is_err(),
        };
        if ended {
            // The client is gone, so nothing will change any more.
            std::future::pending::<()>().await;
        }
    }
}

impl Standing {
    /// Why there is no answer.
    pub(super) fn reason(&self, hub: &str) -> String {
        match self {
            Self::Fine => "Cortex does not answer".to_owned(),
            Self::NoHub => format!("no hub at {hub}: start one with `agenthub up`"),
            Self::Closed { reason } => reason.clone(),
            Self::NoCortex => {
                format!("no Cortex on the hub at {hub}: start one with `agenthub cortex`")
            }
        }
    }

    /// What there is to say about it.
    pub(super) fn line(&self, hub: &str) -> String {
        match self {
            Self::Fine => "Cortex is back".to_owned(),
            Self::NoHub => {
                format!("the connection to the hub at {hub} broke; waiting for it to come back")
            }
            Self::Closed { reason } => format!("the hub ended the connection for good: {reason}"),
            Self::NoCortex => {
                "Cortex is away; what you say waits for it (`agenthub cortex` starts one)"
                    .to_owned()
            }
        }
    }
}
