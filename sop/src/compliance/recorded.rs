//! The runs of a folder's journals, which belong to others and are only read.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::Arc,
};

use agenthub_sdk::{
    Agent,
    runs::{
        Journal, RunEvent, RunId, StepRequest, StepResult,
        journal::{self, Filter, ListedRun},
    },
};

use super::Procedure;

/// Events that are read at once.
const PAGE: usize = 500;

/// Runs that are listed at once, and pages of a journal that are looked through.
const RUNS: usize = 500;
const PAGES: usize = 40;

/// Runs of one journal that are looked into for the latest of an SOP.
const LOOKED_INTO: usize = 200;

/// Runs that led to others, one above the other.
const DEEPEST: usize = 16;

/// Runs that were asked for, directly or not, in one list.
const MOST_ASKED: usize = 64;

/// Runs that an error names.
const NAMED: usize = 5;

/// The journals of a data folder, by name.
#[derive(Clone, Debug)]
pub struct Journals(BTreeMap<String, Arc<dyn Journal>>);

/// A run as its journal has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The run.
    pub run: RunId,
    /// All that happened so far.
    pub events: Vec<RunEvent>,
}

/// Another agent's run that a run led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The agent.
    pub agent: String,
    /// Its run.
    pub run: RunId,
}

/// The reason why a run cannot be reported on.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// An empty folder.
    #[error("there are no runs")]
    Empty,
    /// No run was led by an SOP.
    #[error("none of the runs was led by an SOP")]
    NoSop,
    /// No such run.
    #[error("there is no run {wanted}; the latest are: {}", .latest.join(", "))]
    NotFound {
        /// The request.
        wanted: String,
        /// Some that there are, latest first.
        latest: Vec<String>,
    },
    /// More than one run begins so.
    #[error("{} runs begin with {wanted}: {}{}", .runs.len(), .runs[..NAMED.min(.runs.len())].join(", "), if .runs.len() > NAMED { ", …" } else { "" })]
    Ambiguous {
        /// The request.
        wanted: String,
        /// The runs that begin so.
        runs: Vec<String>,
    },
    /// A journal does not work.
    #[error(transparent)]
    Journal(#[from] journal::JournalError),
}

impl Journals {
    /// Records in these journals.
    pub fn new(journals: BTreeMap<String, Arc<dyn Journal>>) -> Self {
        Self(journals)
    }

    /// The run with this id, or the only one that begins with it; `latest` is the latest that was led by an SOP and that no other of them
    /// asked for.
    ///
    /// # Errors
    ///
    /// The run that is meant is not clear, or a journal cannot be read.
    pub async fn find(&self, wanted: &str) -> Result<Recorded, FindError> {
        let wanted = wanted.trim();
        if wanted == "latest" {
            return self.latest().await;
        }
        if !wanted.is_empty()
            && let Some(found) = self.read(&RunId::new(wanted)).await?
        {
            return Ok(found);
        }
        let mut all = Vec::new();
        for journal in self.0.values() {
            all.extend(listed(&**journal, PAGES).await?);
        }
        all.sort_by_key(|listed| std::cmp::Reverse(listed.started_ms));
        let meant =
            |listed: &&ListedRun| !wanted.is_empty() && listed.run.as_str().starts_with(wanted);
        let found: Vec<&ListedRun> = all.iter().filter(meant).collect();
        let names = |listed: &[&ListedRun]| listed.iter().map(|l| l.run.to_string()).collect();
        match found.as_slice() {
            [one] => {
                let read = self.read(&one.run).await?;
                read.ok_or_else(|| journal::JournalError::NotFound(one.run.clone()).into())
            }
            [] if all.is_empty() => Err(FindError::Empty),
            [] => Err(FindError::NotFound {
                wanted: wanted.to_owned(),
                latest: names(&all.iter().take(NAMED).collect::<Vec<_>>()),
            }),
            several => Err(FindError::Ambiguous {
                wanted: wanted.to_owned(),
                runs: names(several),
            }),
        }
    }

    /// A run, wherever it is.
    ///
    /// # Errors
    ///
    /// Its journal cannot be read.
    pub async fn read(&self, run: &RunId) -> Result<Option<Recorded>, FindError> {
        for journal in self.0.values() {
            let mut events = Vec::new();
            loop {
                let page = match journal.read(run, events.len() as u64, PAGE).await {
                    Ok(page) => page,
                    Err(journal::JournalError::NotFound(_)) => break,
                    Err(error) => return Err(error.into()),
                };
                let is_last = page.len() < PAGE;
                events.extend(page.into_iter().map(|entry| entry.event));
                if is_last {
                    break;
                }
            }
            if !events.is_empty() {
                let run = run.clone();
                return Ok(Some(Recorded { run, events }));
            }
        }
        Ok(None)
    }

