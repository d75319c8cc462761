//! The active run of each thread.

use agenthub_sdk::runs::RunId;

use super::{LiveRuns, State};

impl LiveRuns {
    /// Makes a run the active one of its thread, until what is returned is dropped or the run is over. The same run may be that several times at
    /// once.
    ///
    /// # Errors
    ///
    /// The run that is active there.
    pub(crate) fn hold_thread(&self, thread: &str, run: &RunId) -> Result<Active, RunId> {
        let mut state = self.lock();
        state.claim_thread(thread, run, 1)?;
        Ok(Active {
            live: self.clone(),
            run: run.clone(),
        })
    }

    /// Makes a run that nobody drives yet the active one of its thread, until somebody has driven it to its end.
    pub(crate) fn leave_thread(&self, thread: &str, run: &RunId) {
        // Another run that holds it goes on doing so.
        let _ = self.lock().claim_thread(thread, run, 0);
    }

    /// Frees the thread of a run that is over, whoever says otherwise.
    pub(crate) fn is_over(&self, run: &RunId) {
        self.lock().over(run);
    }
}

impl State {
    fn claim_thread(&mut self, thread: &str, run: &RunId, guards: usize) -> Result<(), RunId> {
        match self.threads.get(thread) {
            Some(other) if other != run => return Err(other.clone()),
            Some(_) => {}
            None => _ = self.threads.insert(thread.to_owned(), run.clone()),
        }
        let held = &mut self.run(run).thread;
        let (_, count) = held.get_or_insert_with(|| (thread.to_owned(), 0));
        *count += guards;
        Ok(())
    }

    pub(super) fn free_thread(&mut self, run: &RunId) {
        let thread = self.runs.get_mut(run).and_then(|live| live.thread.take());
        if let Some((thread, _)) = thread {
            self.threads.remove(&thread);
        }
    }
}

/// A run is the active one of its thread for as long as this is there.
#[derive(Debug)]
pub(crate) struct Active {
    live: LiveRuns,
    run: RunId,
}

impl Drop for Active {
    fn drop(&mut self) {
        let mut state = self.live.lock();
        let Some(live) = state.runs.get_mut(&self.run) else {
            return;
        };
        let Some((_, count)) = &mut live.thread else {
            return;
        };
        *count = count.saturating_sub(1);
        if *count == 0 {
            state.over(&self.run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_one_active_run() {
        let live = LiveRuns::default();
        let (one, two) = (RunId::new("1"), RunId::new("2"));
        let first = live.hold_thread("t", &one).expect("it is free");
        let again = live.hold_thread("t", &one).expect("it is its own");
        assert_eq!(live.hold_thread("t", &two).err(), Some(one.clone()));
        live.hold_thread("u", &two).expect("another thread is free");
        drop(first);
        assert_eq!(live.hold_thread("t", &two).err(), Some(one));
        drop(again);
        live.hold_thread("t", &two).expect("it is free again");
        assert!(live.lock().runs.is_empty(), "nothing is kept");
    }

    #[test]
    fn a_run_that_was_left_behind_keeps_its_thread_until_it_was_driven() {
        let live = LiveRuns::default();
        let (one, two) = (RunId::new("1"), RunId::new("2"));
        live.leave_thread("t", &one);
        assert_eq!(live.hold_thread("t", &two).err(), Some(one.clone()));
        drop(live.hold_thread("t", &one).expect("it is its own"));
        live.hold_thread("t", &two).expect("it is free again");
    }

    #[test]
    fn a_run_that_is_over_holds_nothing() {
        let live = LiveRuns::default();
        let (one, two) = (RunId::new("1"), RunId::new("2"));
        let held = live.hold_thread("t", &one).expect("it is free");
        live.is_over(&one);
        let next = live.hold_thread("t", &two).expect("it is free");
        drop(held);
        assert_eq!(live.hold_thread("t", &one).err(), Some(two));
        drop(next);
        assert!(live.lock().threads.is_empty(), "nothing is kept");
    }
}
