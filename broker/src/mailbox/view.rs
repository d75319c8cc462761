//! What there is to see of a mailbox.

use super::{Mail, Mailbox, waiting::Waiting};
use crate::log::Position;

impl Mailbox {
    /// Everything that waits, in the order of the log.
    pub(crate) fn waiting(&self) -> Vec<Mail> {
        let passing = self.room.passing();
        let kept = self.room.kept();
        let room = self.room.iter().cloned().chain(kept);
        passing.chain(in_order(room)).collect()
    }

    /// How many are out with an instance.
    pub(crate) fn leased(&self) -> usize {
        self.leases.len() + self.lent.len()
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
        self.room.holds(position)
            || self.leases.get(position).is_some()
            || self.lent.holds(position)
    }

    /// Everything in the log that waits or is out, in the order in which it came.
    pub(crate) fn mail(&self) -> Vec<Mail> {
        let mut all: Vec<Waiting> = self.all().collect();
        all.sort_by_key(|w| w.rank.serial);
        all.into_iter().map(|w| w.mail).collect()
    }

    /// Everything that waits or is out, in the order of the log.
    pub(crate) fn into_mail(self) -> Vec<Mail> {
        let passing = self.room.passing();
        passing.chain(in_order(self.all())).collect()
    }

    fn all(&self) -> impl Iterator<Item = Waiting> {
        let pieces = self.leases.iter().map(|l| &l.waiting);
        let pieces = self.room.iter().chain(pieces).cloned();
        let lent = self.lent.leases().map(|l| l.waiting);
        pieces.chain(self.room.kept()).chain(lent)
    }
}

fn in_order(mail: impl Iterator<Item = Waiting>) -> impl Iterator<Item = Mail> {
    let mut all: Vec<Waiting> = mail.collect();
    all.sort_by_key(|w| (w.mail.position, w.rank.serial));
    all.into_iter().map(|w| w.mail)
}