    /// The run, then the runs of SOPs that it led to, directly or not, as far as they are here: at most 64. Then the agents whose runs are
    /// not here or were led by no SOP.
    ///
    /// # Errors
    ///
    /// A journal cannot be read.
    pub async fn with_asked(
        &self,
        first: Recorded,
    ) -> Result<(Vec<Recorded>, Vec<String>), FindError> {
        let mut seen = HashSet::from([first.run.clone()]);
        let mut waiting = VecDeque::from(asked(&first.events));
        let (mut found, mut absent) = (vec![first], Vec::new());
        while let Some(Asked { agent, run }) = waiting.pop_front() {
            if !seen.insert(run.clone()) || found.len() >= MOST_ASKED {
                continue;
            }
            match self.read(&run).await? {
                Some(recorded) if Procedure::of(&recorded.events).is_ok() => {
                    waiting.extend(asked(&recorded.events));
                    found.push(recorded);
                }
                _ if absent.contains(&agent) => {}
                _ => absent.push(agent),
            }
        }
        Ok((found, absent))
    }

    async fn latest(&self) -> Result<Recorded, FindError> {
        let mut latest: Option<(u64, RunId)> = None;
        let mut is_empty = true;
        for journal in self.0.values() {
            for listed in listed(&**journal, 1).await?.into_iter().take(LOOKED_INTO) {
                is_empty = false;
                if latest
                    .as_ref()
                    .is_some_and(|(at, _)| *at >= listed.started_ms)
                {
                    break;
                }
                let first = journal.read(&listed.run, 0, 1).await?;
                if Procedure::of(first.iter().map(|entry| &entry.event)).is_ok() {
                    latest = Some((listed.started_ms, listed.run));
                    break;
                }
            }
        }
        let Some((_, mut run)) = latest else {
            return Err(if is_empty {
                FindError::Empty
            } else {
                FindError::NoSop
            });
        };
        for _ in 0..DEEPEST {
            match self.asking(&run).await? {
                Some(asking) => run = asking,
                None => break,
            }
        }
        let read = self.read(&run).await?;
        read.ok_or_else(|| journal::JournalError::NotFound(run).into())
    }

    /// The run of an SOP that asked for this one.
    async fn asking(&self, run: &RunId) -> Result<Option<RunId>, FindError> {
        let began = |events: &[RunEvent]| events.first().map(RunEvent::at_ms);
        let Some(at) = self.read(run).await?.and_then(|r| began(&r.events)) else {
            return Ok(None);
        };
        for journal in self.0.values() {
            for listed in listed(&**journal, 1).await? {
                let was_there =
                    listed.started_ms <= at && listed.ended_ms.is_none_or(|end| end >= at);
                if !was_there || listed.run == *run {
                    continue;
                }
                let Some(recorded) = self.read(&listed.run).await? else {
                    continue;
                };
                let is_asking = asked(&recorded.events)
                    .iter()
                    .any(|asked| asked.run == *run);
                if is_asking && Procedure::of(&recorded.events).is_ok() {
                    return Ok(Some(listed.run));
                }
            }
        }
        Ok(None)
    }
}

/// The runs of a journal, latest first, so many pages of them at most.
async fn listed(
    journal: &dyn Journal,
    pages: usize,
) -> Result<Vec<ListedRun>, journal::JournalError> {
    let mut filter = Filter {
        limit: RUNS,
        ..Filter::default()
    };
    let mut all: Vec<ListedRun> = Vec::new();
    for _ in 0..pages {
        let page = journal.list(&filter).await?;
        filter.before = page.last().map(|listed| listed.cursor.clone());
        let is_last = page.len() < RUNS;
        all.extend(page);
        if is_last {
            break;
        }
    }
    Ok(all)
}

/// The runs that a run led to, every attempt of its own.
pub fn asked(events: &[RunEvent]) -> Vec<Asked> {
    let mut asked = Vec::new();
    for event in events {
        let RunEvent::StepBegun {
            step,
            attempt,
            what: StepRequest::Delegated(sent),
            ..
        } = event
        else {
            continue;
        };
        // The hub chose where nobody is named; who it was, the end says.
        let worked = events.iter().find_map(|event| match event {
            RunEvent::StepEnded {
                step: ended,
                attempt: of,
                result: StepResult::DelegationEnded(delegated),
                ..
            } if ended == step && of == attempt => Some(delegated.agent.clone()),
            _ => None,
        });
        let agent = Some(sent.handoff.agent.clone()).filter(|agent| !agent.is_empty());
        if let Some(agent) = agent.or(worked).filter(|agent| !agent.is_empty()) {
            asked.push(Asked {
                run: Agent::run_of(&agent, &sent.task_id, &sent.message_id),
                agent,
            });
        }
    }
    asked
}

#[cfg(test)]
#[path = "recorded_tests.rs"]
mod tests;
