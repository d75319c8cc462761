//! Numbers of rows by a text of theirs. The table is in many parts, so that none takes long to grow.

use std::hash::BuildHasher;

use hashbrown::{HashTable, hash_table::Entry};

use crate::table::Keyed;

/// Parts of the table.
const PARTS: usize = 256;

/// See the module's description.
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
    /// The number of a text, if `is_its` says so of its row.
    pub(super) fn get(&self, text: &str, is_its: impl Fn(u64) -> bool) -> Option<u64> {
        let hash = self.hasher.hash_one(text);
        let found = self.parts[part(hash)].find(hash, |s| s.hash == hash && is_its(s.number));
        found.map(|slot| slot.number)
    }

    /// Gives a text another number. Returns the one that it had, if `is_its` says so of its row.
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

    /// Forgets a text, if this is its number.
    pub(super) fn remove(&mut self, text: &str, number: u64) {
        let hash = self.hasher.hash_one(text);
        let is_its = |s: &Slot| s.number == number;
        if let Ok(found) = self.parts[part(hash)].find_entry(hash, is_its) {
            found.remove();
        }
    }
}

fn part(hash: u64) -> usize {
    // Tables take the other bits.
    usize::try_from(hash >> 24).unwrap_or_default() % PARTS
}
