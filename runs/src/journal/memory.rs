//! An in-memory journal, lost with the process.

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;

use super::{
    Claim, Entry, Filter, Journal, JournalError, ListedRun, OpenedRun, ProgressSize, State,
    Summary, listing::Heading, summary::Change,
};
use crate::{event::RunEvent, id::RunId};

/// A journal in memory. Its clock is tokio's.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    runs: Mutex<HashMap<RunId, Run>>,
    /// Number of runs created.
    made: AtomicU64,
}

#[derive(Debug)]
struct Run {
    owner: String,
    driver: String,
    epoch: u64,
    until: Instant,
    /// Number of the run, ascending.
    number: u64,
    ended: Option<Instant>,
    entries: Vec<Entry>,
    summary: Summary,
    progress: ProgressSize,
    /// Results that were taken in, by task.
    results: HashMap<String, String>,
    /// State and time of the end, by this journal's clock.
    end: Option<(State, u64)>,
}

impl MemoryJournal {
    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn made(&self, owner: &str, driver: &str) -> Run {
        Run {
            owner: owner.to_owned(),
            driver: driver.to_owned(),
            epoch: 0,
            until: Instant::now(),
            number: self.made.fetch_add(1, Ordering::Relaxed) + 1,
            ended: None,
            entries: Vec::new(),
            summary: Summary::default(),
            progress: ProgressSize::default(),
            results: HashMap::new(),
            end: None,
        }
    }

    fn leased<T>(
        &self,
        run: &RunId,
        epoch: u64,
        then: impl FnOnce(&mut Run) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let mut runs = self.runs();
        let held = runs
            .get_mut(run)
            .ok_or_else(|| JournalError::NotFound(run.clone()))?;
        match held.epoch == epoch {
            true => then(held),
            false => Err(JournalError::Fenced(run.clone())),
        }
    }
}

impl Run {
    fn push(&mut self, event: &RunEvent) {
        if let (Some(state), None) = (State::after(event), self.end) {
            self.ended = Some(Instant::now());
            self.end = Some((state, event.at_ms()));
        }
        let seq = self.entries.len() as u64 + 1;
        self.summary.apply(seq, &Change::of(event));
        self.progress += ProgressSize::of([event]);
        self.entries.push(Entry {
            seq,
            event: event.clone(),
        });
    }

    fn listed(&self, id: &RunId) -> ListedRun {
        let heading = self.entries.first().map(|first| Heading::of(&first.event));
        let heading = heading.unwrap_or_default();
        let end = self.end;
        ListedRun {
            run: id.clone(),
            owner: self.owner.clone(),
            strategy: heading.strategy,
            thread: heading.thread,
            state: end.map_or(State::Working, |(state, _)| state),
            started_ms: heading.started_ms,
            ended_ms: end.map(|(_, at_ms)| at_ms),
            last: self.entries.len() as u64,
            summary: Some(self.summary.clone()),
            cursor: self.number.to_string(),
        }
    }

    fn without_progress(&self) -> Vec<Entry> {
        let is_progress = |entry: &&Entry| matches!(entry.event, RunEvent::Progressed { .. });
        let entries = self.entries.iter();
        entries.filter(|e| !is_progress(e)).cloned().collect()
    }

    fn is_free_for(&self, driver: &str) -> bool {
        self.driver == driver || self.until <= Instant::now()
    }

    fn take(&mut self, run: &RunId, claim: Claim<'_>) -> Result<(), JournalError> {
        let now = Instant::now();
        if !self.is_free_for(claim.driver) {
            return Err(JournalError::Leased {
                run: run.clone(),
                driver: self.driver.clone(),
                left: self.until - now,
            });
        }
        claim.driver.clone_into(&mut self.driver);
        self.epoch += 1;
        self.until = now + claim.lease;
        Ok(())
    }
}

fn is_wanted(listed: &ListedRun, filter: &Filter) -> bool {
    let is = |wanted: &Option<String>, found: &String| wanted.as_ref().is_none_or(|w| w == found);
    is(&filter.owner, &listed.owner)
        && is(&filter.thread, &listed.thread)
        && (filter.strategies.is_empty() || filter.strategies.contains(&listed.strategy))
        && (filter.states.is_empty() || filter.states.contains(&listed.state))
        && (!filter.asks || listed.summary.as_ref().is_some_and(Summary::asks))
        && !(filter.top_only && listed.summary.as_ref().is_some_and(|s| s.is_part))
        && filter
            .prefix
            .as_ref()
            .is_none_or(|prefix| listed.run.as_str().starts_with(prefix))
}

