//! Backlog of a stream: events that it rereads from the log before live ones.

use std::{collections::VecDeque, sync::Arc};

use super::{Hub, core::Core, latest_cards::merged, session::Session};
use crate::{
    Error,
    filter::Filter,
    id::AgentId,
    log::{Entry, History, Page, Position, Record},
    mailboxes::Observed,
    routing::Route,
    sealed::Sealed,
};

/// A reread event, with its position in the log.
pub(crate) type Reread = (Position, Arc<Sealed>);

/// The part of the log that a stream rereads, page by page.
#[derive(Debug)]
pub(crate) struct Backlog {
    pub(super) agent: AgentId,
    pub(super) filter: Filter,
    pub(super) observes: Option<Observed>,
    /// True if it begins with the first record that is left, where the log has dropped earlier ones.
    pub(super) is_recent: bool,
    /// Position up to which it was read.
    pub(super) after: Position,
    /// Later events are in the stream's mailbox.
    pub(super) upto: Position,
    /// Read and not taken yet.
    pub(super) next: Option<Vec<Reread>>,
    /// Changes of the directory that stand among the events, oldest first.
    pub(super) cards: VecDeque<Reread>,
}

impl Core {
    /// Position up to which events were delivered: later ones will be.
    pub(super) fn delivered(&self) -> Position {
        let next = self.held_positions().next();
        next.map_or(self.safe(), |p| Position(p.0 - 1))
    }

    fn is_for(&self, backlog: &Backlog, record: &Record) -> Option<Reread> {
        let Entry::Published(published) = &record.entry else {
            return None;
        };
        let event = &published.event;
        let is_for_it = match &published.route {
            Route::Everyone => *event.sender() != *backlog.agent,
            Route::To(to) => {
                let observed = backlog.observes.as_ref();
                observed.is_some_and(|observed| observed.includes(event.sender(), to))
                    || to.iter().any(|a| a.agent == backlog.agent)
            }
        };
        let traits = self.state.traits(event);
        let is_accepted = is_for_it && backlog.filter.accepts(&traits, Default::default());
        is_accepted.then(|| (record.position, event.clone()))
    }
}

impl Hub {
    /// Reads events of the log, without the lock.
    ///
    /// # Errors
    ///
    /// See [`History::page`](crate::log::History::page). If cancelled, it reads to the end of the page and discards it.
    pub(super) async fn reread(&self, after: Position, upto: Position) -> Result<Page, Error> {
        self.read_history(move |history| history.page(after, upto))
            .await
    }

    /// Reads the log, without the lock.
    async fn read_history<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn History) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let history = self.core().log.history();
        let reading = self.shared.tasks.spawn_blocking(move || read(&*history));
        reading.await.unwrap_or_else(|error| {
            tracing::error!(%error, "rereading the log has failed");
            Err(Error::Unavailable(
                "the hub's log cannot be read".to_owned(),
            ))
        })
    }
}

impl Session {
    /// Reads the first page, so that a missing position is reported at once.
    pub(super) async fn prepare(&mut self) -> Result<(), Error> {
        if let Some(backlog) = &mut self.opened.backlog
            && backlog.is_recent
        {
            let oldest = self.hub.read_history(|history| history.oldest()).await?;
            backlog.after = backlog.after.max(oldest);
            self.opened.begins_after = backlog.after;
        }
        let page = self.reread().await?;
        if let Some(backlog) = &mut self.opened.backlog {
            backlog.next = page;
        }
        Ok(())
    }

    /// The next reread events, oldest first; a page may have none. `None` at the end.
    ///
    /// # Errors
    ///
    /// See [`Hub::reread`].
    pub(crate) async fn reread(&mut self) -> Result<Option<Vec<Reread>>, Error> {
        let Some(backlog) = &mut self.opened.backlog else {
            return Ok(None);
        };
        if let Some(next) = backlog.next.take() {
            return Ok(Some(next));
        }
        if backlog.after >= backlog.upto {
            let cards: Vec<Reread> = backlog.cards.drain(..).collect();
            if cards.is_empty() {
                self.opened.backlog = None;
            }
            return Ok(Some(cards).filter(|cards| !cards.is_empty()));
        }
        let page = self.hub.reread(backlog.after, backlog.upto).await?;
        backlog.after = page.upto;
        let core = self.hub.core();
        let events = page.events.iter();
        let events = events.filter_map(|r| core.is_for(backlog, r)).collect();
        let is_last = backlog.after >= backlog.upto;
        Ok(Some(merged(events, &mut backlog.cards, page.upto, is_last)))
    }

    /// True if there is something to [reread](Self::reread).
    pub(crate) fn has_backlog(&self) -> bool {
        self.opened.backlog.is_some()
    }

    /// Number of deliveries before the reread events, besides a snapshot of the directory.
    pub(crate) fn first(&self) -> usize {
        self.opened.first
    }
}
