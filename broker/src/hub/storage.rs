//! Storage of the log, and the state that a hub reads from it at the start.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::{
    log::{EventLog, MemoryLog, OpenError, Options, SqliteLog, Upkeep},
    metrics::LogMetrics,
    settings::{Settings, Storage},
    snapshot::{Folding, Moment},
    state::State,
};

/// A log with its state.
pub(super) struct Opening {
    pub(super) log: Box<dyn EventLog>,
    pub(super) state: State,
    pub(super) upkeep: Option<Upkeep>,
    /// Background work of the log.
    pub(super) work: Option<BoxFuture<'static, ()>>,
}

/// Opens the log of the settings, and folds it.
///
/// # Errors
///
/// [`OpenError`] if it cannot be opened or is damaged.
pub(super) fn open(settings: &Settings, metrics: &Arc<LogMetrics>) -> Result<Opening, OpenError> {
    let (records, bytes) = (settings.log_events, settings.log_bytes);
    match &settings.storage {
        Storage::Memory => {
            let log = MemoryLog::new(records, bytes);
            let state = State::new(settings);
            Ok(Opening {
                log: Box::new(log),
                state,
                upkeep: None,
                work: None,
            })
        }
        Storage::Folder(folder) => {
            let options = Options {
                metrics: metrics.clone(),
                ..Options::default()
            };
            let mut folding = Folding::new(settings, Moment::now());
            let log = SqliteLog::open(folder, &options, |found| folding.take(found))?;
            let state = folding.finish();
            let upkeep = log.upkeep();
            #[cfg(feature = "ack-before-commit")]
            let log = crate::log::Early::new(log);
            Ok(Opening {
                log: Box::new(log),
                state,
                upkeep: Some(upkeep),
                work: None,
            })
        }
        Storage::Retained(kept) => {
            let mut folding = Folding::new(settings, Moment::now());
            let (log, work) = kept.open(records, bytes, |found| folding.take(found))?;
            Ok(Opening {
                log: Box::new(log),
                state: folding.finish(),
                upkeep: None,
                work: Some(work),
            })
        }
    }
}
