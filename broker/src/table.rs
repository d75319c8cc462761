//! Tables whose keys are looked up for every delivery.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

use foldhash::{
    SharedSeed,
    quality::{FoldHasher, SeedableRandomState},
};

/// A table with a hash that is several times as fast as that of the standard library, and keyed at random, so that those who choose keys
/// do not choose where they go.
pub(crate) type Table<K, V> = HashMap<K, V, Keyed>;

/// A hash with a key from the randomness of the system, which simulations replace; foldhash itself takes addresses.
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

/// A number that nobody can guess.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(())
}