#[async_trait]
impl Journal for MemoryJournal {
    fn is_durable(&self) -> bool {
        false
    }

    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError> {
        let mut runs = self.runs();
        let is_new = !runs.contains_key(run);
        if is_new {
            if first.is_empty() {
                return Err(JournalError::NotFound(run.clone()));
            }
            let mut made = self.made(owner, claim.driver);
            first.iter().for_each(|event| made.push(event));
            runs.insert(run.clone(), made);
        }
        let held = runs
            .get_mut(run)
            .ok_or_else(|| JournalError::NotFound(run.clone()))?;
        held.take(run, claim)?;
        Ok(OpenedRun {
            epoch: held.epoch,
            entries: held.without_progress(),
            last: held.entries.len() as u64,
            progress: held.progress,
            is_new,
        })
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        self.leased(run, epoch, |held| {
            if held.entries.len() as u64 != after {
                return Err(JournalError::Fenced(run.clone()));
            }
            events.iter().for_each(|event| held.push(event));
            Ok(())
        })
    }

    async fn add(&self, run: &RunId, owner: &str, events: &[RunEvent]) -> Result<(), JournalError> {
        let mut runs = self.runs();
        if !runs.contains_key(run) {
            let mut made = self.made(owner, "");
            events.iter().for_each(|event| made.push(event));
            runs.insert(run.clone(), made);
        }
        Ok(())
    }

    async fn close(
        &self,
        run: &RunId,
        claim: Claim<'_>,
        end: &RunEvent,
    ) -> Result<(), JournalError> {
        let mut runs = self.runs();
        let held = runs
            .get_mut(run)
            .ok_or_else(|| JournalError::NotFound(run.clone()))?;
        held.take(run, claim)?;
        if held.ended.is_none() {
            held.push(end);
        }
        held.until = Instant::now();
        Ok(())
    }

    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), JournalError> {
        self.leased(run, epoch, |held| {
            held.until = Instant::now() + lease;
            Ok(())
        })
    }

    async fn release(&self, run: &RunId, epoch: u64) -> Result<(), JournalError> {
        match self.leased(run, epoch, |held| {
            held.until = Instant::now();
            Ok(())
        }) {
            Err(JournalError::Fenced(_) | JournalError::NotFound(_)) => Ok(()),
            result => result,
        }
    }

    async fn take_in(&self, run: &RunId, task: &str, result: &str) -> Result<bool, JournalError> {
        let mut runs = self.runs();
        let Some(held) = runs.get_mut(run).filter(|held| held.ended.is_none()) else {
            return Ok(false);
        };
        let entry = held.results.entry(task.to_owned());
        entry.or_insert_with(|| result.to_owned());
        Ok(true)
    }

    async fn taken_in(&self, run: &RunId, task: &str) -> Result<Option<String>, JournalError> {
        let runs = self.runs();
        Ok(runs
            .get(run)
            .and_then(|held| held.results.get(task).cloned()))
    }

    async fn read(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        let runs = self.runs();
        let held = runs
            .get(run)
            .ok_or_else(|| JournalError::NotFound(run.clone()))?;
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(held
            .entries
            .iter()
            .skip(after)
            .take(limit)
            .cloned()
            .collect())
    }

    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, JournalError> {
        let runs = self.runs();
        let mut free: Vec<(u64, &RunId)> = runs
            .iter()
            .filter(|(_, run)| run.owner == owner && run.ended.is_none() && run.is_free_for(driver))
            .map(|(id, run)| (run.number, id))
            .collect();
        free.sort();
        Ok(free
            .into_iter()
            .take(limit)
            .map(|(_, id)| id.clone())
            .collect())
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<ListedRun>, JournalError> {
        let before = filter.before_number()?.unwrap_or(u64::MAX);
        let runs = self.runs();
        let mut numbered: Vec<(u64, ListedRun)> = runs
            .iter()
            .filter(|(_, run)| run.number < before)
            .map(|(id, run)| (run.number, run.listed(id)))
            .filter(|(_, listed)| is_wanted(listed, filter))
            .collect();
        numbered.sort_unstable_by_key(|(number, _)| Reverse(*number));
        let wanted = numbered.into_iter().take(filter.limit());
        Ok(wanted.map(|(_, listed)| listed).collect())
    }

    async fn condense(&self, owner: &str, age: Duration) -> Result<u64, JournalError> {
        let mut runs = self.runs();
        let is_old = |run: &&mut Run| {
            let is_old = run.ended.is_some_and(|ended| ended.elapsed() >= age);
            run.owner == owner && is_old && run.entries.len() > 2
        };
        let mut condensed = 0;
        for run in runs.values_mut().filter(is_old) {
            let mut last = run.entries.split_off(run.entries.len() - 1);
            run.entries.truncate(1);
            last[0].seq = 2;
            run.entries.append(&mut last);
            run.progress = ProgressSize::default();
            run.results.clear();
            condensed += 1;
        }
        Ok(condensed)
    }

    async fn forget(&self, owner: &str, age: Duration) -> Result<u64, JournalError> {
        let mut runs = self.runs();
        let before = runs.len();
        let is_old = |ended: Instant| ended.elapsed() >= age;
        runs.retain(|_, run| run.owner != owner || !run.ended.is_some_and(is_old));
        Ok((before - runs.len()) as u64)
    }
}
