//! What there is to see of a mailbox.

use super::{Batch, Mail, Mailbox};
use crate::log::Position;

impl Mailbox {
    /// What waits: first what is in no log, in the order in which it came, then the rest in the order of the log.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Mail> {
        let mut unlogged: Vec<&Batch> = self.room.unlogged().collect();
        unlogged.sort_by_key(|b| b.rank().serial);
        let all = unlogged.into_iter().chain(self.room.logged());
        all.flat_map(Batch::mail)
    }

    /// What has waited longest.
    pub(crate) fn oldest(&self) -> Option<Mail> {
        self.room.oldest()?.mail().next()
    }

    /// What waits up to a position, in the order of the log.
    pub(crate) fn waiting_upto(&self, upto: Position) -> impl Iterator<Item = Mail> {
        let logged = self.room.logged().flat_map(Batch::mail);
        logged.take_while(move |mail| mail.position <= Some(upto))
    }

    /// How many are out with an instance.
    pub(crate) fn leased(&self) -> usize {
        self.leases.events()
    }

    /// How many wait.
    pub(crate) fn waits(&self) -> usize {
        self.events - self.leased()
    }

    /// How many it holds, waiting or out.
    pub(crate) fn events(&self) -> usize {
        self.events
    }

    /// Of all that it holds, waiting or out.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether an event is in it, waiting or out.
    pub(crate) fn holds(&self, position: Position) -> bool {
        self.room.find(&[position]).is_some() || self.leases.find(&[position]).is_some()
    }

    /// Everything in the log that waits or is out, in the order in which it came.
    pub(crate) fn mail(&self) -> Vec<Mail> {
        let mut all: Vec<&Batch> = self.room.logged().chain(self.leases.iter()).collect();
        all.sort_by_key(|b| b.rank().serial);
        all.into_iter().flat_map(Batch::mail).collect()
    }
}
