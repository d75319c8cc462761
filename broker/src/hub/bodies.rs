//! Bodies that are only in the log: read on demand for streams, dead letters, and operators. Never read under the lock.
//!
//! After a failed read, mail goes back to its mailbox and is taken again a moment later. An event that is missing from
//! the log, which keeps all events that durable mailboxes refer to, leaves its mailbox with an error.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{sync::Semaphore, time::timeout};

use super::{
    Hub, Outgoing,
    core::{Core, Now, hub},
};
use crate::{
    Error,
    id::{MailboxId, SessionId},
    log::{History, Position},
    mailbox::{Batch, Mail},
    sealed::Sealed,
};

/// Maximum concurrent reads of the log.
const READERS: usize = 4;
/// Timeout of a read.
const DEADLINE: Duration = Duration::from_secs(5);
/// Pause after a failed read.
const PAUSE: Duration = Duration::from_secs(1);
/// Reason for dropping an event that is missing from the log.
const GONE: &str = "the log no longer has it";

/// Events by position.
type EventsAt = HashMap<Position, Arc<Sealed>>;

/// Reader of the log's events.
#[derive(Debug)]
pub(super) struct Reader {
    history: Arc<dyn History>,
    permits: Arc<Semaphore>,
}

impl Reader {
    pub(super) fn new(history: Arc<dyn History>) -> Self {
        let permits = Arc::new(Semaphore::new(READERS));
        Self { history, permits }
    }
}

impl Hub {
    /// Events of the log; missing ones are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the log cannot be read, or not in time.
    async fn events_at(&self, mut positions: Vec<Position>) -> Result<EventsAt, Error> {
        positions.sort_unstable();
        positions.dedup();
        let reading = async {
            let Reader { history, permits } = &self.shared.reader;
            let reader = permits.clone().acquire_owned().await;
            let history = history.clone();
            let read = self.shared.tasks.spawn_blocking(move || {
                let _reader = reader;
                history.at(&positions)
            });
            read.await.unwrap_or_else(|error| {
                tracing::error!(%error, "reading the log has failed");
                let reason = "the hub's log cannot be read".to_owned();
                Err(Error::Unavailable(reason))
            })
        };
        let late = |_| {
            Err(Error::Unavailable(
                "the hub's log is not read in time".to_owned(),
            ))
        };
        let found = timeout(DEADLINE, reading).await.unwrap_or_else(late)?;
        Ok(found.into_iter().collect())
    }

    /// Reads the missing bodies of a stream's deliveries. On failure, all logged deliveries go back, so that their
    /// order is kept.
    pub(crate) async fn fill(&self, session: SessionId, mut outgoing: Outgoing) -> Outgoing {
        let stored = outgoing.deliveries.iter();
        let stored = stored.filter(|(_, batch)| batch.is_stored());
        let positions: Vec<Position> = stored
            .flat_map(|(_, batch)| batch.positions())
            .copied()
            .collect();
        if positions.is_empty() {
            return outgoing;
        }
        let deliveries = std::mem::take(&mut outgoing.deliveries);
        match self.events_at(positions).await {
            Ok(found) => {
                let mut gone = Vec::new();
                for (index, batch) in deliveries {
                    if !batch.is_stored() {
                        outgoing.deliveries.push((index, batch));
                        continue;
                    }
                    let is_gone =
                        |mail: &Mail| mail.position.is_none_or(|p| !found.contains_key(&p));
                    let lost = batch.mail().filter(is_gone);
                    gone.extend(lost.map(|mail| (index, mail)));
                    let filled = batch.filled(&found).map(|filled| (index, filled));
                    outgoing.deliveries.extend(filled);
                }
                if !gone.is_empty() {
                    self.core().write_off_taken(session, &gone, Now::read());
                }
            }
            Err(error) => {
                tracing::warn!(%error, "mail waits until the log can be read");
                let is_logged = |(_, batch): &(usize, Batch)| !batch.positions().is_empty();
                let (logged, passing) = deliveries.into_iter().partition(is_logged);
                outgoing.deliveries = passing;
                outgoing.pause = Some(PAUSE);
                self.core().undo(session, &logged, Now::read());
                let returned = logged.iter().map(|(index, batch)| (*index, batch.len()));
                outgoing.returned = returned.collect();
            }
        }
        outgoing
    }

    /// Mail with its bodies, as far as the log has them.
    ///
    /// # Errors
    ///
    /// See [`events_at`](Self::events_at).
    pub(super) async fn whole(&self, mail: Vec<Mail>) -> Result<Vec<Arc<Sealed>>, Error> {
        let heads = mail.iter().filter(|mail| mail.event.is_head());
        let positions: Vec<Position> = heads.filter_map(|mail| mail.position).collect();
        let found = match positions.is_empty() {
            true => EventsAt::new(),
            false => self.events_at(positions).await?,
        };
        let whole = mail
            .into_iter()
            .filter_map(|mail| match mail.event.is_head() {
                true => found.get(&mail.position?).cloned(),
                false => Some(mail.event),
            });
        Ok(whole.collect())
    }
}

/// Turns given-up mail with bodies in the log into dead letters, until cancelled.
pub(super) async fn bury_stored(hub: Hub) {
    let wanted = hub.core().giving_up.wanted();
    loop {
        wanted.notified().await;
        loop {
            let positions = hub.core().giving_up.to_read();
            if positions.is_empty() {
                break;
            }
            match hub.events_at(positions.clone()).await {
                Ok(found) => {
                    let mut core = hub.core();
                    core.bury_read(&positions, &found, Now::read());
                }
                Err(error) => {
                    tracing::warn!(%error, "dead letters wait until the log can be read");
                    tokio::time::sleep(PAUSE).await;
                }
            }
            tokio::task::yield_now().await;
        }
    }
}

impl Core {
    /// Returns deliveries that did not leave the hub to their mailboxes.
    fn undo(&mut self, session: SessionId, deliveries: &[(usize, Batch)], now: Now) {
        let open = self.sessions.get(session).filter(|open| open.end.is_none());
        let Some(open) = open else {
            // Another stream of the instance has or will get them.
            return;
        };
        for (index, batch) in deliveries {
            if let Some(mailbox) = open.mailboxes.get(*index) {
                let (mailboxes, instance) = (&mut self.state.mailboxes, &open.instance);
                mailboxes.undo(*mailbox, batch.positions(), instance, now.instant);
            }
        }
    }

    /// Drops mail of a stream that is missing from the log.
    fn write_off_taken(&mut self, session: SessionId, gone: &[(usize, Mail)], now: Now) {
        let Some(open) = self.sessions.get(session) else {
            return;
        };
        let mailboxes = open.mailboxes.clone();
        for (index, mail) in gone {
            if let Some(mailbox) = mailboxes.get(*index) {
                self.write_off(*mailbox, mail, now);
            }
        }
    }

    /// Drops mail of a mailbox that no record contains.
    fn write_off(&mut self, mailbox: MailboxId, mail: &Mail, now: Now) {
        let (position, recipient) = (mail.position, &mail.recipient);
        tracing::error!(?position, %recipient, "event is lost: {GONE}");
        self.metrics.undelivered.inc();
        self.state.mailboxes.overflow(mailbox);
        self.settle(&hub(), mailbox, position.as_slice(), now);
        self.fail_work(mail, GONE, now);
    }
}
