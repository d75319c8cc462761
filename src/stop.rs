//! Being told to stop.

use std::{io, process, time::Duration};

use tokio::{signal::unix, time::sleep};

/// Everything has ended this long after the first signal, or is given up.
const LIMIT: Duration = Duration::from_millis(9_500);

/// The exit code of a program that a second Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM, or the terminal is gone.
    Terminate,
}

/// SIGINT, SIGTERM and SIGHUP of this process, from here on.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hangup: unix::Signal,
}

impl Signals {
    /// Takes the signals over.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: unix::signal(unix::SignalKind::interrupt())?,
            terminate: unix::signal(unix::SignalKind::terminate())?,
            hangup: unix::signal(unix::SignalKind::hangup())?,
        })
    }

    /// The next signal. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.hangup.recv() => Signal::Terminate,
        }
    }

    /// Waits for `leaving`, but only for 9.5 s; a Ctrl-C meanwhile ends the process at once.
    pub(crate) async fn leave(mut self, leaving: impl Future<Output = ()>) {
        let interrupted = async { while self.next().await != Signal::Interrupt {} };
        tokio::select! {
            () = leaving => {}
            () = interrupted => process::exit(INTERRUPTED),
            () = sleep(LIMIT) => tracing::warn!("not everything ended in time"),
        }
    }
}
