//! Index from texts to row numbers. Sharded, so that no table takes long to grow.

use std::hash::BuildHasher;

use hashbrown::{HashTable, hash_table::Entry};

use crate::table::Keyed;

/// Number of shards.
const PARTS: usize = 256;

/// The index, see the module.
#[derive(Debug)]
pub(super) struct Index {
    hasher: Keyed,
    parts: Vec<HashTable<Slot>>,
}

#[derive(Debug)]
struct Slot {
    hash: u64,
    number: u64,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            hasher: Keyed::default(),
            parts: (0..PARTS).map(|_| HashTable::new()).collect(),
        }
    }
}

impl Index {
    /// The number of a text, if `is_its` confirms it for its row.
    pub(super) fn get(&self, text: &str, is_its: impl Fn(u64) -> bool) -> Option<u64> {
        let hash = self.hasher.hash_one(text);
        let found = self.parts[part(hash)].find(hash, |s| s.hash == hash && is_its(s.number));
        found.map(|slot| slot.number)
    }

    /// Sets the number of a text. Returns the previous one, if `is_its` confirms it.
    pub(super) fn set(
        &mut self,
        text: &str,
        number: u64,
        is_its: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let hash = self.hasher.hash_one(text);
        let is_its = |s: &Slot| s.hash == hash && is_its(s.number);
        match self.parts[part(hash)].entry(hash, is_its, |s| s.hash) {
            Entry::Occupied(mut slot) => {
                let slot = slot.get_mut();
                Some(std::mem::replace(&mut slot.number, number))
            }
            Entry::Vacant(slot) => {
                slot.insert(Slot { hash, number });
                None
            }
        }
    }

    /// Removes a text, if this is its number.
    pub(super) fn remove(&mut self, text: &str, number: u64) {
        let hash = self.hasher.hash_one(text);
        let is_its = |s: &Slot| s.number == number;
        if let Ok(found) = self.parts[part(hash)].find_entry(hash, is_its) {
            found.remove();
        }
    }
}

fn part(hash: u64) -> usize {
    // Tables use the other bits.
    usize::try_from(hash >> 24).unwrap_or_default() % PARTS
}
