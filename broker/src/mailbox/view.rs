//! What there is to see of a mailbox.

use super::{Mail, Mailbox, Waiting};
use crate::log::Position;

impl Mailbox {
    /// Everything that waits, in the order of the log.
    pub(crate) fn waiting(&self) -> Vec<&Mail> {
        in_order(self.lanes.iter().chain(self.later.values()))
    }

    /// How many are out with an instance.
    pub(crate) fn leased(&self) -> usize {
        self.leases.len()
    }

    /// Of all that it holds, waiting or out.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether an event is in it, waiting or out.
    pub(crate) fn holds(&self, position: Position) -> bool {
        self.places.contains_key(&position) || self.leases.contains_key(&position)
    }

    /// Everything that waits or is out, in the order in which it came.
    pub(crate) fn mail(&self) -> Vec<&Mail> {
        let leased = self.leases.values().map(|l| &l.waiting);
        let waiting = self.lanes.iter().chain(self.later.values());
        let mut all: Vec<&Waiting> = waiting.chain(leased).collect();
        all.sort_by_key(|w| w.rank.serial);
        all.into_iter().map(|w| &w.mail).collect()
    }

    /// Everything that waits or is out, in the order of the log.
    pub(crate) fn into_mail(self) -> Vec<Mail> {
        let leased = self.leases.values().map(|l| &l.waiting);
        let waiting = self.lanes.iter().chain(self.later.values());
        in_order(waiting.chain(leased))
            .into_iter()
            .cloned()
            .collect()
    }
}

fn in_order<'a>(mail: impl Iterator<Item = &'a Waiting>) -> Vec<&'a Mail> {
    let mut all: Vec<&Waiting> = mail.collect();
    all.sort_by_key(|w| (w.mail.position, w.rank.serial));
    all.into_iter().map(|w| &w.mail).collect()
}
