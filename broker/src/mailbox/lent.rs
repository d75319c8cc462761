//! Parcels that are out with an instance, one lease for each, and acknowledged in the order in which they went out. While parcels are
//! out, nothing else is. Their lanes do not know that the instance has them.

use std::collections::VecDeque;

use tokio::time::Instant;

use super::{leases::Lease, parcel::Parcel, waiting::Waiting};
use crate::{id::InstanceId, log::Position};

#[derive(Debug)]
struct Loan {
    parcel: Parcel,
    until: Instant,
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Lent {
    instance: Option<InstanceId>,
    /// In the order of the log.
    loans: VecDeque<Loan>,
    events: usize,
}

impl Lent {
    /// The instance has a parcel of the log until a time. It comes after all that is out, and all of that is with the same instance.
    pub(super) fn insert(&mut self, parcel: Parcel, instance: &InstanceId, until: Instant) {
        self.events += parcel.len();
        self.instance.get_or_insert_with(|| instance.clone());
        self.loans.push_back(Loan { parcel, until });
    }

    /// Takes out the first event, if it is this one. Returns its bytes.
    pub(super) fn remove_first(&mut self, position: Position) -> Option<usize> {
        let Loan { parcel, .. } = self.loans.front_mut()?;
        if parcel.positions().first() != Some(&position) {
            return None;
        }
        let bytes = parcel.bytes_of_first();
        self.events -= 1;
        if !parcel.remove_first() {
            self.loans.pop_front();
        }
        if self.loans.is_empty() {
            self.instance = None;
        }
        Some(bytes)
    }

    /// Takes out everything, piece by piece.
    pub(super) fn take(&mut self) -> Vec<Lease> {
        let lent = std::mem::take(self);
        lent.leases().collect()
    }

    /// What is out, piece by piece.
    pub(super) fn leases(&self) -> impl Iterator<Item = Lease> + '_ {
        let loans = self.instance.iter().zip([&self.loans]);
        loans.flat_map(|(instance, loans)| {
            loans.iter().flat_map(move |loan| {
                let waiting = loan.parcel.each();
                waiting.map(move |waiting| lease(waiting, instance, loan.until))
            })
        })
    }

    /// One piece that is out.
    pub(super) fn get(&self, position: Position) -> Option<Lease> {
        let (at, index) = self.find(position)?;
        let Loan { parcel, until } = &self.loans[at];
        Some(lease(parcel.at(index), self.instance.as_ref()?, *until))
    }

    pub(super) fn holds(&self, position: Position) -> bool {
        self.find(position).is_some()
    }

    /// How many events are out.
    pub(super) fn len(&self) -> usize {
        self.events
    }

    /// Whether anything is out with another instance.
    pub(super) fn is_with_another(&self, instance: &InstanceId) -> bool {
        self.instance.as_ref().is_some_and(|with| with != instance)
    }

    /// When the first lease runs out.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.loans.front().map(|loan| loan.until)
    }

    /// The parcel that an event is in, and the so-manieth it is there.
    fn find(&self, position: Position) -> Option<(usize, usize)> {
        let is_before = |loan: &Loan| loan.parcel.positions().last() < Some(&position);
        let at = self.loans.partition_point(is_before);
        Some((at, self.loans.get(at)?.parcel.find(position)?))
    }
}

/// Mail of a parcel on its first delivery.
fn lease(waiting: Waiting, instance: &InstanceId, until: Instant) -> Lease {
    Lease {
        waiting: Waiting {
            attempts: 1,
            last: Some(instance.clone()),
            ..waiting
        },
        instance: instance.clone(),
        until,
    }
}
