//! Outcomes of earlier runs, read from the journal.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use agenthub_sdk::{
    Client,
    model::PromptMessage,
    runs::{
        Facts, Journal, RunId, RunOutcome, RunStarted, Strategy,
        journal::{self, Filter, ListedRun, State},
    },
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    kept::Reached,
    specialists::Record,
    strategy::{self, Orchestrator},
};
use crate::{
    chat::{conversation::Key, recall::recall},
    origin::CORTEX,
    principal::is_of,
};

/// Strategy of runs that do nothing but keep results of another run: each is over when it has begun.
pub const RESULTS: &str = "results";

/// The runs that are looked back at.
const MAX_RUNS: usize = 200;

/// The runs of a thread whose artifacts are there for the next.
const MAX_THREAD: usize = 20;

/// The latest messages of a thread that are told.
const MAX_SAID: usize = 40;

/// The entries of a journal that are read at one time.
const PAGE: usize = 256;

/// Cache of earlier runs. Each is read once.
#[derive(Debug)]
pub(crate) struct Past {
    journal: Arc<dyn Journal>,
    known: Mutex<HashMap<RunId, Arc<Ended>>>,
}

/// Outcome of a run that is over.
#[derive(Debug, Default)]
struct Ended {
    series: String,
    result: Map<String, Value>,
    learned: Value,
    /// The makers of reviewed work, each with its score.
    scores: Vec<(String, f64)>,
    /// The run whose results these are, and the results.
    results: Option<(String, Map<String, Value>)>,
}

impl Past {
    pub(crate) fn new(journal: Arc<dyn Journal>) -> Self {
        Self {
            journal,
            known: Mutex::default(),
        }
    }

    /// Scores of the work of each agent.
    pub(super) async fn records(&self) -> BTreeMap<String, Record> {
        let mut records: BTreeMap<String, Record> = BTreeMap::new();
        for ended in self
            .ended((None, None), Orchestrator.name(), MAX_RUNS)
            .await
        {
            for (agent, score) in &ended.1.scores {
                let record = records.entry(agent.clone()).or_default();
                record.sum += score;
                record.count += 1;
            }
        }
        records
    }

    /// Artifacts that a principal's earlier runs of a thread made, by name; of one name the latest.
    pub(super) async fn artifacts(
        &self,
        principal: &str,
        thread: &str,
        but: &RunId,
    ) -> Map<String, Value> {
        let mut artifacts = Map::new();
        let of_thread = (Some(principal), Some(thread));
        for (run, ended) in self.ended(of_thread, Orchestrator.name(), MAX_THREAD).await {
            if run != *but {
                for (name, value) in &ended.result {
                    artifacts
                        .entry(name.clone())
                        .or_insert_with(|| value.clone());
                }
            }
        }
        artifacts
    }

    /// Messages of the thread, oldest first.
    pub(super) async fn said(
        &self,
        client: &Client,
        user: &str,
        thread: &str,
    ) -> Vec<PromptMessage> {
        let key = Key {
            user: user.to_owned(),
            context_id: thread.to_owned(),
        };
        let past = recall(client, &key).await;
        let left_out = past.said.len().saturating_sub(MAX_SAID / 2);
        let said = past.said.into_iter().skip(left_out);
        let messages = said.flat_map(|(words, answer)| {
            let heard = (!words.is_empty()).then(|| PromptMessage::user(words));
            let answered = (!answer.is_empty()).then(|| PromptMessage::assistant(answer));
            heard.into_iter().chain(answered)
        });
        messages.collect()
    }

