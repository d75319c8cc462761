//! Slots for deliveries in hand; one that waits for another agent lends its slot.

use std::sync::{Arc, Mutex};

use crate::connection::Link;

/// The most places that are lent while persons are waited for.
const MOST_FOR_PERSONS: u32 = 1_024;

/// The places of one agent.
#[derive(Debug)]
pub(crate) struct Slots {
    link: Link,
    lending: Mutex<Lending>,
}

/// The pure part: which credit is given when.
#[derive(Debug)]
struct Lending {
    most: u32,
    lent: u32,
    /// Places that were lent, given away, and wanted back.
    owed: u32,
}

impl Lending {
    fn new(concurrency: u32) -> Self {
        Self {
            most: concurrency.max(16),
            lent: 0,
            owed: 0,
        }
    }

    /// A place becomes free. Returns the credit to give.
    fn free(&mut self) -> u32 {
        if self.owed > 0 {
            self.owed -= 1;
            return 0;
        }
        1
    }

    /// Returns the credit to give, or `None` if `most` are lent already.
    fn lend(&mut self, most: u32) -> Option<u32> {
        if self.lent >= most {
            return None;
        }
        self.lent += 1;
        Some(self.free())
    }

    fn take_back(&mut self) {
        self.lent -= 1;
        self.owed += 1;
    }

    /// A place is used without a delivery: the next that becomes free is not given away.
    fn take(&mut self) {
        self.owed += 1;
    }
}

impl Slots {
    pub(crate) fn new(link: Link, concurrency: u32) -> Arc<Self> {
        Arc::new(Self {
            link,
            lending: Mutex::new(Lending::new(concurrency)),
        })
    }

    /// A delivery has been handled: another one may come.
    pub(super) async fn free(&self) {
        let credit = self.lock(Lending::free);
        self.give(credit).await;
    }

    /// Takes a place for work that no delivery brought. [`free`](Self::free) gives it back.
    pub(super) fn take(&self) {
        self.lock(Lending::take);
    }

    /// Lets another delivery come for as long as what is returned lives.
    pub(crate) async fn lend(self: &Arc<Self>) -> Option<LentSlot> {
        let credit = self.lock(|lending| lending.lend(lending.most))?;
        let lent = LentSlot(Arc::clone(self));
        self.give(credit).await;
        Some(lent)
    }

    /// Does the same while a person is waited for. There may be many of these, as answers come as deliveries.
    pub(crate) async fn lend_for_person(self: &Arc<Self>) -> Option<LentSlot> {
        let credit = self.lock(|lending| lending.lend(MOST_FOR_PERSONS))?;
        let lent = LentSlot(Arc::clone(self));
        self.give(credit).await;
        Some(lent)
    }

    async fn give(&self, credit: u32) {
        // An error says that the connection is closed: nothing will come.
        let _ = self.link.credit(credit).await;
    }

    fn lock<T>(&self, change: impl FnOnce(&mut Lending) -> T) -> T {
        change(&mut self.lending.lock().expect("no panic while it is locked"))
    }
}

/// A place that is lent.
#[derive(Debug)]
pub(crate) struct LentSlot(Arc<Slots>);

impl Drop for LentSlot {
    fn drop(&mut self) {
        self.0.lock(Lending::take_back);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lent_place_is_taken_back_from_the_next_that_is_free() {
        let mut slots = Lending::new(1);
        assert_eq!(
            slots.lend(16),
            Some(1),
            "the handler waits, another may come"
        );
        slots.take_back();
        assert_eq!(slots.free(), 0, "one of the two has ended, one goes on");
        assert_eq!(slots.free(), 1);
    }

    #[test]
    fn work_that_no_delivery_brought_takes_a_place() {
        let mut slots = Lending::new(2);
        slots.take();
        assert_eq!(slots.free(), 0, "a delivery has ended");
        assert_eq!(slots.free(), 1, "the other work has ended");
    }

    #[test]
    fn lending_is_bounded() {
        let mut slots = Lending::new(1);
        let lent = std::iter::from_fn(|| slots.lend(16)).take(100).count();
        assert_eq!(lent, 16);
    }
}
