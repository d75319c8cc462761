//! What a stream has to send.

use std::sync::Arc;

use agenthub_proto::agenthub::Cancel;

use crate::{
    log::Position,
    mailbox::{Delivery, Parcel},
    sealed::Sealed,
};

/// Why the hub ends a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The hub is going away: connect again.
    Drain,
    /// Not to be repeated as it is: another stream has taken its place, or the agent was unregistered.
    Superseded(String),
    /// It did not take its mail.
    Overflow,
}

/// What a mailbox hands to a stream.
#[derive(Debug)]
pub(crate) enum Handed {
    /// One delivery.
    One(Delivery),
    /// Events that came together, on their first delivery. Of those in no log, whoever gets them has them.
    Several(Parcel),
}

impl Handed {
    /// How many events it is.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Several(parcel) => parcel.len(),
        }
    }

    /// The so-manieth time it is that these are delivered.
    pub(crate) fn attempt(&self) -> u32 {
        match self {
            Self::One(delivery) => delivery.attempt,
            Self::Several(_) => 1,
        }
    }

    /// Its events one by one, each with where it stands in the log, if it does.
    pub(crate) fn events(&self) -> impl Iterator<Item = (&Arc<Sealed>, Option<Position>)> {
        let (one, several) = match self {
            Self::One(delivery) => (Some((&delivery.mail.event, delivery.mail.position)), None),
            Self::Several(parcel) => (None, Some(parcel)),
        };
        one.into_iter()
            .chain(several.into_iter().flat_map(Parcel::events))
    }
}

/// What an open stream has to send.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// With the index of its subscription.
    pub(crate) deliveries: Vec<(usize, Handed)>,
    /// How many of these are cards of a snapshot of the directory.
    pub(crate) cards: usize,
    /// There is more to be taken, and nobody will be woken for that.
    pub(crate) has_more: bool,
    pub(crate) cancels: Vec<Cancel>,
    pub(crate) end: Option<End>,
}

impl Outgoing {
    /// How many events it has to send.
    pub(crate) fn events(&self) -> usize {
        self.deliveries.iter().map(|(_, handed)| handed.len()).sum()
    }
}
