//! Runs that somebody looks at, as far as their journals were read: a look reads what came since the last one.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use agenthub_sdk::runs::{Journal, RunId};
use tokio::sync::OwnedMutexGuard;

use super::{Inner, error::Error, reading::Shelf, standing::StandingRun, viewer::FoundRun};

/// The most runs that are kept: more than pages look at, of which several may be open.
const MAX_RUNS: usize = 64;

/// The most bytes of the events of all runs that are kept. A run that is larger by itself is read anew by each look.
const MAX_BYTES: usize = 32 << 20;

/// Time after which a run that nobody looks at any more is forgotten, by the next request about any.
const UNUSED: Duration = Duration::from_secs(60);

/// See the module. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentRuns(Arc<Mutex<Vec<RecentRun>>>);

#[derive(Debug)]
struct RecentRun {
    /// Its journal: another one may have a run of the same id.
    journal: Weak<dyn Journal>,
    run: RunId,
    used: Instant,
    standing: Slot,
    /// Size of what is kept of it.
    bytes: usize,
}

/// Room for a run; empty until it was read first.
type Slot = Arc<tokio::sync::Mutex<Option<StandingRun>>>;

impl RecentRuns {
    /// The room for a run, which takes that of the one that was looked at the longest ago if there are too many.
    fn slot(&self, journal: &Arc<dyn Journal>, run: &RunId, now: Instant) -> Slot {
        self.forget_unused(now);
        let mut runs = self.lock();
        let journal = Arc::downgrade(journal);
        let is_it = |known: &RecentRun| known.run == *run && known.journal.ptr_eq(&journal);
        let (standing, bytes) = match runs.iter().position(is_it) {
            Some(at) => {
                let known = runs.remove(at);
                (known.standing, known.bytes)
            }
            None => (Slot::default(), 0),
        };
        if runs.len() == MAX_RUNS {
            runs.remove(0);
        }
        runs.push(RecentRun {
            journal,
            run: run.clone(),
            used: now,
            standing: Arc::clone(&standing),
            bytes,
        });
        standing
    }

    /// Notes the size of a run after a look, and forgets those that were looked at the longest ago, so that all have room. One that has no room by
    /// itself is forgotten alone.
    fn keep(&self, slot: &Slot, bytes: usize) {
        let mut runs = self.lock();
        let Some(at) = runs.iter().position(|r| Arc::ptr_eq(&r.standing, slot)) else {
            return;
        };
        if bytes > MAX_BYTES {
            runs.remove(at);
            return;
        }
        runs[at].bytes = bytes;
        let mut all: usize = runs.iter().map(|known| known.bytes).sum();
        while all > MAX_BYTES {
            all -= runs.remove(0).bytes;
        }
    }

    /// Forgets the runs that nobody has looked at for a while.
    pub(super) fn forget_unused(&self, now: Instant) {
        let mut runs = self.lock();
        runs.retain(|known| now.duration_since(known.used) < UNUSED);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RecentRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that is being looked at, up to the last event of its journal once it was read. Also what a look that is given up, fails or is refused has
/// read is kept, within the bounds.
pub(super) struct Caught {
    held: OwnedMutexGuard<Option<StandingRun>>,
    recent: RecentRuns,
}

impl Drop for Caught {
    fn drop(&mut self) {
        let bytes = self.held.as_ref().map_or(0, StandingRun::bytes);
        self.recent.keep(OwnedMutexGuard::mutex(&self.held), bytes);
    }
}

impl Caught {
    pub(super) fn standing(&self) -> &StandingRun {
        self.held.as_ref().expect("it was read")
    }
}

impl Inner {
    /// The run up to the last event of its journal, and that journal. Looks at the same run wait for each other; one that is given up leaves what it
    /// has read.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] also for a run of another principal under the same id, [`Error::Unavailable`].
    pub(super) async fn caught_up(&self, found: &FoundRun) -> Result<(Shelf, Caught), Error> {
        let (shelf, run) = self.recorded(found).await?;
        let slot = self.recent.slot(&shelf.journal, &run, Instant::now());
        let mut caught = Caught {
            held: slot.lock_owned().await,
            recent: self.recent.clone(),
        };
        let standing = match &mut *caught.held {
            Some(standing) => standing,
            empty => empty.insert(shelf.begin(&run).await?),
        };
        shelf.go_on(&run, standing, u64::MAX).await?;
        match found.is_of(&standing.run()) {
            true => Ok((shelf, caught)),
            false => Err(Error::no_run(run.as_str())),
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::journal::MemoryJournal;

    use super::*;

    #[test]
    fn runs_are_kept_within_a_size_and_those_looked_at_last_stay() {
        let (recent, now) = (RecentRuns::default(), Instant::now());
        let own: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let slot = |name: &str| recent.slot(&own, &RunId::new(name), now);
        let kept = || -> Vec<String> {
            let runs = recent.lock();
            runs.iter().map(|known| known.run.to_string()).collect()
        };
        for name in ["a", "b", "c"] {
            recent.keep(&slot(name), MAX_BYTES / 3);
        }
        recent.keep(&slot("a"), MAX_BYTES / 2);
        assert_eq!(kept(), ["c", "a"]);
        recent.keep(&slot("larger"), MAX_BYTES + 1);
        assert_eq!(kept(), ["c", "a"], "others do not make room in vain");
        let forgotten = slot("c");
        recent.keep(&slot("d"), MAX_BYTES);
        recent.keep(&forgotten, MAX_BYTES);
        assert_eq!(kept(), ["d"]);
    }

    #[test]
    fn so_many_runs_are_kept_as_are_looked_at_and_no_more() {
        let (recent, now) = (RecentRuns::default(), Instant::now());
        let journal = || -> Arc<dyn Journal> { Arc::new(MemoryJournal::default()) };
        let (own, other) = (journal(), journal());
        let slot = |n: usize, now| recent.slot(&own, &RunId::new(n.to_string()), now);
        let first = slot(0, now);
        assert!(Arc::ptr_eq(&first, &slot(0, now)));
        let other = recent.slot(&other, &RunId::new("0"), now);
        assert!(!Arc::ptr_eq(&first, &other), "it is in another journal");
        for n in 1..MAX_RUNS {
            slot(n, now);
            slot(0, now);
        }
        assert_eq!(recent.lock().len(), MAX_RUNS);
        assert!(Arc::ptr_eq(&first, &slot(0, now)), "it is looked at");
        let later = now + UNUSED;
        assert!(!Arc::ptr_eq(&first, &slot(0, later)));
        assert_eq!(recent.lock().len(), 1);
    }
}
