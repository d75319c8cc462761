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
    /// Credit that the connection is still to be told of.
    to_give: u32,
}

impl Lending {
    fn new(concurrency: u32) -> Self {
        Self {
            most: concurrency.max(16),
            lent: 0,
            owed: 0,
            to_give: 0,
        }
    }

    /// A place becomes free.
    fn free(&mut self) {
        match self.owed {
            0 => self.to_give += 1,
            _ => self.owed -= 1,
        }
    }

    /// False if `most` are lent already.
    fn lend(&mut self, most: u32) -> bool {
        if self.lent >= most {
            return false;
        }
        self.lent += 1;
        self.free();
        true
    }

    /// The credit to give now.
    fn give(&mut self) -> u32 {
        std::mem::take(&mut self.to_give)
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

    /// A delivery has been handled: another one may come. Dropped after its first poll, the place is given away with the next one.
    pub(super) async fn free(&self) {
        self.lock(Lending::free);
        self.give().await;
    }

    /// Takes a place for work that no delivery brought. [`free`](Self::free) gives it back.
    pub(super) fn take(&self) {
        self.lock(Lending::take);
    }

    /// Lets another delivery come for as long as what is returned lives.
    pub(crate) async fn lend(self: &Arc<Self>) -> Option<LentSlot> {
        self.lend_up_to(|lending| lending.most).await
    }

    /// Does the same while a person is waited for. There may be many of these, as answers come as deliveries.
    pub(crate) async fn lend_for_person(self: &Arc<Self>) -> Option<LentSlot> {
        self.lend_up_to(|_| MOST_FOR_PERSONS).await
    }

    async fn lend_up_to(self: &Arc<Self>, most: impl FnOnce(&Lending) -> u32) -> Option<LentSlot> {
        let is_lent = self.lock(|lending| lending.lend(most(lending)));
        let lent = is_lent.then(|| LentSlot(Arc::clone(self)))?;
        self.give().await;
        Some(lent)
    }

    /// Gives all that is to be given, whoever it is of: who was to give it may be gone.
    async fn give(&self) {
        if self.lock(|lending| lending.to_give) > 0 {
            // An error says that the connection is closed: nothing will come.
            let _ = self.link.credit(|| self.lock(Lending::give)).await;
        }
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
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;
    use crate::{Error, connection::nowhere};

    #[test]
    fn a_lent_place_is_taken_back_from_the_next_that_is_free() {
        let mut slots = Lending::new(1);
        assert!(slots.lend(16));
        assert_eq!(slots.give(), 1, "the handler waits, another may come");
        slots.take_back();
        slots.free();
        assert_eq!(slots.give(), 0, "one of the two has ended, one goes on");
        slots.free();
        assert_eq!(slots.give(), 1);
    }

    #[test]
    fn work_that_no_delivery_brought_takes_a_place() {
        let mut slots = Lending::new(2);
        slots.take();
        slots.free();
        assert_eq!(slots.give(), 0, "a delivery has ended");
        slots.free();
        assert_eq!(slots.give(), 1, "the other work has ended");
    }

    #[tokio::test]
    async fn a_place_is_not_lost_with_who_gives_it_away() {
        let (link, carried_out) = nowhere::link("a", |_| Err(Error::Timeout(Duration::ZERO)));
        let slots = Slots::new(link, 2);
        // Nobody takes orders yet, until there is no room for more.
        while slots.link.credit(|| 1).now_or_never().is_some() {}
        assert!(slots.free().now_or_never().is_none());
        assert_eq!(slots.lock(|lending| lending.to_give), 1);
        let freed_two = async {
            slots.free().await;
            slots.lock(|lending| lending.to_give)
        };
        tokio::select! {
            to_give = freed_two => assert_eq!(to_give, 0),
            () = carried_out => unreachable!("the link is there"),
        }
    }

    #[test]
    fn lending_is_bounded() {
        let mut slots = Lending::new(1);
        let lent = (0..100).filter(|_| slots.lend(16)).count();
        assert_eq!(lent, 16);
    }
}
