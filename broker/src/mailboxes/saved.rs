//! Mailboxes in snapshots.

use std::time::SystemTime;

use super::{Lifetime, Mailboxes};
use crate::{filter::Filter, id::AgentId, log::Try, mailbox::Mail};

/// A durable mailbox.
#[derive(Debug)]
pub(crate) struct Saved<'a> {
    pub(crate) agent: &'a AgentId,
    pub(crate) name: &'a str,
    pub(crate) filter: &'a Filter,
    pub(crate) ordered: bool,
    /// Last use, if known.
    pub(crate) used: Option<SystemTime>,
    /// In order of arrival.
    pub(crate) mail: Vec<Mail>,
    /// Its delivery attempts.
    pub(crate) tries: Vec<Try>,
}

impl Mailboxes {
    /// The durable mailboxes, in the order in which they were opened.
    pub(crate) fn saved(&self) -> Vec<Saved<'_>> {
        let slots = self.slots.iter();
        let mut durable: Vec<_> = slots
            .filter(|(_, slot)| slot.lifetime == Lifetime::Durable)
            .collect();
        durable.sort_by_key(|(id, _)| **id);
        durable
            .into_iter()
            .map(|(_, slot)| Saved {
                agent: &slot.agent,
                name: &slot.name,
                filter: &slot.filter,
                ordered: slot.ordered,
                used: slot.used,
                mail: slot.mailbox.mail(),
                tries: slot.mailbox.tries(),
            })
            .collect()
    }
}
