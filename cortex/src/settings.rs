//! Settings of Cortex.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use agenthub_access::Identities;
use agenthub_sdk::{durable::SpanSink, model::LanguageModel, runs::Journal};
use async_trait::async_trait;

/// Settings of Cortex.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The hub's address, such as `http://127.0.0.1:50051`.
    pub hub: String,
    /// The model that decides.
    pub model: Arc<dyn LanguageModel>,
    /// The time for one call of the model: 3 min.
    pub model_timeout: Duration,
    /// The time for a task that is handed to an agent: 2 min.
    pub delegation_timeout: Duration,
    /// The time for a handoff of a run whose plan gives none: 5 min.
    pub handoff_timeout: Duration,
    /// Time after its start for which Cortex waits for known agents to come back as well, before a run plans without them, or a turn
    /// decides without those that it names or that completed a task of it: 10 s.
    pub returning: Duration,
    /// Retention of runs in the journal once they are over: 30 days.
    pub keep_runs: Duration,
    /// Retention of their beginning and their end: 400 days. What a series has learned, what threads keep and the keys by which a
    /// request is known again are made of them.
    pub keep_outcomes: Duration,
    /// The time that models have to answer when Cortex stops: 10 s.
    pub drain: Duration,
    /// The decisions of one request: 8. In the last one no task is handed over.
    pub max_rounds: u32,
    /// Length of a conversation's history: 8,000 tokens.
    pub history_tokens: usize,
    /// The conversations that are remembered at one time: 1,000. The one that was idle longest goes first.
    pub max_conversations: usize,
    /// The journal of turns that come over the hub, so that a Cortex that comes back finishes them; nowhere if not
    /// given. It is this Cortex's alone.
    pub journal: Option<Arc<dyn Journal>>,
    /// The name of this Cortex among all that ever use the journal; made up if not given. Under the same name it takes its turns
    /// over at once.
    pub instance_id: Option<String>,
    /// Collector of the spans of runs; they are dropped if not given.
    pub spans: Option<Arc<dyn SpanSink>>,
    /// Identities, and Cortex's namespace, by which agents are left out to which a principal may not send; the hub alone decides if not given.
    pub identities: Option<(Identities, String)>,
    /// The journals of other agents, whose runs are shown beside Cortex's own; none if not given.
    pub others: Option<Arc<dyn Others>>,
}

/// The journals of other agents.
#[async_trait]
pub trait Others: fmt::Debug + Send + Sync {
    /// Journals that are there, each by a name of `[a-z0-9_-]` that it keeps. Only their lists and events are read.
    async fn journals(&self) -> BTreeMap<String, Arc<dyn Journal>>;
}

/// Journals that are always there.
#[async_trait]
impl Others for BTreeMap<String, Arc<dyn Journal>> {
    async fn journals(&self) -> BTreeMap<String, Arc<dyn Journal>> {
        self.clone()
    }
}

impl Settings {
    /// The defaults.
    pub fn new(hub: impl Into<String>, model: Arc<dyn LanguageModel>) -> Self {
        Self {
            hub: hub.into(),
            model,
            model_timeout: Duration::from_secs(180),
            delegation_timeout: Duration::from_secs(120),
            handoff_timeout: Duration::from_secs(300),
            returning: Duration::from_secs(10),
            keep_runs: Duration::from_secs(30 * 24 * 3600),
            keep_outcomes: Duration::from_secs(400 * 24 * 3600),
            drain: Duration::from_secs(10),
            max_rounds: 8,
            history_tokens: 8_000,
            max_conversations: 1_000,
            journal: None,
            instance_id: None,
            spans: None,
            identities: None,
            others: None,
        }
    }
}
