//! The way of an answer's pieces from a model to whoever watches it grow.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Pieces that wait for the reader at most; beyond that the last one grows, so that what waits never exceeds one answer.
const MAX_WAITING: usize = 64;

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<String>,
    reader_gone: bool,
    writer_gone: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sink and the reader of what is pushed into it.
pub fn deltas() -> (DeltaSink, Deltas) {
    let shared = Arc::new(Shared::default());
    (DeltaSink(Some(shared.clone())), Deltas(shared))
}

/// Writer of the pieces of a model's answer. Dropping it ends the reader's sequence.
#[derive(Debug)]
pub struct DeltaSink(Option<Arc<Shared>>);

impl DeltaSink {
    /// A sink that nobody reads.
    pub fn ignored() -> Self {
        Self(None)
    }

    /// Hands a piece over. Never waits: when the reader is slow, pieces are joined; when it is gone, they are dropped.
    pub fn push(&self, piece: &str) {
        let Some(shared) = &self.0 else { return };
        if piece.is_empty() {
            return;
        }
        let mut state = shared.state();
        if state.reader_gone {
            return;
        }
        let full = state.waiting.len() >= MAX_WAITING;
        match state.waiting.back_mut() {
            Some(last) if full => last.push_str(piece),
            _ => state.waiting.push_back(piece.to_owned()),
        }
        drop(state);
        shared.changed.notify_one();
    }
}

impl Drop for DeltaSink {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            shared.state().writer_gone = true;
            shared.changed.notify_one();
        }
    }
}

/// The reader of an answer's pieces. Dropping it costs the model nothing.
#[derive(Debug)]
pub struct Deltas(Arc<Shared>);

impl Deltas {
    /// The next piece, or `None` when the model has ended. Cancel-safe.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            {
                let mut state = self.0.state();
                if let Some(piece) = state.waiting.pop_front() {
                    return Some(piece);
                }
                if state.writer_gone {
                    return None;
                }
            }
            self.0.changed.notified().await;
        }
    }
}

impl Drop for Deltas {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.reader_gone = true;
        state.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_arrive_in_order_and_the_end_is_told() {
        let (sink, mut reader) = deltas();
        let writer = tokio::spawn(async move {
            for piece in ["a", "", "b", "c"] {
                sink.push(piece);
                tokio::task::yield_now().await;
            }
        });
        let mut got = Vec::new();
        while let Some(piece) = reader.next().await {
            got.push(piece);
        }
        writer.await.expect("the writer does not panic");
        assert_eq!(got, ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn a_reader_that_is_slow_gets_everything_in_a_bounded_number_of_pieces() {
        let (sink, mut reader) = deltas();
        let whole: String = (0..1_000).map(|n| format!("{n} ")).collect();
        for piece in whole.split_inclusive(' ') {
            sink.push(piece);
        }
        drop(sink);
        let (mut got, mut count) = (String::new(), 0);
        while let Some(piece) = reader.next().await {
            got.push_str(&piece);
            count += 1;
        }
        assert_eq!(got, whole);
        assert_eq!(count, MAX_WAITING);
    }

    #[test]
    fn a_reader_that_is_gone_keeps_no_memory() {
        let (sink, reader) = deltas();
        sink.push("before");
        drop(reader);
        sink.push("after");
        let shared = sink
            .0
            .as_ref()
            .expect("a sink of a pair has a reader's side");
        assert!(shared.state().waiting.is_empty());
    }
}
