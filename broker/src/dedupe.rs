//! Publishes that were seen before.

use std::{collections::VecDeque, hash::BuildHasher, sync::Arc, time::Duration};

use hashbrown::{HashTable, hash_table::Entry};
use sha1::{Digest, Sha1};
use tokio::time::Instant;
use uuid::{Builder, Uuid};

use crate::{
    id::{AgentId, OrderKey},
    table::Keyed,
};

/// A publish as its sender names it: with the message id, or the idempotency key if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) sender: AgentId,
    pub(crate) order: OrderKey,
    pub(crate) id: String,
}

/// As what a publish is known when it comes again, with a digest of its body and addressee: the same id with others is another publish.
pub(crate) type Known = (Arc<Key>, Uuid);

/// What is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Of the body and the addressee.
    pub(crate) digest: Uuid,
    pub(crate) event_id: String,
    pub(crate) position: String,
}

/// The publishes of a window of time, at most so many.
#[derive(Debug)]
pub(crate) struct Dedupe {
    window: Duration,
    hasher: Keyed,
    /// The last of each key. Hashes are there too, so that nearly no key is looked at that is not the one.
    numbers: HashTable<Numbered>,
    queue: Queue,
}

/// A publish by its number among all that there ever were.
#[derive(Debug)]
struct Numbered {
    /// Of its key.
    hash: u64,
    number: u64,
}

/// The publishes in their order.
#[derive(Debug, Default)]
struct Queue {
    /// How many were forgotten, which is the number of the oldest.
    forgotten: u64,
    by_age: VecDeque<Remembered>,
}

#[derive(Debug)]
struct Remembered {
    at: Instant,
    hash: u64,
    key: Arc<Key>,
    seen: Seen,
}

impl Queue {
    fn get(&self, number: u64) -> Option<&Remembered> {
        let index = usize::try_from(number - self.forgotten).ok()?;
        self.by_age.get(index)
    }

    /// Whether a publish is the last of a key with that hash.
    fn is_of(&self, numbered: &Numbered, hash: u64, key: &Key) -> bool {
        let is_key = |found: &Remembered| *found.key == *key;
        numbered.hash == hash && self.get(numbered.number).is_some_and(is_key)
    }
}

/// More than this in one window, and the oldest are forgotten early.
const CAPACITY: usize = 200_000;

impl Dedupe {
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window,
            hasher: Keyed::default(),
            numbers: HashTable::new(),
            queue: Queue::default(),
        }
    }

    pub(crate) fn get(&self, key: &Key, now: Instant) -> Option<&Seen> {
        if self.numbers.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        let is_key = |numbered: &Numbered| self.queue.is_of(numbered, hash, key);
        let numbered = self.numbers.find(hash, is_key)?;
        let found = self.queue.get(numbered.number)?;
        (now.duration_since(found.at) <= self.window).then_some(&found.seen)
    }

    /// All that is known, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, Instant, &Seen)> {
        let numbered = (self.queue.forgotten..).zip(&self.queue.by_age);
        numbered.filter_map(|(number, found)| {
            let last = self.numbers.find(found.hash, |n| n.number == number);
            last.map(|_| (&*found.key, found.at, &found.seen))
        })
    }

    /// Whether a publish of that age is still known.
    pub(crate) fn remembers(&self, age: Duration) -> bool {
        age <= self.window
    }

    pub(crate) fn remember(&mut self, key: Arc<Key>, seen: Seen, now: Instant) {
        while self.queue.by_age.front().is_some_and(|oldest| {
            now.duration_since(oldest.at) > self.window || self.queue.by_age.len() >= CAPACITY
        }) {
            self.forget();
        }
        let hash = self.hasher.hash_one(&*key);
        let number = self.queue.forgotten + self.queue.by_age.len() as u64;
        let is_key = |numbered: &Numbered| self.queue.is_of(numbered, hash, &key);
        match self.numbers.entry(hash, is_key, |n| n.hash) {
            Entry::Occupied(mut before) => before.get_mut().number = number,
            Entry::Vacant(new) => {
                new.insert(Numbered { hash, number });
            }
        }
        let remembered = Remembered {
            at: now,
            hash,
            key,
            seen,
        };
        self.queue.by_age.push_back(remembered);
    }

    /// Forgets the oldest.
    fn forget(&mut self) {
        if let Some(oldest) = self.queue.by_age.pop_front() {
            let number = self.queue.forgotten;
            // It may have come again since.
            if let Ok(last) = self.numbers.find_entry(oldest.hash, |n| n.number == number) {
                last.remove();
            }
            self.queue.forgotten += 1;
        }
    }
}

/// A digest of an encoded body, and of whom it is addressed to if it names somebody: a UUIDv5, by the processor's own instructions
/// where it has them.
pub(crate) fn digest(body: &[u8], to: &str) -> Uuid {
    let mut sha1 = Sha1::new();
    sha1.update(Uuid::NAMESPACE_OID);
    sha1.update(body);
    if !to.is_empty() {
        // No body ends like that.
        sha1.update([0]);
        sha1.update(to);
    }
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
            assert_eq!(digest(body.as_bytes(), ""), expected);
            assert_ne!(digest(body.as_bytes(), "b"), expected);
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
            digest: digest(b"x", ""),
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
