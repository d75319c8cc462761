//! Which run is active in a thread, among those that this process drives.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agenthub_sdk::runs::RunId;

/// One run for each thread. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Threads(Arc<Mutex<HashMap<String, Holder>>>);

#[derive(Debug)]
struct Holder {
    run: RunId,
    /// How many say so.
    count: usize,
}

impl Threads {
    /// Makes a run the active one of its thread, until what is returned is dropped. The same run may be that several times at once.
    ///
    /// # Errors
    ///
    /// The run that is active there.
    pub fn take(&self, thread: &str, run: &RunId) -> Result<Active, RunId> {
        let mut threads = self.lock();
        let holder = threads.entry(thread.to_owned()).or_insert_with(|| Holder {
            run: run.clone(),
            count: 0,
        });
        if holder.run != *run {
            return Err(holder.run.clone());
        }
        holder.count += 1;
        Ok(Active {
            threads: self.clone(),
            thread: thread.to_owned(),
            run: run.clone(),
        })
    }

    /// A run that nobody drives yet, and that is the active one of its thread until somebody has driven it to its end.
    pub fn leave(&self, thread: &str, run: &RunId) {
        let holder = Holder {
            run: run.clone(),
            count: 0,
        };
        self.lock().entry(thread.to_owned()).or_insert(holder);
    }

    /// The run is over, whoever says otherwise.
    pub fn is_over(&self, thread: &str, run: &RunId) {
        let mut threads = self.lock();
        if threads.get(thread).is_some_and(|holder| holder.run == *run) {
            threads.remove(thread);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Holder>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run is the active one of its thread for as long as this is there.
#[derive(Debug)]
pub struct Active {
    threads: Threads,
    thread: String,
    run: RunId,
}

impl Drop for Active {
    fn drop(&mut self) {
        let mut threads = self.threads.lock();
        let Some(holder) = threads.get_mut(&self.thread) else {
            return;
        };
        if holder.run != self.run {
            return;
        }
        holder.count = holder.count.saturating_sub(1);
        if holder.count == 0 {
            threads.remove(&self.thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_one_active_run() {
        let threads = Threads::default();
        let (one, two) = (RunId::new("1"), RunId::new("2"));
        let first = threads.take("t", &one).expect("it is free");
        let again = threads.take("t", &one).expect("it is its own");
        assert_eq!(threads.take("t", &two).err(), Some(one.clone()));
        threads.take("u", &two).expect("another thread is free");
        drop(first);
        assert_eq!(threads.take("t", &two).err(), Some(one));
        drop(again);
        threads.take("t", &two).expect("it is free again");
    }

    #[test]
    fn a_run_that_was_left_behind_keeps_its_thread_until_it_was_driven() {
        let threads = Threads::default();
        let (one, two) = (RunId::new("1"), RunId::new("2"));
        threads.leave("t", &one);
        assert_eq!(threads.take("t", &two).err(), Some(one.clone()));
        drop(threads.take("t", &one).expect("it is its own"));
        threads.take("t", &two).expect("it is free again");
    }

    #[test]
    fn a_run_that_is_over_holds_nothing() {
        let threads = Threads::default();
        let (one, two) = (RunId::new("1"), RunId::new("2"));
        let held = threads.take("t", &one).expect("it is free");
        threads.is_over("t", &one);
        let next = threads.take("t", &two).expect("it is free");
        drop(held);
        assert_eq!(threads.take("t", &one).err(), Some(two));
        drop(next);
    }
}
