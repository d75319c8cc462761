//! The Kafka that all tests share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The right to use the Kafka: one test at a time, as they share topics and some restart it.
pub(crate) fn alone_with_kafka() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
