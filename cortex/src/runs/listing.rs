//! Which runs there are, and how one stands.

use agenthub_sdk::runs::{
    RunId, Strategy,
    journal::{Filter, Listed, State},
};
use tokio::time::timeout;

use super::{
    Inner,
    error::Error,
    reading::{ANSWER, Shelf},
    results::RESULTS,
    view::{ListQuery, RunPage, RunState, RunView},
};
use crate::{chat_turn::ChatTurn, orchestrator::Orchestrator, origin::CORTEX};

/// The runs of a page, if nothing is said.
const PAGE: u32 = 50;

/// The most runs of a page.
const MAX_PAGE: u32 = 200;

/// The most runs that are looked at for one page.
const MAX_LOOKED_AT: usize = 2_000;

impl Shelf {
    /// The runs that a filter takes.
    pub(super) async fn list(&self, filter: &Filter) -> Result<Vec<Listed>, Error> {
        match timeout(ANSWER, self.journal.list(filter)).await {
            Ok(Ok(listed)) => Ok(listed),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Error::Unavailable("the journal does not answer".to_owned())),
        }
    }
}

impl Inner {
    /// Where a run is written down.
    pub(super) async fn find(&self, id: &str) -> Result<(Shelf, RunId), Error> {
        let run = RunId::new(id);
        match self.home.read(&run, 0, 1).await?.is_empty() {
            true => Err(Error::no_run(id)),
            false => Ok((self.home.clone(), run)),
        }
    }

    /// A run.
    pub(super) async fn get(&self, id: &str) -> Result<RunView, Error> {
        let run = RunId::new(id);
        if let Some(view) = self.over.get(&run) {
            return Ok(view);
        }
        match self.find(id).await {
            Ok((shelf, run)) => self.view(&shelf, &run).await,
            Err(error @ Error::NotFound { .. }) => self.submitted.view(&run).ok_or(error),
            Err(error) => Err(error),
        }
    }

    async fn view(&self, shelf: &Shelf, run: &RunId) -> Result<RunView, Error> {
        if let Some(view) = self.over.get(run) {
            return Ok(view);
        }
        let view = shelf.known(run).await?.view();
        self.over.keep(run, &view);
        Ok(view)
    }

    /// A page of runs.
    pub(super) async fn list(&self, query: ListQuery) -> Result<RunPage, Error> {
        let limit = match query.limit.unwrap_or(PAGE) {
            limit @ 1..=MAX_PAGE => limit as usize,
            limit => {
                let why = format!("is {limit}; it is a number from 1 to {MAX_PAGE}");
                let at = "limit".to_owned();
                return Err(Error::Invalid { at, why });
            }
        };
        let mut page = RunPage::default();
        if query.page_token.is_none() {
            let mut submitted = self.submitted.views();
            submitted.retain(|view| query.takes(view));
            submitted.sort_by_key(|view| std::cmp::Reverse(view.created_at));
            page.runs = submitted;
        }
        let mut filter = query.filter(limit);
        for _ in 0..MAX_LOOKED_AT.div_ceil(limit) {
            let listed = self.home.list(&filter).await?;
            let is_all = listed.len() < limit;
            for listed in listed {
                if page.runs.len() >= limit {
                    // What was not looked at begins behind the last one that was.
                    page.next = filter.before;
                    return Ok(page);
                }
                filter.before = Some(listed.cursor);
                if listed.strategy == RESULTS
                    || page.runs.iter().any(|v| v.id == listed.run.as_str())
                {
                    continue;
                }
                match self.view(&self.home, &listed.run).await {
                    Ok(view) if query.takes(&view) => page.runs.push(view),
                    Ok(_) | Err(Error::NotFound { .. }) => {}
                    Err(error) => {
                        tracing::warn!(run = %listed.run, %error, "a run cannot be shown");
                    }
                }
            }
            if is_all {
                return Ok(page);
            }
        }
        page.next = filter.before;
        Ok(page)
    }
}

impl ListQuery {
    /// What of it a journal knows.
    fn filter(&self, limit: usize) -> Filter {
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
            owner: Some(CORTEX.to_owned()),
            strategies,
            thread: self.thread_id.clone(),
            states,
            before: self.page_token.clone(),
            limit,
        }
    }

    /// Whether a run is one of them.
    fn takes(&self, view: &RunView) -> bool {
        let is_mode = |mode: &String| {
            let is_chat = mode == ChatTurn.name() && view.mode == "chat";
            let is_app = mode == Orchestrator::NAME && view.mode == "app";
            *mode == view.mode || is_chat || is_app
        };
        self.state.is_none_or(|state| view.state == state)
            && self
                .thread_id
                .as_ref()
                .is_none_or(|thread| view.thread_id == *thread)
            && self.mode.as_ref().is_none_or(is_mode)
    }
}
