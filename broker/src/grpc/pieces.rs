//! The queue between who writes a stream and the transport. It takes memory for what is in it: every agent has one, mostly empty, and a
//! channel of tokio's has room for 32 pieces from the start.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// A queue for so many pieces.
pub(super) fn queue<T>(bound: usize) -> (Sender<T>, Receiver<T>) {
    let queue = Arc::new(Queue {
        bound,
        state: Mutex::new(State {
            pieces: VecDeque::new(),
            is_over: false,
            is_closed: false,
            for_room: None,
            for_the_end: None,
            for_pieces: None,
        }),
    });
    (Sender(queue.clone()), Receiver(queue))
}

/// Why a piece was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused<T> {
    /// There is no room now.
    Full(T),
    /// Nobody takes pieces any more.
    Closed,
}

/// The one who writes. Dropping it ends the queue after what is in it.
#[derive(Debug)]
pub(super) struct Sender<T>(Arc<Queue<T>>);

/// The one who takes. Dropping it closes the queue.
#[derive(Debug)]
pub(super) struct Receiver<T>(Arc<Queue<T>>);

#[derive(Debug)]
struct Queue<T> {
    bound: usize,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    pieces: VecDeque<T>,
    /// There is no sender any more.
    is_over: bool,
    /// There is no receiver any more.
    is_closed: bool,
    /// Who waits for room, who for the receiver's end, and who for a piece.
    for_room: Option<Waker>,
    for_the_end: Option<Waker>,
    for_pieces: Option<Waker>,
}

impl<T> Queue<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Sender<T> {
    /// Adds a piece if there is room.
    pub(super) fn try_send(&self, piece: T) -> Result<(), Refused<T>> {
        let mut state = self.0.state();
        if state.is_closed {
            return Err(Refused::Closed);
        }
        if state.pieces.len() >= self.0.bound {
            return Err(Refused::Full(piece));
        }
        state.pieces.push_back(piece);
        let taker = state.for_pieces.take();
        drop(state);
        wake(taker);
        Ok(())
    }

    /// Adds a piece once there is room. It is not added if this is dropped before. `None` if nobody takes pieces any more.
    pub(super) async fn send(&self, piece: T) -> Option<()> {
        let mut piece = Some(piece);
        poll_fn(|context| {
            let next = piece.take().expect("it is back whenever this waits");
            // The waker comes first, so that room that is made in between is not missed.
            self.0.state().for_room = Some(context.waker().clone());
            match self.try_send(next) {
                Ok(()) => Poll::Ready(Some(())),
                Err(Refused::Closed) => Poll::Ready(None),
                Err(Refused::Full(next)) => {
                    piece = Some(next);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Waits until nobody takes pieces any more.
    pub(super) async fn closed(&self) {
        poll_fn(|context| {
            let mut state = self.0.state();
            state.for_the_end = Some(context.waker().clone());
            match state.is_closed {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_over = true;
        let taker = state.for_pieces.take();
        drop(state);
        wake(taker);
    }
}

impl<T> Receiver<T> {
    /// The next piece, if there is one.
    pub(super) fn try_recv(&mut self) -> Option<T> {
        let mut state = self.0.state();
        let piece = state.pieces.pop_front()?;
        let sender = state.for_room.take();
        drop(state);
        wake(sender);
        Some(piece)
    }

    /// The next piece; `None` at the end.
    pub(super) fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.state();
        if state.pieces.is_empty() && !state.is_over {
            state.for_pieces = Some(context.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        Poll::Ready(self.try_recv())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_closed = true;
        let pieces = std::mem::take(&mut state.pieces);
        let (for_room, for_the_end) = (state.for_room.take(), state.for_the_end.take());
        drop(state);
        drop(pieces);
        wake(for_room);
        wake(for_the_end);
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, time::Duration};

    use futures_util::poll;
    use tokio::time::timeout;

    use super::*;

    /// Nothing here takes time, so that whoever is not woken is found out at once.
    async fn within<T>(future: impl Future<Output = T>) -> T {
        let done = timeout(Duration::from_secs(10), future).await;
        done.expect("somebody was not woken")
    }

    async fn next<T>(receiver: &mut Receiver<T>) -> Option<T> {
        within(poll_fn(|context| receiver.poll_recv(context))).await
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_come_in_order_and_then_the_end() {
        let (tx, mut rx) = queue(2);
        let writing = tokio::spawn(async move {
            for piece in 0..100 {
                tx.send(piece).await.expect("somebody takes them");
            }
        });
        for piece in 0..100 {
            assert_eq!(next(&mut rx).await, Some(piece));
        }
        assert_eq!(next(&mut rx).await, None);
        within(writing).await.expect("it has written all");
    }

    #[tokio::test]
    async fn what_finds_no_room_is_given_back_or_waits() {
        let (tx, mut rx) = queue(1);
        assert_eq!(tx.try_send(1), Ok(()));
        assert_eq!(tx.try_send(2), Err(Refused::Full(2)));
        let mut waiting = pin!(tx.send(3));
        assert_eq!(poll!(&mut waiting), Poll::Pending);
        assert_eq!(rx.try_recv(), Some(1));
        assert_eq!(poll!(&mut waiting), Poll::Ready(Some(())));
        assert_eq!((rx.try_recv(), rx.try_recv()), (Some(3), None));
    }

    #[tokio::test]
    async fn what_is_no_longer_waited_for_is_not_added() {
        let (tx, mut rx) = queue(1);
        assert_eq!(tx.try_send(1), Ok(()));
        {
            let mut waiting = pin!(tx.send(2));
            assert_eq!(poll!(&mut waiting), Poll::Pending);
        }
        assert_eq!((rx.try_recv(), rx.try_recv()), (Some(1), None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_writer_learns_that_nobody_takes_pieces() {
        let (tx, rx) = queue(1);
        assert_eq!(tx.try_send(1), Ok(()));
        let writing = tokio::spawn(async move {
            let sent = tx.send(2).await;
            tx.closed().await;
            (sent, tx.try_send(3))
        });
        tokio::task::yield_now().await;
        drop(rx);
        let learnt = within(writing).await.expect("it ends");
        assert_eq!(learnt, (None, Err(Refused::Closed)));
    }
}
