//! Fingerprints and the numbers of the publishes that have them.

use hashbrown::{HashTable, hash_table::Entry};

use super::{fingerprint::Fingerprint, queue::Queue};

/// In parts, each a table of its own: a table that grows moves all that it holds, which may take long with millions.
#[derive(Debug)]
pub(super) struct Index {
    shards: Box<[HashTable<Slot>]>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Of the fingerprint, so that nearly no publish is looked at that is not the one.
    tag: u32,
    /// The lower half of the publish's number: far fewer than that many are known at a time.
    number: u32,
}

const SHARDS: usize = 256;
/// A part with room for more than so many times what it holds gives room back, unless it holds next to nothing.
const SPARSE: usize = 8;
const SMALL: usize = 16;

impl Default for Index {
    fn default() -> Self {
        Self {
            shards: std::iter::repeat_with(HashTable::new)
                .take(SHARDS)
                .collect(),
        }
    }
}

impl Index {
    /// The number of the last publish with that fingerprint.
    pub(super) fn get(&self, fingerprint: Fingerprint, queue: &Queue) -> Option<u64> {
        let tag = fingerprint.tag();
        let is_it = |slot: &Slot| slot.is_of(fingerprint, queue);
        let slot = self.shards[fingerprint.shard()].find(hash(tag), is_it)?;
        Some(queue.whole(slot.number))
    }

    /// Makes a publish the last one with that fingerprint.
    pub(super) fn set(&mut self, fingerprint: Fingerprint, number: u64, queue: &Queue) {
        let tag = fingerprint.tag();
        let slot = Slot {
            tag,
            number: lower(number),
        };
        let is_it = |slot: &Slot| slot.is_of(fingerprint, queue);
        let shard = &mut self.shards[fingerprint.shard()];
        match shard.entry(hash(tag), is_it, |slot| hash(slot.tag)) {
            Entry::Occupied(mut before) => *before.get_mut() = slot,
            Entry::Vacant(place) => {
                place.insert(slot);
            }
        }
    }

    /// Removes a publish, if it is the last one with its fingerprint.
    pub(super) fn remove(&mut self, fingerprint: Fingerprint, number: u64) {
        let shard = &mut self.shards[fingerprint.shard()];
        let is_it = |slot: &Slot| slot.number == lower(number);
        if let Ok(last) = shard.find_entry(hash(fingerprint.tag()), is_it) {
            last.remove();
        }
        if shard.capacity() > SPARSE * shard.len().max(SMALL) {
            shard.shrink_to(2 * shard.len(), |slot| hash(slot.tag));
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(HashTable::len).sum()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.shards.iter().map(HashTable::capacity).sum()
    }
}

impl Slot {
    fn is_of(&self, fingerprint: Fingerprint, queue: &Queue) -> bool {
        let found = || queue.get(queue.whole(self.number));
        self.tag == fingerprint.tag() && found().is_some_and(|f| f.fingerprint == fingerprint)
    }
}

/// A table looks at the lowest bits and at the highest.
fn hash(tag: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(tag)
}

#[allow(clippy::cast_possible_truncation)]
fn lower(number: u64) -> u32 {
    number as u32
}
