//! Lists of runs, and the view of one.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    iter,
    ops::RangeInclusive,
};

use agenthub_cortex::{ChatTurn, Orchestrator, RESULTS, starter};
use agenthub_sdk::runs::{
    RunEvent, RunId, Strategy,
    journal::{Filter, ListedRun, State},
};
use tokio::time::timeout;

use super::{
    Inner,
    error::Error,
    merging::Merge,
    reading::{ANSWER, Shelf},
    resources::{ListQuery, RunPage, RunState, RunView},
    sketched::state_of,
    viewer::{FoundRun, Viewer},
};

/// The runs of a page, if nothing is said.
const PAGE: u32 = 50;

/// The most runs of a page.
const MAX_PAGE: u32 = 200;

/// The most runs that are looked at for one page.
const MAX_LOOKED_AT: usize = 2_000;

/// Characters of the beginning of an id that stands for it. A whole id has 36.
const PREFIX: RangeInclusive<usize> = 4..=35;

/// The most runs of one beginning among which those of a caller are looked for.
const OF_ONE_BEGINNING: usize = 1_000;

/// Runs of a thread that are listed together, to find the owner of one, and the most such pages.
const OWNER_PAGE: usize = 1_000;
const MAX_OWNER_PAGES: usize = 100;

impl Shelf {
    /// The same with the owner of a run, if the run is there.
    async fn owned(&self, run: &RunId) -> Result<Option<Self>, Error> {
        let first = self.read(run, 0, 1).await?.into_iter().next();
        let Some(RunEvent::Started(started)) = first.map(|entry| entry.event) else {
            return Ok(None);
        };
        let mut filter = Filter {
            strategies: vec![started.strategy],
            thread: Some(started.thread).filter(|thread| !thread.is_empty()),
            limit: OWNER_PAGE,
            ..Filter::default()
        };
        let mut owner = String::new();
        for _ in 0..MAX_OWNER_PAGES {
            let listed = self.list(&filter).await?;
            filter.before = listed.last().map(|listed| listed.cursor.clone());
            let is_last = listed.len() < OWNER_PAGE;
            let found = listed.into_iter().find(|listed| listed.run == *run);
            if let Some(found) = found {
                owner = found.owner;
                break;
            }
            if is_last {
                break;
            }
        }
        Ok(Some(Self {
            owner,
            ..self.clone()
        }))
    }

    /// The runs that a filter takes.
    pub(super) async fn list(&self, filter: &Filter) -> Result<Vec<ListedRun>, Error> {
        match timeout(ANSWER, self.journal.list(filter)).await {
            Ok(Ok(listed)) => Ok(listed),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Error::Unavailable("the journal does not answer".to_owned())),
        }
    }
}

impl Inner {
    /// The journal that has a run, and the id that the run has there. An id may be given by its beginning.
    pub(super) async fn find(&self, id: &str) -> Result<(Shelf, RunId), Error> {
        match self.find_whole(RunId::new(id)).await {
            Err(not_found @ Error::NotFound { .. }) => match self.begins_with(id).await? {
                Some(run) => self.find_whole(run).await,
                None => Err(not_found),
            },
            found => found,
        }
    }

    /// The run of those that `is_for` takes, by the principal on whose behalf they are. A run of others is looked for from journal to journal as
    /// one that is nowhere: it takes as many reads.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if several of them begin so, [`Error::Unavailable`].
    pub(super) async fn find_among(
        &self,
        id: &str,
        is_for: impl Fn(&str) -> bool,
    ) -> Result<Option<FoundRun>, Error> {
        if let Some(found) = self.find_whole_among(RunId::new(id), &is_for).await? {
            return Ok(Some(found));
        }
        match self
            .begins_with_among(id, OF_ONE_BEGINNING, &is_for)
            .await?
        {
            Some(run) => self.find_whole_among(run, &is_for).await,
            None => Ok(None),
        }
    }

    async fn find_whole_among(
        &self,
        run: RunId,
        is_for: impl Fn(&str) -> bool,
    ) -> Result<Option<FoundRun>, Error> {
        for (at, (name, shelf)) in self.shelves().await.into_iter().enumerate() {
            let first = match shelf.read(&run, 0, 1).await {
                Ok(entries) => entries.into_iter().next().map(|entry| entry.event),
                Err(error) if at == 0 => return Err(error),
                Err(error) => {
                    tracing::warn!(name, %error, "a journal cannot be read");
                    continue;
                }
            };
            let starter = match &first {
                None => continue,
                Some(RunEvent::Started(started)) => started.on_behalf_of(),
                Some(_) => "",
            };
            if !is_for(starter) {
                continue;
            }
            let shelf = match at {
                0 => Some(shelf),
                _ => shelf.owned(&run).await?,
            };
            if shelf.is_some() {
                return Ok(Some(FoundRun {
                    run,
                    shelf,
                    starter: Some(starter.to_owned()),
                }));
            }
        }
        Ok(None)
    }

