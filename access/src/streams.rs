//! Streams that are open, so that those end whose caller has lost its rights.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    task::{Context, Poll},
};

use atomic_waker::AtomicWaker;

use crate::{Admitted, StreamPermit};

/// The reason why a stream ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its credential is worth nothing any more; a new call would be refused.
    Unauthenticated(String),
    /// The caller has other rights now; a new call is decided by them.
    Changed,
}

/// The early end of one stream. Dropping it forgets the stream.
#[derive(Debug)]
pub struct StreamEnd {
    number: u64,
    end: Arc<End>,
    streams: Weak<Mutex<Open>>,
    /// It counts for the quotas of its caller.
    _permit: Option<StreamPermit>,
}

#[derive(Debug, Default)]
struct End {
    reason: OnceLock<Ending>,
    waker: AtomicWaker,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    streams: HashMap<u64, (Admitted, Arc<End>)>,
}

/// All open streams. Those who open streams bound their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams(Arc<Mutex<Open>>);

impl Streams {
    /// Adds a stream.
    pub(crate) fn add(&self, admitted: Admitted, permit: Option<StreamPermit>) -> StreamEnd {
        let end = Arc::new(End::default());
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.next += 1;
        let number = open.next;
        open.streams.insert(number, (admitted, Arc::clone(&end)));
        StreamEnd {
            number,
            end,
            streams: Arc::downgrade(&self.0),
            _permit: permit,
        }
    }

    /// Ends those for which there is a reason.
    pub(crate) fn end(&self, reason: impl Fn(&Admitted) -> Option<Ending>) {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ending: Vec<(Arc<End>, Ending)> = open
            .streams
            .values()
            .filter_map(|(admitted, end)| Some((Arc::clone(end), reason(admitted)?)))
            .collect();
        drop(open);
        for (end, reason) in ending {
            // It ends once, for the first reason.
            let _ = end.reason.set(reason);
            end.waker.wake();
        }
    }
}

impl StreamEnd {
    /// The reason to end, if there is one; it costs a load.
    pub fn reason(&self) -> Option<&Ending> {
        self.end.reason.get()
    }

    /// Waits for a reason to end.
    pub fn poll(&self, context: &mut Context<'_>) -> Poll<&Ending> {
        if let Some(reason) = self.reason() {
            return Poll::Ready(reason);
        }
        self.end.waker.register(context.waker());
        // It may have come while the waker was not there yet.
        match self.reason() {
            Some(reason) => Poll::Ready(reason),
            None => Poll::Pending,
        }
    }
}

impl Drop for StreamEnd {
    fn drop(&mut self) {
        if let Some(streams) = self.streams.upgrade() {
            let mut open = streams.lock().unwrap_or_else(PoisonError::into_inner);
            open.streams.remove(&self.number);
        }
    }
}
