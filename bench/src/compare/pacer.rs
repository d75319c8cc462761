//! Ticks at a steady rate, from a thread: a timer of the runtime would be a millisecond late.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::mpsc;

/// Maximum queued ticks; further ones are dropped.
const BEHIND: usize = 64;

/// Ticks until dropped.
#[derive(Debug)]
pub(super) struct Pacer {
    ticks: mpsc::Receiver<()>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pacer {
    /// Starts with this many ticks per second, at least 1.
    pub(super) fn start(per_second: u32) -> Self {
        let (send, ticks) = mpsc::channel(BEHIND);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let every = Duration::from_secs(1) / per_second.max(1);
        let thread = thread::spawn(move || {
            let mut next = Instant::now();
            while !stopped.load(Ordering::Relaxed) {
                next += every;
                thread::sleep(next.saturating_duration_since(Instant::now()));
                // A slow consumer misses ticks.
                let _ = send.try_send(());
            }
        });
        Self {
            ticks,
            stop,
            thread: Some(thread),
        }
    }

    /// Waits for the next tick; `false` at the end.
    pub(super) async fn tick(&mut self) -> bool {
        self.ticks.recv().await.is_some()
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread sleeps for one tick at most.
            let _ = thread.join();
        }
    }
}
