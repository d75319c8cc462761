//! Presence of the hub, and of Cortex on it.

use std::time::Duration;

use agenthub_cortex::CORTEX;
use agenthub_sdk::{
    Client,
    hub::{Connection, Directory},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// Time for which Cortex may be away before that is told; who is on the hub is not known at once, either.
const ABSENCE: Duration = Duration::from_secs(2);

/// Time for which Cortex may be away when the hub has just come back: it is on its way, too.
const GRACE: Duration = Duration::from_secs(6);

/// Time for which all must be well before that is told after the hub came back: who is there is only known some moments later.
const SETTLED: Duration = Duration::from_secs(1);

/// State of hub and Cortex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Cortex can be asked.
    Fine,
    /// The connection to the hub broke.
    NoHub,
    /// The hub will not have us back.
    Closed { reason: String },
    /// No Cortex that answers is on the hub.
    NoCortex,
}

/// Watches how things stand.
#[derive(Debug)]
pub(super) struct Presence {
    connection: watch::Receiver<Connection>,
    directory: Directory,
    changed: watch::Receiver<u64>,
    told: Standing,
    /// The state, if it was not told, and since when.
    seen: Option<(Standing, Instant)>,
    /// The hub was back.
    back: Option<Instant>,
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
            seen: None,
            back: None,
        }
    }

    /// The state at this moment.
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
                self.seen = None;
                self.change().await;
                continue;
            }
            let since = match &self.seen {
                Some((seen, since)) if *seen == standing => *since,
                _ => Instant::now(),
            };
            self.seen = Some((standing.clone(), since));
            match (&self.told, &standing) {
                (_, Standing::NoHub) => self.back = None,
                (Standing::NoHub, _) => _ = self.back.get_or_insert(since),
                _ => {}
            }
            let due = due(&standing, &self.told, since, self.back);
            if due <= Instant::now() {
                self.seen = None;
                self.told = standing.clone();
                return standing;
            }
            tokio::select! {
                () = sleep_until(due) => {}
                () = self.change() => {}
            }
        }
    }

    /// True if there is no connection to the hub at this moment.
    pub(super) fn is_cut_off(&self) -> bool {
        !matches!(*self.connection.borrow(), Connection::Connected { .. })
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

/// Time at which the state is to be told that holds since then, after another one was told.
fn due(standing: &Standing, told: &Standing, since: Instant, back: Option<Instant>) -> Instant {
    match (standing, told) {
        (Standing::NoCortex, _) => {
            let grace = back.map_or(since, |back| back + GRACE);
            grace.max(since + ABSENCE)
        }
        (Standing::Fine, Standing::NoHub) => since + SETTLED,
        _ => since,
    }
}

impl Standing {
    /// The reason why there is no answer.
    pub(super) fn reason(&self, hub: &str) -> String {
        match self {
            Self::Fine => "Cortex does not answer".to_owned(),
            Self::NoHub => format!(
                "the connection to the hub at {hub} broke and did not come back; if the hub ended, `agenthub up` starts it"
            ),
            Self::Closed { reason } => reason.clone(),
            Self::NoCortex => {
                format!("no Cortex on the hub at {hub}: start one with `agenthub cortex`")
            }
        }
    }

    /// The text on it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_by_itself_is_not_told_at_once() {
        use Standing::{Fine, NoCortex, NoHub};
        let start = Instant::now();
        let after = |standing, told, back: Option<u64>| {
            let back = back.map(|ago| start - Duration::from_secs(ago));
            due(standing, told, start, back) - start
        };
        assert_eq!(after(&NoHub, &Fine, None), Duration::ZERO);
        assert_eq!(after(&NoCortex, &Fine, None), ABSENCE);
        assert_eq!(after(&Fine, &NoCortex, None), Duration::ZERO);
        assert_eq!(after(&Fine, &NoHub, Some(0)), SETTLED);
        assert_eq!(after(&NoCortex, &NoHub, Some(0)), GRACE);
        let grace_left = GRACE - Duration::from_secs(1);
        assert_eq!(after(&NoCortex, &Fine, Some(1)), grace_left);
        assert_eq!(after(&NoCortex, &Fine, Some(100)), ABSENCE);
    }
}
