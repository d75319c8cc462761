//! The deliveries that this process holds, and those it has settled.

use std::collections::{HashSet, VecDeque};

use agenthub_proto::agenthub::{Ack, Extension};

/// A delivery that is to be acknowledged or refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lease {
    pub(crate) subscription: u32,
    pub(crate) position: String,
    /// The hub's life that it comes from; what a later life says of a position is another event.
    pub(crate) epoch: u64,
}

/// Decision on a delivery that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    New,
    /// The hub delivers again what is still being worked on.
    Held,
    /// The hub delivers again what was acknowledged: the acknowledgement did not reach it.
    Settled,
}

/// The settled deliveries that are remembered, so that an acknowledgement lost with its stream is sent again.
const REMEMBERED: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Leases {
    held: HashSet<Lease>,
    settled: HashSet<Lease>,
    order: VecDeque<Lease>,
}

impl Leases {
    pub(super) fn arrive(&mut self, lease: &Lease) -> Arrival {
        if self.settled.contains(lease) {
            Arrival::Settled
        } else if self.held.insert(lease.clone()) {
            Arrival::New
        } else {
            Arrival::Held
        }
    }

    /// Handled. Returns whether there is anything to tell the hub.
    pub(super) fn settle(&mut self, lease: Lease) {
        self.held.remove(&lease);
        if self.settled.insert(lease.clone()) {
            self.order.push_back(lease);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.settled.remove(&oldest);
        }
    }

    /// Given back unhandled: it may come again.
    pub(super) fn release(&mut self, lease: &Lease) {
        self.held.remove(lease);
    }

    /// The hub has lost its memory, and with it all leases.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The extensions that renew every lease of this process.
    pub(super) fn extensions(&self) -> Vec<Extension> {
        grouped(self.held.iter())
            .into_iter()
            .map(|(subscription, position)| Extension {
                subscription,
                position,
            })
            .collect()
    }

    /// Deliveries that were settled lately: the last stream may have lost the acknowledgements.
    pub(super) fn settled(&self) -> Vec<Lease> {
        self.order.iter().cloned().collect()
    }
}

/// Acknowledgements of these.
pub(super) fn acks<'a>(leases: impl Iterator<Item = &'a Lease>) -> Vec<Ack> {
    grouped(leases)
        .into_iter()
        .map(|(subscription, position)| Ack {
            subscription,
            position,
        })
        .collect()
}

fn grouped<'a>(leases: impl Iterator<Item = &'a Lease>) -> Vec<(u32, Vec<String>)> {
    let mut groups: Vec<(u32, Vec<String>)> = Vec::new();
    for lease in leases {
        let position = lease.position.clone();
        match groups.iter_mut().find(|(s, _)| *s == lease.subscription) {
            Some((_, positions)) => positions.push(position),
            None => groups.push((lease.subscription, vec![position])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(position: usize) -> Lease {
        Lease {
            subscription: 1,
            position: position.to_string(),
            epoch: 0,
        }
    }

    #[test]
    fn what_was_settled_is_recognised_when_it_comes_again() {
        let mut leases = Leases::default();
        assert_eq!(leases.arrive(&lease(1)), Arrival::New);
        assert_eq!(leases.arrive(&lease(1)), Arrival::Held);
        leases.settle(lease(1));
        assert_eq!(leases.arrive(&lease(1)), Arrival::Settled);
        assert_eq!(leases.settled(), [lease(1)]);
        assert!(leases.extensions().is_empty());
    }

    #[test]
    fn what_was_released_may_come_again() {
        let mut leases = Leases::default();
        leases.arrive(&lease(1));
        leases.release(&lease(1));
        assert_eq!(leases.arrive(&lease(1)), Arrival::New);
    }

    #[test]
    fn memory_is_bounded() {
        let mut leases = Leases::default();
        for n in 0..REMEMBERED + 10 {
            leases.settle(lease(n));
        }
        assert_eq!(leases.settled.len(), REMEMBERED);
        assert_eq!(leases.arrive(&lease(0)), Arrival::New);
    }
}
