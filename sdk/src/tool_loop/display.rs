//! What those who watch a run are shown, one after the other, beside the run: it never waits for them.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};

/// Things to be shown that wait at most; while there are as many, what comes is not shown.
const ROOM: usize = 1_024;

/// How long the end of a run waits for what is to be seen before it.
const CATCH_UP: Duration = Duration::from_secs(2);

/// The display of one run. Dropping it ends it at once.
#[derive(Debug, Default)]
pub(super) struct Display(Mutex<Option<Showing>>);

#[derive(Debug)]
struct Showing {
    jobs: mpsc::Sender<BoxFuture<'static, ()>>,
    _task: JoinSet<()>,
}

impl Display {
    /// Shows this behind all that was given before. Never waits.
    pub(super) fn show(&self, job: impl Future<Output = ()> + Send + 'static) {
        let mut showing = self.lock();
        let showing = showing.get_or_insert_with(Showing::start);
        if showing.jobs.try_send(Box::pin(job)).is_err() {
            tracing::debug!("those who watch are too far behind: something is not shown");
        }
    }

    /// Waits until all has been shown that was given before, for at most 2 s.
    pub(super) async fn caught_up(&self) {
        let (done, is_done) = oneshot::channel();
        self.show(async move {
            // Nobody waits any more.
            let _ = done.send(());
        });
        // An error says that there is no room: then it is far behind.
        let _ = timeout(CATCH_UP, is_done).await;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Showing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Showing {
    fn start() -> Self {
        let (jobs, mut given) = mpsc::channel::<BoxFuture<'static, ()>>(ROOM);
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Some(job) = given.recv().await {
                job.await;
            }
        });
        Self { jobs, _task: task }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_given_is_shown_in_order_and_nobody_waits_for_it() {
        let display = Display::default();
        let shown = Arc::new(Mutex::new(Vec::new()));
        for n in 0..3 {
            let shown = shown.clone();
            display.show(async move {
                tokio::time::sleep(Duration::from_millis(100)).await;
                shown.lock().expect("nobody panics").push(n);
            });
        }
        let began = Instant::now();
        display.caught_up().await;
        assert_eq!(*shown.lock().expect("nobody panics"), [0, 1, 2]);
        assert_eq!(began.elapsed(), Duration::from_millis(300));

        display.show(std::future::pending());
        let began = Instant::now();
        display.caught_up().await;
        assert_eq!(began.elapsed(), CATCH_UP);
    }

    #[tokio::test]
    async fn so_much_waits_and_no_more() {
        let display = Display::default();
        let shown = Arc::new(());
        display.show(std::future::pending());
        for _ in 0..2 * ROOM {
            let shown = shown.clone();
            display.show(async move { drop(shown) });
        }
        assert!(Arc::strong_count(&shown) <= ROOM + 1);
        drop(display);
        while Arc::strong_count(&shown) > 1 {
            tokio::task::yield_now().await;
        }
    }
}
