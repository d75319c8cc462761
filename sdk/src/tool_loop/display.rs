//! Statuses for those who watch a run, shown one after the other, beside the run: it never waits for them.

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

/// Things to be shown that wait at most; while there are as many, what comes is left out, and a mark says so.
const ROOM: usize = 1_024;

/// Time that the end of a run waits for what is to be seen before it.
const CATCH_UP: Duration = Duration::from_secs(2);

/// Makes what is shown in place of so many things that were left out.
type Mark = Box<dyn Fn(u64) -> BoxFuture<'static, ()> + Send + Sync>;

/// The display of one run. Dropping it ends it at once.
pub(super) struct Display {
    mark: Mark,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    showing: Option<Showing>,
    /// Things that were left out since the last mark.
    left_out: u64,
}

struct Showing {
    jobs: mpsc::Sender<BoxFuture<'static, ()>>,
    _task: JoinSet<()>,
}

impl Display {
    /// A display on which nothing is shown yet.
    pub(super) fn new<F: Future<Output = ()> + Send + 'static>(
        mark: impl Fn(u64) -> F + Send + Sync + 'static,
    ) -> Self {
        Self {
            mark: Box::new(move |count| Box::pin(mark(count))),
            state: Mutex::default(),
        }
    }

    /// Shows this behind all that was given before. Never waits.
    pub(super) fn show(&self, job: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.lock();
        let State { showing, left_out } = &mut *state;
        let jobs = &showing.get_or_insert_with(Showing::start).jobs;
        if *left_out > 0 && jobs.try_send((self.mark)(*left_out)).is_ok() {
            *left_out = 0;
        }
        // Behind what was left out nothing is shown without the mark.
        if *left_out > 0 || jobs.try_send(Box::pin(job)).is_err() {
            *left_out += 1;
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let display = Display::new(|_| async {});
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
        let display = Display::new(|_| async {});
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

    #[tokio::test]
    async fn a_mark_stands_where_something_was_left_out() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let note = |what: u64| {
            let seen = seen.clone();
            async move { seen.lock().expect("nobody panics").push(what) }
        };
        let marked = seen.clone();
        let display = Display::new(move |count| {
            let seen = marked.clone();
            async move { seen.lock().expect("nobody panics").push(1_000_000 + count) }
        });
        let (go_on, stuck) = oneshot::channel::<()>();
        display.show(async move {
            // It is let go on once.
            let _ = stuck.await;
        });
        let room = ROOM as u64;
        (0..room + 5).for_each(|number| display.show(note(number)));
        go_on.send(()).expect("it waits");
        while seen.lock().expect("nobody panics").is_empty() {
            tokio::task::yield_now().await;
        }
        display.show(note(7));
        display.caught_up().await;
        let seen = seen.lock().expect("nobody panics").clone();
        assert_eq!(seen[seen.len() - 2..], [1_000_006, 7]);
        assert_eq!(seen.len() as u64, room + 1);
    }
}
