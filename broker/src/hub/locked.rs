//! The lock around the hub's state, and failure of a hub that panicked while changing it.

use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard},
    thread,
    time::Instant,
};

use agenthub_metrics::Histogram;
use tokio::sync::SetOnce;

use super::{
    core::{Core, Now},
    failure::Failure,
};

/// The locked state. On release, the changes become one group of the log, and durable events are delivered. After a
/// panic while locked, the group is abandoned and the hub has failed.
pub(crate) struct Locked<'a> {
    core: MutexGuard<'a, Core>,
    failure: &'a SetOnce<Failure>,
    since: Instant,
    holds: &'a Histogram,
    /// Locked during the unwinding of another panic, which changed nothing here.
    is_unwinding: bool,
}

impl<'a> Locked<'a> {
    /// `None` once code has panicked while it held the lock: the state is unknown then.
    pub(super) fn new(
        core: &'a Mutex<Core>,
        failure: &'a SetOnce<Failure>,
        holds: &'a Histogram,
    ) -> Option<Self> {
        Some(Self {
            core: core.lock().ok()?,
            failure,
            since: Instant::now(),
            holds,
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
        {
            let changing = Changing(self);
            if !has_panicked {
                changing.0.core.end_group(Now::read);
            }
        }
        self.holds.observe_time(self.since.elapsed());
    }
}

/// Abandons the group on a panic.
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
