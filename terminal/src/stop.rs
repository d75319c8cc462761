//! Being told to stop.

mod watchdog;

use std::{io, process, time::Duration};

use tokio::{signal::unix, time::timeout};

/// Everything has ended this long after the first signal, or is given up.
const LIMIT: Duration = Duration::from_millis(9_500);

/// The process ends this long after the first signal, whatever still runs in it. What is given up has the time since [`LIMIT`] to leave the terminal and
/// the processes that it started in order.
const PROCESS_LIMIT: Duration = Duration::from_millis(9_750);

/// The exit code of a program that a second Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Effect of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM, or the terminal is gone.
    Terminate,
}

/// Something ran on when the process had to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("something did not end in time, such as a sync of the disk that does not return")]
pub struct Late;

/// SIGINT, SIGTERM and SIGHUP of this process, from here on. A watchdog ends the process in time after the first SIGTERM or SIGHUP.
#[derive(Debug)]
pub struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hangup: unix::Signal,
}

impl Signals {
    /// Takes the signals over.
    pub fn new() -> io::Result<Self> {
        watchdog::watch(PROCESS_LIMIT)?;
        Ok(Self {
            interrupt: unix::signal(unix::SignalKind::interrupt())?,
            terminate: unix::signal(unix::SignalKind::terminate())?,
            hangup: unix::signal(unix::SignalKind::hangup())?,
        })
    }

    /// The next signal. Cancel-safe.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.hangup.recv() => Signal::Terminate,
        }
    }

    /// Waits for `leaving`, but only for 9.5 s; a Ctrl-C meanwhile ends the process at once. A moment later the process ends even where it is stuck.
    ///
    /// # Errors
    ///
    /// [`Late`].
    pub async fn leave(mut self, leaving: impl Future<Output = ()>) -> Result<(), Late> {
        watchdog::end_after(PROCESS_LIMIT);
        let interrupted = async { while self.next().await != Signal::Interrupt {} };
        tokio::select! {
            left = timeout(LIMIT, leaving) => left.map_err(|_elapsed| Late),
            () = interrupted => process::exit(INTERRUPTED),
        }
    }
}