    /// The one run whose id begins so.
    async fn begins_with(&self, id: &str) -> Result<Option<RunId>, Error> {
        self.begins_with_among(id, 2, &|_: &str| true).await
    }

    /// The same of those that `is_for` takes, by the principal on whose behalf they are.
    async fn begins_with_among(
        &self,
        id: &str,
        limit: usize,
        is_for: &impl Fn(&str) -> bool,
    ) -> Result<Option<RunId>, Error> {
        if !PREFIX.contains(&id.len()) {
            return Ok(None);
        }
        let filter = Filter {
            prefix: Some(id.to_owned()),
            limit,
            ..Filter::default()
        };
        let mut found = BTreeSet::new();
        for (name, shelf) in self.shelves().await {
            match shelf.list(&filter).await {
                Ok(listed) => {
                    let own = listed.into_iter().filter(|listed| is_for(starter(listed)));
                    found.extend(own.map(|listed| listed.run));
                }
                Err(error) => tracing::warn!(name, %error, "a journal cannot be listed"),
            }
        }
        match found.len() {
            0 | 1 => Ok(found.pop_first()),
            _ => Err(Error::Invalid {
                at: "id".to_owned(),
                why: format!("is {id:?}, with which several runs begin: give more of it"),
            }),
        }
    }

    pub(super) async fn find_whole(&self, run: RunId) -> Result<(Shelf, RunId), Error> {
        if !self.home.read(&run, 0, 1).await?.is_empty() {
            return Ok((self.home.clone(), run));
        }
        for (name, shelf) in self.shelves().await.into_iter().skip(1) {
            match shelf.owned(&run).await {
                Ok(Some(shelf)) => return Ok((shelf, run)),
                Ok(None) => {}
                Err(error) => tracing::warn!(name, %error, "a journal cannot be read"),
            }
        }
        Err(Error::no_run(run.as_str()))
    }

