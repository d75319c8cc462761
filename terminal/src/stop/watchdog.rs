//! Ends a process that is stuck. A thread that waits for the disk cannot be ended, and keeps others waiting.

use std::{io, thread, time::Duration};

use signal_hook::{
    consts::{SIGHUP, SIGTERM},
    iterator::Signals,
    low_level,
};

use crate::output;

/// Exit code of a process that was ended.
const FAILURE: i32 = 1;
/// Time that the warning may take: stderr can be blocked too.
const WARNING: Duration = Duration::from_millis(100);

/// Warning on stderr.
const WORDS: &str = "warning: something did not end in time, such as a sync of the disk that does not return; the process ends without it";

/// Ends the process this long after its first SIGTERM or SIGHUP. It has a thread of its own for that, as all others may be stuck.
pub(super) fn watch(within: Duration) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP])?;
    spawn(move || {
        if signals.forever().next().is_some() {
            end(within);
        }
    })
}

/// Ends the process this long after now.
pub(super) fn end_after(within: Duration) {
    if let Err(error) = spawn(move || end(within)) {
        tracing::warn!(%error, "nothing watches over the end of this process");
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = thread::Builder::new().name("watchdog".to_owned());
    thread.spawn(work).map(drop)
}

fn end(within: Duration) {
    thread::sleep(within - WARNING);
    // The process ends even where there is no thread for it to say so.
    let _ = spawn(|| output::aside(WORDS));
    thread::sleep(WARNING);
    // Nothing that was registered for the end of the process runs: it could wait for what is stuck.
    low_level::exit(FAILURE);
}
