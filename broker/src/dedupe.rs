//! Publishes that were seen before.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use sha1::{Digest, Sha1};
use tokio::time::Instant;
use uuid::{Builder, Uuid};

use crate::{
    id::{AgentId, OrderKey},
    table::Table,
};

/// A publish as its sender names it: with the message id, or the idempotency key if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) sender: AgentId,
    pub(crate) order: OrderKey,
    pub(crate) id: String,
}

/// As what a publish is known when it comes again, with a digest of its body: the same id with another body is another publish.
pub(crate) type Known = (Arc<Key>, Uuid);

/// What is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Of the body.
    pub(crate) digest: Uuid,
    pub(crate) event_id: String,
    pub(crate) position: String,
}

/// The publishes of a window of time, at most so many.
#[derive(Debug)]
pub(crate) struct Dedupe {
    window: Duration,
    /// The number of each, counted from the first that there ever was.
    numbers: Table<Arc<Key>, u64>,
    by_age: VecDeque<(Instant, Arc<Key>, Seen)>,
    /// How many were forgotten.
    forgotten: u64,
}

/// More than this in one window, and the oldest are forgotten early.
const CAPACITY: usize = 200_000;

impl Dedupe {
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window,
            numbers: Table::default(),
            by_age: VecDeque::new(),
            forgotten: 0,
        }
    }

    pub(crate) fn get(&self, key: &Key, now: Instant) -> Option<&Seen> {
        let number = self.numbers.get(key)?;
        let index = usize::try_from(number - self.forgotten).ok()?;
        let (at, _, seen) = self.by_age.get(index)?;
        (now.duration_since(*at) <= self.window).then_some(seen)
    }

    /// All that is known, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, Instant, &Seen)> {
        let numbered = (self.forgotten..).zip(&self.by_age);
        numbered.filter_map(|(number, (at, key, seen))| {
            (self.numbers.get(key) == Some(&number)).then_some((&**key, *at, seen))
        })
    }

    /// Whether a publish of that age is still known.
    pub(crate) fn remembers(&self, age: Duration) -> bool {
        age <= self.window
    }

    pub(crate) fn remember(&mut self, key: Arc<Key>, seen: Seen, now: Instant) {
        while self.by_age.front().is_some_and(|(at, ..)| {
            now.duration_since(*at) > self.window || self.by_age.len() >= CAPACITY
        }) {
            let Some((_, old, _)) = self.by_age.pop_front() else {
                break;
            };
            // It may have come again since.
            if self.numbers.get(&old) == Some(&self.forgotten) {
                self.numbers.remove(&old);
            }
            self.forgotten += 1;
        }
        let number = self.forgotten + self.by_age.len() as u64;
        self.numbers.insert(key.clone(), number);
        self.by_age.push_back((now, key, seen));
    }
}

/// A digest of an encoded body: its UUIDv5, by the processor's own instructions where it has them.
pub(crate) fn digest(body: &[u8]) -> Uuid {
    let mut sha1 = Sha1::new();
    sha1.update(Uuid::NAMESPACE_OID);
    sha1.update(body);
    let [bytes @ .., _, _, _, _] = <[u8; 20]>::from(sha1.finalize());
    Builder::from_sha1_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logs hold digests.
    #[test]
    fn a_digest_is_the_uuid_that_others_compute() {
        for body in ["", "a", &"long".repeat(1_000)] {
            let expected = Uuid::new_v5(&Uuid::NAMESPACE_OID, body.as_bytes());
            assert_eq!(digest(body.as_bytes()), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_publish_is_known_for_the_window() {
        let mut dedupe = Dedupe::new(Duration::from_secs(600));
        let key = |id: &str| {
            Arc::new(Key {
                sender: "a".into(),
                order: "c".into(),
                id: id.into(),
            })
        };
        let seen = Seen {
            digest: digest(b"x"),
            event_id: "e".into(),
            position: "p".into(),
        };
        dedupe.remember(key("1"), seen.clone(), Instant::now());
        tokio::time::advance(Duration::from_secs(599)).await;
        dedupe.remember(key("2"), seen.clone(), Instant::now());
        assert_eq!(dedupe.get(&key("1"), Instant::now()), Some(&seen));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(dedupe.get(&key("1"), Instant::now()), None);
        dedupe.remember(key("3"), seen.clone(), Instant::now());
        assert_eq!(dedupe.numbers.len(), 2, "it is gone");
        assert!(dedupe.get(&key("2"), Instant::now()).is_some());

        tokio::time::advance(Duration::from_secs(599)).await;
        dedupe.remember(key("2"), seen.clone(), Instant::now());
        tokio::time::advance(Duration::from_secs(2)).await;
        dedupe.remember(key("4"), seen, Instant::now());
        assert!(
            dedupe.get(&key("2"), Instant::now()).is_some(),
            "seen again within the window"
        );
    }
}