    /// A run by its whole id, whoever started it.
    pub(super) async fn get(&self, id: &str) -> Result<RunView, Error> {
        let run = RunId::new(id);
        if let Some(view) = self.over.get(&run) {
            return Ok(view);
        }
        match self.find_whole(run.clone()).await {
            Ok((shelf, run)) => self.read_view(&shelf, &run).await,
            Err(error @ Error::NotFound { .. }) => match self.cortex.live().coming(&run) {
                Some(coming) => Ok(RunView::coming(&run, &coming)),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// A run as its journal has it.
    pub(super) async fn read_view(&self, shelf: &Shelf, run: &RunId) -> Result<RunView, Error> {
        let view = shelf.known(run).await?.view();
        self.over.keep(run, &view);
        Ok(view)
    }

    /// A page of the runs that the caller may see.
    pub(super) async fn list(&self, viewer: &Viewer, query: ListQuery) -> Result<RunPage, Error> {
        let limit = match query.limit.unwrap_or(PAGE) {
            limit @ 1..=MAX_PAGE => limit as usize,
            limit => {
                let why = format!("is {limit}; it is a number from 1 to {MAX_PAGE}");
                let at = "limit".to_owned();
                return Err(Error::Invalid { at, why });
            }
        };
        let mut merge = Merge::new(self.shelves().await, &query, limit)?;
        let mut page = RunPage::default();
        if query.page_token.is_none() {
            let coming = self.cortex.live().all_coming();
            page.runs = coming
                .iter()
                .map(|(run, coming)| RunView::coming(run, coming))
                .collect();
            page.runs
                .retain(|view| query.takes(view) && viewer.sees(&view.on_behalf_of));
            page.runs.sort_by_key(|view| Reverse(view.created_at));
        }
        for _ in 0..MAX_LOOKED_AT {
            if page.runs.len() >= limit {
                break;
            }
            let Some((shelf, listed)) = merge.next().await? else {
                if page.runs.is_empty() && query.page_token.is_none() {
                    query.mode_is_known()?;
                }
                return Ok(page);
            };
            let is_shown = |view: &RunView| view.id == listed.run.as_str();
            if listed.strategy == RESULTS || page.runs.iter().any(is_shown) {
                continue;
            }
            // Told by the row alone, so that no event is read of the others.
            if !viewer.sees(starter(&listed))
                || query.state.is_some_and(|state| state != state_of(&listed))
            {
                continue;
            }
            match shelf.sketch_once(&listed, &self.sketches).await {
                Ok(view) if query.takes(&view) => page.runs.push(view),
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(error) => tracing::warn!(run = %listed.run, %error, "a run cannot be shown"),
            }
        }
        if page.runs.is_empty() && query.page_token.is_none() {
            query.mode_is_known()?;
        }
        page.next = merge.has_more().await?.then(|| merge.token());
        Ok(page)
    }

    /// Cortex's own journal, which has no name, and those of others.
    async fn shelves(&self) -> Vec<(String, Shelf)> {
        let others = match self.cortex.others() {
            Some(others) => others.journals().await,
            None => BTreeMap::new(),
        };
        let others = others.into_iter().map(|(name, journal)| {
            let owner = String::new();
            (name, Shelf { journal, owner })
        });
        iter::once((String::new(), self.home.clone()))
            .chain(others)
            .collect()
    }
}

/// The modes of runs, and the strategies of those that agents have of their own accord.
const MODES: [&str; 7] = [
    "app",
    "chat",
    "workflow",
    "tool_loop",
    "orchestrator",
    "chat_turn",
    "proxied_chat",
];

impl ListQuery {
    /// The selection as a journal knows it.
    pub(super) fn filter(&self, limit: usize) -> Filter {
        let states = match self.state {
            None => Vec::new(),
            Some(RunState::Completed) => vec![State::Completed],
            Some(RunState::Failed) => vec![State::Failed],
            Some(RunState::Cancelled) => vec![State::Cancelled],
            Some(_) => vec![State::Working],
        };
        let strategies = match self.mode.as_deref() {
            // What is said to an agent through Cortex is a chat as well.
            None | Some("chat") => Vec::new(),
            Some("app") => vec![Orchestrator::NAME.to_owned()],
            Some(strategy) => vec![strategy.to_owned()],
        };
        Filter {
            owner: None,
            strategies,
            thread: self.thread_id.clone(),
            states,
            asks: self.state == Some(RunState::AwaitingApproval),
            top_only: self.top_only,
            prefix: None,
            before: None,
            limit,
        }
    }

    /// # Errors
    ///
    /// The mode is none that is known. Agents may have runs of other strategies, so this counts only where no run has it.
    fn mode_is_known(&self) -> Result<(), Error> {
        match &self.mode {
            Some(mode) if !MODES.contains(&mode.as_str()) => Err(Error::Invalid {
                at: "mode".to_owned(),
                why: format!(
                    "is {mode}, which no run has; the modes are {}",
                    MODES.join(", ")
                ),
            }),
            _ => Ok(()),
        }
    }

    /// True if a run is one of them.
    fn takes(&self, view: &RunView) -> bool {
        let is_mode = |mode: &String| {
            let is_chat = mode == ChatTurn.name() && view.mode == "chat";
            let is_app = mode == Orchestrator::NAME && view.mode == "app";
            *mode == view.mode || is_chat || is_app
        };
        // Journals of earlier releases do not tell parts from others.
        let is_wanted = !self.top_only || view.parent_task_id.is_empty();
        is_wanted
            && self.state.is_none_or(|state| view.state == state)
            && self
                .thread_id
                .as_ref()
                .is_none_or(|thread| view.thread_id == *thread)
            && self.mode.as_ref().is_none_or(is_mode)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use agenthub_sdk::runs::{
        Budget, Journal, RunStarted,
        journal::{Claim, MemoryJournal},
    };
    use serde_json::Value;

    use super::*;

    #[tokio::test]
    async fn the_owner_of_a_run_is_found_behind_many_that_began_after_it() {
        let journal = MemoryJournal::default();
        let claim = Claim {
            driver: "d",
            lease: Duration::from_secs(60),
        };
        let first = RunEvent::Started(RunStarted {
            strategy: "tool_loop".to_owned(),
            input: Value::Null,
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 0,
        });
        for number in 0..=OWNER_PAGE {
            let run = RunId::new(number.to_string());
            let opened = journal
                .open(&run, "mailer", claim, std::slice::from_ref(&first))
                .await;
            opened.expect("it is new");
        }
        let shelf = Shelf {
            journal: Arc::new(journal),
            owner: String::new(),
        };
        let owned = shelf.owned(&RunId::new("0")).await.expect("it is read");
        assert_eq!(owned.expect("it is there").owner, "mailer");
        let none = shelf.owned(&RunId::new("none")).await.expect("it is read");
        assert!(none.is_none());
    }
}
