//! What is out with instances, and until when.

use tokio::time::Instant;

use super::{deadlines::Deadlines, waiting::Waiting};
use crate::{id::InstanceId, log::Position, table::Table};

#[derive(Clone, Debug)]
pub(super) struct Lease {
    pub(super) waiting: Waiting,
    pub(super) instance: InstanceId,
    pub(super) until: Instant,
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Leases {
    leases: Table<Position, Lease>,
    ends: Deadlines,
}

impl Leases {
    /// An instance has mail until a time.
    pub(super) fn insert(
        &mut self,
        position: Position,
        waiting: Waiting,
        instance: &InstanceId,
        until: Instant,
    ) {
        self.ends.insert(until, position);
        let lease = Lease {
            waiting,
            instance: instance.clone(),
            until,
        };
        if self.leases.insert(position, lease).is_some() {
            self.settle(position);
        }
    }

    pub(super) fn remove(&mut self, position: Position) -> Option<Lease> {
        let lease = self.leases.remove(&position)?;
        self.settle(position);
        Some(lease)
    }

    pub(super) fn get(&self, position: Position) -> Option<&Lease> {
        self.leases.get(&position)
    }

    pub(super) fn len(&self) -> usize {
        self.leases.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Lease> {
        self.leases.values()
    }

    /// Whether an instance has this mail.
    pub(super) fn is_with(&self, position: Position, instance: &InstanceId) -> bool {
        let lease = self.leases.get(&position);
        lease.is_some_and(|l| l.instance == *instance)
    }

    /// Whether it was out already when the hub started.
    pub(super) fn was_out(&self, position: Position) -> bool {
        let lease = self.leases.get(&position);
        lease.is_some_and(|l| l.waiting.was_out)
    }

    /// What an instance has, in the order of the log.
    pub(super) fn of(&self, instance: &InstanceId) -> Vec<Position> {
        let its = self.leases.iter().filter(|(_, l)| l.instance == *instance);
        let mut positions: Vec<Position> = its.map(|(p, _)| *p).collect();
        positions.sort();
        positions
    }

    /// The instance that has it, if it is this one, has it until then.
    pub(super) fn extend(&mut self, position: Position, instance: &InstanceId, until: Instant) {
        let lease = self.leases.get_mut(&position);
        if let Some(lease) = lease.filter(|l| l.instance == *instance) {
            lease.until = until;
            self.ends.insert(until, position);
            self.settle(position);
        }
    }

    /// A lease that has run out.
    pub(super) fn over(&self, now: Instant) -> Option<Position> {
        let (until, position) = self.ends.first()?;
        (until <= now).then_some(position)
    }

    /// When the next one runs out.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.ends.first().map(|(until, _)| until)
    }

    /// The lease on it is over, or lasts longer.
    fn settle(&mut self, position: Position) {
        let leases = &self.leases;
        let holds = |until, position: Position| {
            let lease = leases.get(&position);
            lease.is_some_and(|l| l.until == until)
        };
        self.ends.forget(position, leases.len(), holds);
    }
}
