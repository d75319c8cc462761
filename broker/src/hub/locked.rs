//! The lock around the hub's state.

use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard},
};

use super::core::{Core, Now};

/// The state, locked. When it is let go, what was done becomes one group of the log, and what is safe is delivered.
pub(crate) struct Locked<'a>(MutexGuard<'a, Core>);

impl<'a> Locked<'a> {
    pub(super) fn new(core: &'a Mutex<Core>) -> Self {
        Self(
            core.lock()
                .expect("no code panics while it holds the hub's lock"),
        )
    }
}

impl Deref for Locked<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.0
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        &mut self.0
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.end_group(Now::read());
        }
    }
}
