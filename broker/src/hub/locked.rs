//! The lock around the hub's state, and the end of a hub whose state was left half changed.

use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard},
    thread,
};

use tokio::sync::SetOnce;

use super::{
    core::{Core, Now},
    failure::Failure,
};

/// The state, locked. When it is let go, what was done becomes one group of the log, and what is safe is delivered. After a panic in between, the
/// group is given up and the hub has failed.
pub(crate) struct Locked<'a> {
    core: MutexGuard<'a, Core>,
    failure: &'a SetOnce<Failure>,
    /// It was locked while another panic unwinds, which changed nothing here.
    is_unwinding: bool,
}

impl<'a> Locked<'a> {
    /// `None` once code has panicked while it held the lock: what the state is then is not known.
    pub(super) fn new(core: &'a Mutex<Core>, failure: &'a SetOnce<Failure>) -> Option<Self> {
        Some(Self {
            core: core.lock().ok()?,
            failure,
            is_unwinding: thread::panicking(),
        })
    }
}

impl Deref for Locked<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        &mut self.core
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let has_panicked = thread::panicking() && !self.is_unwinding;
        let changing = Changing(self);
        if !has_panicked {
            changing.0.core.end_group(Now::read());
        }
    }
}

/// Gives up a group in which a panic happens.
struct Changing<'a, 'b>(&'a mut Locked<'b>);

impl Drop for Changing<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() && !self.0.is_unwinding {
            self.0.core.log.abandon();
            // It may have failed already.
            let _ = self.0.failure.set(Failure::Panic);
        }
    }
}
