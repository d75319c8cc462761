//! Hash tables for lookups on every delivery.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

use foldhash::{
    SharedSeed,
    quality::{FoldHasher, SeedableRandomState},
};

/// A table with a hash function that is several times faster than that of the standard library, and randomly keyed
/// against chosen collisions.
pub(crate) type Table<K, V> = HashMap<K, V, Keyed>;

/// Hasher keyed by the system's randomness, which simulations replace; foldhash's own key depends on addresses.
#[derive(Clone, Debug)]
pub(crate) struct Keyed(u64);

impl Default for Keyed {
    fn default() -> Self {
        Self(random())
    }
}

impl BuildHasher for Keyed {
    type Hasher = FoldHasher<'static>;

    fn build_hasher(&self) -> Self::Hasher {
        static SHARED: LazyLock<SharedSeed> = LazyLock::new(|| SharedSeed::from_u64(random()));
        SeedableRandomState::with_seed(self.0, &SHARED).build_hasher()
    }
}

/// An unpredictable number.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(())
}
