//! Cortex: it talks with users, and hands what they ask to the agents of the hub.
//!
//! Cortex is an agent like any other, made with the SDK. What a user says becomes a run (`chat.rs`) whose strategy is `chat_turn.rs`: the
//! model is told what was said and who is here (`prompt.rs`), and decides (`decision.rs`): answer, or hand tasks over. Results come
//! back to the model until it only answers. `world.rs` is where that acts: on the model (`ask.rs`), on the agents (`delegate.rs`), and in the
//! conversation, whose requests decide one after the other (`conversation.rs`). Meanwhile frames (`projection.rs`) show what happens, on
//! the user's task (`task_sink.rs`) or on a call of `cortex.Cortex/Chat` (`grpc.rs`).
//!
//! An objective with constraints becomes a run that plans, hands off and checks (`orchestrator/`); what is said to an agent by name, a run that
//! hands it on (`proxied_chat.rs`). How runs of all kinds are asked for, watched and answered is in `runs/`, served by `grpc.rs` and `http/`.
//!
//! `chat_turn.rs`, `prompt.rs`, `decision.rs`, `floor.rs`, `projection.rs`, `partial.rs`, `history.rs`, `frame.rs` and `outcome.rs` are
//! pure.

mod answer;
mod ask;
mod chat;
mod chat_turn;
mod conversation;
mod decision;
mod delegate;
mod floor;
mod frame;
mod grpc;
mod history;
mod http;
mod inbox;
mod orchestrator;
mod origin;
mod outcome;
mod partial;
mod projection;
mod prompt;
mod proxied_chat;
mod readable;
mod recall;
mod roster;
mod runs;
mod scan;
mod settings;
mod shared;
mod task_sink;
mod view;
mod world;

use std::sync::Arc;

use agenthub_proto::cortex::cortex_server::CortexServer;
use agenthub_sdk::{Agent, Card, Client, Error, RunningAgent, Skill};
use tokio_util::sync::DropGuard;

pub use grpc::Chat;
pub use http::{Hosts, Http};
pub use orchestrator::handoff;
pub use origin::{CHAT_REQUEST, CHAT_RESPONSE, CORTEX};
pub use settings::{Others, Settings};

use crate::{
    chat::Chats,
    orchestrator::Orchestrations,
    proxied_chat::{PROXIED_CHAT, ProxiedChats},
    runs::{ORCHESTRATE, RUNS, Runs},
    shared::Shared,
};

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
        runs::left_behind(&shared).await;
        let agent = agent.start(&*hub).await?;
        // No agent takes messages of its own, so runs are asked for under another id.
        let asker = Client::builder(&*hub)
            .agent_id(RUNS)
            .watch_agents(true)
            .connect()
            .await?;
        tracing::info!(model, hub, "Cortex is connected");
        shared.keep(shared.roster.clone().run(agent.client().clone()));
        if !shared.journal().is_durable() {
            shared.keep(runs::forgetting(Arc::clone(shared.journal())));
        }
        Ok(Running {
            agent,
            runs: Runs::new(Arc::clone(&shared), asker),
            _broken_off: shared.broken_off(),
            shared,
        })
    }
}

/// Cortex at work. [`stop`](Self::stop) it; dropping it breaks off.
#[derive(Debug)]
pub struct Running {
    agent: RunningAgent,
    runs: Runs,
    shared: Arc<Shared>,
    _broken_off: DropGuard,
}

impl Running {
    /// Cortex's own connection to the hub, with its view of the agents.
    pub fn client(&self) -> &Client {
        self.agent.client()
    }

    /// The service `cortex.Cortex` of this Cortex, for any server.
    pub fn service(&self) -> CortexServer<Chat> {
        let chat = Chat::default();
        chat.open(self);
        CortexServer::new(chat)
    }

    /// Takes no further requests and lets those in hand go, once their models have answered or the time to drain is over: with a journal to
    /// be finished by a Cortex that comes back; without one they have that time to end. Says goodbye to the hub, and returns when everything has ended.
    pub async fn stop(self) {
        self.agent.stop().await;
        self.runs.close().await;
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
