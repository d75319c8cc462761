//! Cortex: it talks with users, and hands what they ask to the agents of the hub.
//!
//! Cortex is an agent like any other, made with the SDK. What a user says becomes a chat turn (`chat/`); an objective with constraints becomes a run
//! that plans, hands off and checks (`orchestrator/`). Both are runs: asked for by a brief (`brief.rs`) in a message (`asked.rs`), shown as
//! frames (`frames.rs`, and those of chat turns in `frame.rs`), begun in `starting.rs`, and known while they live in this process (`live/`).
//! `shared.rs` holds what outlives a run. Who starts, lists and watches runs over gRPC and HTTP is the crate `agenthub-api`, which uses a [`Handle`].
//!
//! `brief.rs`, `asked.rs`, `frames.rs` and `frame.rs` are pure.

mod asked;
pub mod brief;
mod chat;
mod frame;
mod frames;
mod handle;
mod live;
mod orchestrator;
mod origin;
mod principal;
mod roster;
mod settings;
mod shared;
mod starting;

use std::{sync::Arc, time::Duration};

use agenthub_sdk::{
    Agent, Card, Client, Error, RunningAgent, Skill,
    runs::{
        Journal,
        journal::{Filter, State},
    },
};
use tokio::time::{sleep, timeout};
use tokio_util::sync::DropGuard;

pub use asked::Asked;
pub use chat::{projection::phase_of, turn::ChatTurn};
pub use frame::answered;
pub use frames::Frames;
pub use handle::Handle;
pub use live::{Begun, Coming, LiveRuns, StartError, Watched};
pub use orchestrator::{Orchestrator, RESULTS, Reached, WorkState, handoff, reached, results_of};
pub use origin::{CHAT_REQUEST, CHAT_RESPONSE, CORTEX};
pub use principal::starter;
pub use settings::{Others, Settings};
pub use starting::Started;

use crate::{
    asked::ORCHESTRATE,
    chat::{
        conduct::Chats,
        proxied::{PROXIED_CHAT, ProxiedChats},
    },
    orchestrator::Orchestrations,
    principal::thread_of,
    shared::Shared,
};

/// Deadline for the journal's list of runs that were left behind.
const LISTING: Duration = Duration::from_secs(5);

/// Time that runs which are over are kept in memory.
const KEEP: Duration = Duration::from_secs(3600);

/// Interval at which they are forgotten.
const FORGET: Duration = Duration::from_secs(60);

/// The messages that may be in hand at one time.
const CONCURRENCY: u32 = 1024;

/// The orchestrator.
#[derive(Debug)]
pub struct Cortex;

impl Cortex {
    /// Connects to the hub and answers from there on. When the hub goes away, Cortex comes back to it by itself.
    ///
    /// # Errors
    ///
    /// The hub cannot be reached or does not take Cortex.
    pub async fn start(settings: Settings) -> Result<Running, Error> {
        let hub = settings.hub.clone();
        let model = settings.model.name().to_owned();
        let instance_id = settings.instance_id.clone();
        let spans = settings.spans.clone();
        let drain = settings.drain;
        let (keep_runs, keep_outcomes) = (settings.keep_runs, settings.keep_outcomes);
        let shared = Arc::new(Shared::new(settings));
        let chats = Arc::new(Chats(Arc::clone(&shared)));
        let mut agent = Agent::worker(card())
            .watch_agents(true)
            .drain_timeout(drain)
            .keep_runs(keep_runs)
            .keep_outcomes(keep_outcomes)
            .concurrency(CONCURRENCY)
            .conduct(CHAT_REQUEST, chats.clone())
            .conduct(ORCHESTRATE, Arc::new(Orchestrations(Arc::clone(&shared))))
            .conduct(PROXIED_CHAT, Arc::new(ProxiedChats(Arc::clone(&shared))))
            .conduct_any(chats)
            .journal(Arc::clone(shared.journal()));
        if let Some(instance_id) = instance_id {
            agent = agent.instance_id(instance_id);
        }
        if let Some(spans) = spans {
            agent = agent.spans(spans);
        }
        left_behind(&shared).await;
        let agent = agent.start(&*hub).await?;
        tracing::info!(model, hub, "Cortex is connected");
        shared.keep(shared.roster.clone().run(agent.client().clone()));
        if !shared.journal().is_durable() {
            shared.keep(forgetting(Arc::clone(shared.journal())));
        }
        Ok(Running {
            agent,
            _broken_off: shared.broken_off(),
            shared,
        })
    }
}

/// Cortex at work. [`stop`](Self::stop) it; dropping it breaks off.
#[derive(Debug)]
pub struct Running {
    agent: RunningAgent,
    shared: Arc<Shared>,
    _broken_off: DropGuard,
}

impl Running {
    /// Cortex's own connection to the hub, with its view of the agents.
    pub fn client(&self) -> &Client {
        self.agent.client()
    }

    /// A handle for the rest of the process.
    pub fn handle(&self) -> Handle {
        Handle {
            shared: Arc::clone(&self.shared),
            client: self.agent.client().clone(),
            starter: self.agent.run_starter(),
        }
    }

    /// Takes no further requests and lets those in hand go, once their models have answered or the time to drain is over: with a journal to
    /// be finished by a Cortex that comes back; without one they have that time to end. Says goodbye to the hub, and returns when everything has ended.
    pub async fn stop(self) {
        self.agent.stop().await;
        self.shared.close().await;
    }
}

/// The card that the hub knows Cortex by.
fn card() -> Card {
    Card::new(
        CORTEX,
        "Talks with users, and hands what they ask to the agents that can do it",
    )
    .version(env!("CARGO_PKG_VERSION"))
    .streaming()
    .skill(
        Skill::new(
            CHAT_REQUEST,
            "Chat",
            "Answers a user, with the help of the agents that are here",
        )
        .tags(["chat", "orchestration"])
        .examples(["What can you do?", "Find somebody who can translate this"]),
    )
}

/// Gives their threads to the runs that another process left.
async fn left_behind(shared: &Shared) {
    let filter = Filter {
        owner: Some(CORTEX.to_owned()),
        strategies: vec![Orchestrator::NAME.to_owned()],
        states: vec![State::Working],
        limit: 1_000,
        ..Filter::default()
    };
    match timeout(LISTING, shared.journal().list(&filter)).await {
        Ok(Ok(listed)) => {
            for left in listed.iter().filter(|left| !left.thread.is_empty()) {
                let thread = thread_of(starter(left), &left.thread);
                shared.live().leave_thread(&thread, &left.run);
            }
        }
        Ok(Err(error)) => tracing::warn!(%error, "the runs that were left cannot be listed"),
        Err(_) => tracing::warn!("the runs that were left cannot be listed in time"),
    }
}

/// Forgets the runs of a journal in memory an hour after their end.
async fn forgetting(journal: Arc<dyn Journal>) {
    loop {
        sleep(FORGET).await;
        if let Err(error) = journal.forget(CORTEX, KEEP).await {
            tracing::warn!(%error, "runs that are over were not forgotten");
        }
    }
}
