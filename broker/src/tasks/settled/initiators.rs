//! Settled tasks of each principal on whose behalf they were asked for, by state. A hub without identities has none.

use std::{collections::BTreeSet, hash::BuildHasher};

use agenthub_proto::a2a::TaskState;

use super::super::{
    latest::latest,
    states::{chosen, index},
};
use crate::table::Keyed;

/// Approximate memory for the place of a task.
pub(super) const PLACE: usize = 32;

/// The tasks, see the module.
#[derive(Debug, Default)]
pub(super) struct Initiators {
    /// Hash of principal and state, which others may have as well, and number of the row.
    rows: BTreeSet<(u64, u64)>,
    hasher: Keyed,
}

impl Initiators {
    /// Adds a task; nobody's is empty.
    pub(super) fn insert(&mut self, principal: &str, state: TaskState, row: u64) {
        if !principal.is_empty() {
            self.rows.insert((self.hash(principal, index(state)), row));
        }
    }

    pub(super) fn remove(&mut self, principal: &str, state: TaskState, row: u64) {
        if !principal.is_empty() {
            self.rows.remove(&(self.hash(principal, index(state)), row));
        }
    }

    /// Rows in these states, or in any if there are none, before a number, the last first. Few of others are among them.
    pub(super) fn before<'a>(
        &'a self,
        principal: &str,
        states: &[TaskState],
        end: u64,
    ) -> impl Iterator<Item = u64> + use<'a> {
        let walks = chosen(states).map(|state| {
            let hash = self.hash(principal, state);
            let walk = self.rows.range((hash, 0)..(hash, end)).rev();
            walk.map(|(_, row)| (*row, ()))
        });
        latest(walks.collect::<Vec<_>>()).map(|(row, ())| row)
    }

    fn hash(&self, principal: &str, state: usize) -> u64 {
        self.hasher.hash_one((state, principal))
    }
}
