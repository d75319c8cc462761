//! Tables whose keys are looked up for every delivery.

use std::collections::{HashMap, HashSet};

use foldhash::quality::RandomState;

/// A table with a hash that is several times as fast as that of the standard library, and keyed at random, so that those who choose keys
/// do not choose where they go.
pub(crate) type Table<K, V> = HashMap<K, V, RandomState>;

/// A set with the same hash.
pub(crate) type Set<T> = HashSet<T, RandomState>;
