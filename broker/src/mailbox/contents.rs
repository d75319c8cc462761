//! Read access to a mailbox.

use tokio::time::Instant;

use super::{Batch, Mail, Mailbox};
use crate::log::Position;

impl Mailbox {
    /// Waiting mail: first unlogged mail in order of arrival, then logged mail in log order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Mail> {
        let mut unlogged: Vec<&Batch> = self.room.unlogged().collect();
        unlogged.sort_by_key(|b| b.rank().serial);
        let all = unlogged.into_iter().chain(self.room.logged());
        all.flat_map(Batch::mail)
    }

    /// The oldest waiting mail.
    pub(crate) fn oldest(&self) -> Option<Mail> {
        self.room.oldest()?.mail().next()
    }

    /// Waiting mail up to a position, in log order.
    pub(crate) fn waiting_upto(&self, upto: Position) -> impl Iterator<Item = Mail> {
        let logged = self.room.logged().flat_map(Batch::mail);
        logged.take_while(move |mail| mail.position <= Some(upto))
    }

    /// Time when the oldest waiting mail came, or was due.
    pub(crate) fn waits_since(&self) -> Option<Instant> {
        Some(self.room.oldest()?.since())
    }

    /// Number of leased events.
    pub(crate) fn leased(&self) -> usize {
        self.leases.events()
    }

    /// Number of waiting events.
    pub(crate) fn waits(&self) -> usize {
        self.events - self.leased()
    }

    /// Number of events, waiting or leased.
    pub(crate) fn events(&self) -> usize {
        self.events
    }

    /// Bytes of all events, waiting or leased.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// True if an event is in it, waiting or leased.
    pub(crate) fn holds(&self, position: Position) -> bool {
        self.room.find(&[position]).is_some() || self.leases.find(&[position]).is_some()
    }

    /// All logged mail, waiting or leased, in order of arrival.
    pub(crate) fn mail(&self) -> Vec<Mail> {
        let mut all: Vec<&Batch> = self.room.logged().chain(self.leases.iter()).collect();
        all.sort_by_key(|b| b.rank().serial);
        all.into_iter().flat_map(Batch::mail).collect()
    }
}