    /// Settings and their results in a principal's runs of a series, oldest first.
    pub(super) async fn performance(&self, principal: &str, series: &str) -> Vec<Value> {
        let mut results: HashMap<String, Map<String, Value>> = HashMap::new();
        for (_, ended) in self.ended((None, None), RESULTS, MAX_RUNS).await {
            if let Some((run, metrics)) = &ended.results {
                let known = results.entry(run.clone()).or_default();
                for (name, value) in metrics {
                    known.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        let mut performance = Vec::new();
        let own = (Some(principal), None);
        for (run, ended) in self.ended(own, Orchestrator.name(), MAX_RUNS).await {
            if ended.series != series || !ended.learned.is_object() {
                continue;
            }
            let mut learned = ended.learned.clone();
            learned["run"] = run.as_str().into();
            for (name, value) in results.remove(run.as_str()).unwrap_or_default() {
                learned["metrics"][name] = value;
            }
            performance.push(learned);
        }
        performance.reverse();
        performance
    }

    /// Progress of a run, of this principal if one is given.
    ///
    /// # Errors
    ///
    /// The reason why that cannot be told, in words for who wants to go on from there.
    pub(super) async fn reached(
        &self,
        principal: Option<&str>,
        run: &str,
    ) -> Result<Reached, String> {
        let facts = self.facts(&RunId::new(run)).await;
        let facts =
            facts.map_err(|error| format!("the run {run} cannot be gone on from: {error}"))?;
        let own = |started: &&RunStarted| {
            principal.is_none_or(|principal| started.on_behalf_of() == principal)
        };
        match facts.started().filter(own) {
            // Every run says that it stops before it says that it has.
            Some(_) if facts.ended().is_some() && facts.stopping().is_none() => Err(format!(
                "the run {run} cannot be gone on from: it is so old that only what came of it is kept"
            )),
            Some(started) if started.strategy == Orchestrator.name() => {
                Ok(strategy::reached(&facts))
            }
            _ => Err(format!("the run {run} has no plan to go on from")),
        }
    }

    /// The runs of a strategy that are over, latest first: those of a principal and of a thread, if these are given.
    async fn ended(
        &self,
        (principal, thread): (Option<&str>, Option<&str>),
        strategy: &str,
        limit: usize,
    ) -> Vec<(RunId, Arc<Ended>)> {
        let filter = Filter {
            owner: Some(CORTEX.to_owned()),
            strategies: vec![strategy.to_owned()],
            thread: thread.map(str::to_owned),
            states: vec![State::Completed],
            limit,
            ..Filter::default()
        };
        let listed = match self.journal.list(&filter).await {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(%error, "earlier runs cannot be read");
                return Vec::new();
            }
        };
        let mut all = Vec::new();
        let is_meant = |listed: &ListedRun| principal.is_none_or(|name| is_of(name, listed));
        for listed in listed.into_iter().filter(is_meant) {
            match self.one(&listed).await {
                Ok(ended) => all.push((listed.run, ended)),
                Err(error) => {
                    tracing::warn!(run = %listed.run, %error, "an earlier run cannot be read")
                }
            }
        }
        all
    }

    async fn one(&self, listed: &ListedRun) -> Result<Arc<Ended>, journal::JournalError> {
        let run = &listed.run;
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ended) = known().get(run) {
            return Ok(Arc::clone(ended));
        }
        let mut facts = self.ends(listed).await?;
        if !says_all(&facts) {
            facts = self.facts(run).await?;
        }
        let ended = Arc::new(Ended::of(&facts));
        let mut known = known();
        if known.len() >= 4 * MAX_RUNS {
            known.clear();
        }
        known.insert(run.clone(), Arc::clone(&ended));
        Ok(ended)
    }

    /// The contents of a run's first and last event, however many are between them.
    async fn ends(&self, listed: &ListedRun) -> Result<Facts, journal::JournalError> {
        let mut facts = Facts::default();
        for after in [0, listed.last.saturating_sub(1)] {
            let entries = self.journal.read(&listed.run, after, 1).await?;
            entries.iter().for_each(|entry| facts.apply(&entry.event));
        }
        Ok(facts)
    }

    async fn facts(&self, run: &RunId) -> Result<Facts, journal::JournalError> {
        let mut facts = Facts::default();
        let mut after = 0;
        loop {
            let entries = self.journal.read(run, after, PAGE).await?;
            let Some(last) = entries.last().map(|e| e.seq) else {
                return Ok(facts);
            };
            for entry in &entries {
                facts.apply(&entry.event);
            }
            after = last;
        }
    }
}

/// True if the ends of a run say what it led to. In runs of earlier releases the scores are between them.
fn says_all(facts: &Facts) -> bool {
    let is_results = facts.started().is_some_and(|s| s.strategy == RESULTS);
    is_results
        || match facts.ended() {
            Some(RunOutcome::Completed { data, .. }) => data.get("scores").is_some(),
            _ => false,
        }
}

impl Ended {
    fn of(facts: &Facts) -> Self {
        let input = facts.input();
        let outcome = match facts.ended() {
            Some(RunOutcome::Completed { data, .. }) => data.clone(),
            _ => Value::Null,
        };
        if facts.started().is_some_and(|s| s.strategy == RESULTS) {
            let of = input["of"].as_str().unwrap_or_default().to_owned();
            let metrics = input["metrics"].as_object().cloned().unwrap_or_default();
            return Self {
                results: Some((of, metrics)),
                ..Self::default()
            };
        }
        Self {
            series: input["brief"]["series"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            result: outcome["bundle"]["result"]
                .as_object()
                .cloned()
                .unwrap_or_default(),
            learned: outcome["learned"].clone(),
            scores: match Vec::deserialize(&outcome["scores"]) {
                Ok(scores) => scores,
                // Earlier releases did not keep them with the outcome.
                Err(_) => strategy::scores(&strategy::reached(facts)),
            },
            results: None,
        }
    }
}

/// Input of a run of strategy [`RESULTS`], which keeps results of a run.
pub fn results_of(run: &str, metrics: &Map<String, Value>) -> Value {
    json!({"of": run, "metrics": metrics})
}
