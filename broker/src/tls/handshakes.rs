//! Bound on the handshakes in progress. Peers that never finish theirs make room for others.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// Handshakes in progress at once; each takes about 40 KiB.
pub(super) const MOST: usize = 1024;

/// Time that a handshake has before another may take its place. A machine that does 350 of them in a second never gets there.
pub(super) const SHARE: Duration = Duration::from_secs(3);

/// The handshakes in progress on an address.
#[derive(Debug)]
pub(crate) struct Handshakes {
    room: Arc<Semaphore>,
    slots: Arc<Mutex<Slots>>,
}

/// By their number, so that the first is the oldest.
#[derive(Debug, Default)]
struct Slots {
    next: u64,
    taken: BTreeMap<u64, (Instant, CancellationToken)>,
}

/// A place for a handshake, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    number: u64,
    slots: Arc<Mutex<Slots>>,
    evicted: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl Default for Handshakes {
    fn default() -> Self {
        Self::new(MOST)
    }
}

impl Handshakes {
    fn new(most: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(most)),
            slots: Arc::default(),
        }
    }

    /// Waits for a place. If all are taken, the oldest handshake loses its place once it has had [`SHARE`]. Cancel-safe.
    pub(crate) async fn enter(&self) -> Slot {
        let place = Arc::clone(&self.room).acquire_owned();
        let mut place = pin!(place);
        let permit = loop {
            let until = self.oldest().map_or_else(Instant::now, |at| at + SHARE);
            match timeout_at(until, &mut place).await {
                Ok(permit) => break permit,
                // Its place is free in a moment, and others keep theirs.
                Err(_) if self.evict() => break place.await,
                Err(_) => {}
            }
        };
        self.slot(permit.expect("it is never closed"))
    }

    fn oldest(&self) -> Option<Instant> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.taken.first_key_value().map(|(_, (at, _))| *at)
    }

    fn slot(&self, permit: OwnedSemaphorePermit) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let number = slots.next;
        slots.next += 1;
        let evicted = CancellationToken::new();
        slots
            .taken
            .insert(number, (Instant::now(), evicted.clone()));
        Slot {
            number,
            slots: Arc::clone(&self.slots),
            evicted,
            _permit: permit,
        }
    }

    /// Ends the oldest handshake, if it has had its share; false if there is none.
    fn evict(&self) -> bool {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        match slots.taken.first_entry() {
            Some(oldest) if oldest.get().0.elapsed() >= SHARE => {
                oldest.remove().1.cancel();
                true
            }
            _ => false,
        }
    }
}

impl Slot {
    /// Waits until the handshake has to make room for another.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A handshake that ends when it has to.
    fn stalled(slot: Slot) -> tokio::task::JoinHandle<Duration> {
        let begun = Instant::now();
        tokio::spawn(async move {
            slot.evicted().await;
            begun.elapsed()
        })
    }

    /// Issue 25, TLS: a peer that never finishes its handshake holds nothing that others need.
    #[tokio::test(start_paused = true)]
    async fn the_oldest_makes_room_once_it_has_had_its_share() {
        let handshakes = Handshakes::new(2);
        let first = stalled(handshakes.enter().await);
        tokio::time::advance(SHARE / 3).await;
        let second = handshakes.enter().await;
        let begun = Instant::now();
        let third = handshakes.enter().await;
        assert_eq!(begun.elapsed(), SHARE - SHARE / 3);
        assert_eq!(first.await.expect("it ends"), SHARE);
        // A handshake that is done makes room at once.
        drop(second);
        let begun = Instant::now();
        let fourth = handshakes.enter().await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        drop((third, fourth));
        let slots = handshakes.slots.lock().expect("nobody panicked");
        assert!(slots.taken.is_empty());
    }

    /// Ten times as many as there is room for are through in ten shares.
    #[tokio::test(start_paused = true)]
    async fn a_crowd_that_stalls_is_waited_out_share_by_share() {
        let handshakes = Handshakes::new(8);
        let begun = Instant::now();
        let mut crowd = Vec::new();
        for _ in 0..80 {
            crowd.push(stalled(handshakes.enter().await));
        }
        assert_eq!(begun.elapsed(), SHARE * 9);
    }
}
