//! Runs in memory: gone with the process.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;

use super::{Claim, Entry, Error, Journal, Opened};
use crate::{event::RunEvent, id::RunId};

/// A journal in memory. Its clock is tokio's.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    runs: Mutex<HashMap<RunId, Run>>,
}

#[derive(Debug)]
struct Run {
    owner: String,
    driver: String,
    epoch: u64,
    until: Instant,
    began: Instant,
    ended: Option<Instant>,
    entries: Vec<Entry>,
}

impl MemoryJournal {
    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held<T>(
        &self,
        run: &RunId,
        epoch: u64,
        then: impl FnOnce(&mut Run) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut runs = self.runs();
        let held = runs
            .get_mut(run)
            .ok_or_else(|| Error::NotFound(run.clone()))?;
        match held.epoch == epoch {
            true => then(held),
            false => Err(Error::Fenced(run.clone())),
        }
    }
}

impl Run {
    fn push(&mut self, event: &RunEvent) {
        if matches!(event, RunEvent::Ended { .. }) {
            self.ended = Some(Instant::now());
        }
        let seq = self.entries.len() as u64 + 1;
        self.entries.push(Entry {
            seq,
            event: event.clone(),
        });
    }

    fn is_free_for(&self, driver: &str) -> bool {
        self.driver == driver || self.until <= Instant::now()
    }
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
        first: Option<&RunEvent>,
    ) -> Result<Opened, Error> {
        let mut runs = self.runs();
        let now = Instant::now();
        let is_new = !runs.contains_key(run);
        if is_new {
            let first = first.ok_or_else(|| Error::NotFound(run.clone()))?;
            let mut made = Run {
                owner: owner.to_owned(),
                driver: claim.driver.to_owned(),
                epoch: 0,
                until: now,
                began: now,
                ended: None,
                entries: Vec::new(),
            };
            made.push(first);
            runs.insert(run.clone(), made);
        }
        let held = runs
            .get_mut(run)
            .ok_or_else(|| Error::NotFound(run.clone()))?;
        if !held.is_free_for(claim.driver) {
            return Err(Error::Held {
                run: run.clone(),
                driver: held.driver.clone(),
                left: held.until - now,
            });
        }
        claim.driver.clone_into(&mut held.driver);
        held.epoch += 1;
        held.until = now + claim.lease;
        Ok(Opened {
            epoch: held.epoch,
            entries: held.entries.clone(),
            is_new,
        })
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), Error> {
        self.held(run, epoch, |held| {
            if held.entries.len() as u64 != after {
                return Err(Error::Fenced(run.clone()));
            }
            events.iter().for_each(|event| held.push(event));
            Ok(())
        })
    }

    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), Error> {
        self.held(run, epoch, |held| {
            held.until = Instant::now() + lease;
            Ok(())
        })
    }

    async fn release(&self, run: &RunId, epoch: u64) -> Result<(), Error> {
        match self.held(run, epoch, |held| {
            held.until = Instant::now();
            Ok(())
        }) {
            Err(Error::Fenced(_) | Error::NotFound(_)) => Ok(()),
            result => result,
        }
    }

    async fn read(&self, run: &RunId, after: u64, limit: usize) -> Result<Vec<Entry>, Error> {
        let runs = self.runs();
        let held = runs.get(run).ok_or_else(|| Error::NotFound(run.clone()))?;
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
    ) -> Result<Vec<RunId>, Error> {
        let runs = self.runs();
        let mut free: Vec<(&Instant, &RunId)> = runs
            .iter()
            .filter(|(_, run)| run.owner == owner && run.ended.is_none() && run.is_free_for(driver))
            .map(|(id, run)| (&run.began, id))
            .collect();
        free.sort();
        Ok(free
            .into_iter()
            .take(limit)
            .map(|(_, id)| id.clone())
            .collect())
    }

    async fn forget(&self, age: Duration) -> Result<u64, Error> {
        let mut runs = self.runs();
        let before = runs.len();
        let is_old = |ended: Instant| ended.elapsed() >= age;
        runs.retain(|_, run| !run.ended.is_some_and(is_old));
        Ok((before - runs.len()) as u64)
    }
}
