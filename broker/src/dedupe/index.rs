//! Index from fingerprints to numbers of publishes.

use hashbrown::{HashTable, hash_table::Entry};

use super::{fingerprint::Fingerprint, queue::Queue};

/// Sharded, because a growing table moves all its entries, which takes long with millions.
#[derive(Debug)]
pub(super) struct Index {
    shards: Box<[HashTable<Slot>]>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Bits of the fingerprint, so that almost no other publish is compared.
    tag: u32,
    /// The lower half of the publish's number: far fewer are remembered at a time.
    number: u32,
}

const SHARDS: usize = 256;
/// A shard shrinks when its capacity exceeds this multiple of its entries, unless it is almost empty.
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
    /// Number of the last publish with that fingerprint.
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

/// A table uses the lowest and the highest bits.
fn hash(tag: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(tag)
}

#[allow(clippy::cast_possible_truncation)]
fn lower(number: u64) -> u32 {
    number as u32
}
