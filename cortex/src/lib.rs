//! Cortex: it talks with users, and hands what they ask to the agents of the hub.
//!
//! Cortex is an agent like any other, made with the SDK. What a user says becomes a request in a conversation (`conversation.rs`);
//! the model is told what was said and who is here (`prompt.rs`), and decides (`decision.rs`): answer, or hand tasks over, which
//! `delegate.rs` does. Results come back to the model until it only answers. Meanwhile frames (`frame.rs`) show what happens, on
//! the user's task (`task_sink.rs`) or on a call of `cortex.Cortex/Chat` (`grpc.rs`).
//!
//! `prompt.rs`, `decision.rs`, `partial.rs`, `history.rs`, `frame.rs` and `outcome.rs` are pure.

mod answer;
mod chat;
mod conversation;
mod decision;
mod delegate;
mod exchange;
mod frame;
mod grpc;
mod history;
mod inbox;
mod origin;
mod outcome;
mod partial;
mod prompt;
mod recall;
mod roster;
mod scan;
mod settings;
mod shared;
mod task_sink;
mod turn;
mod view;

use std::sync::Arc;

use agenthub_proto::cortex::cortex_server::CortexServer;
use agenthub_sdk::{Agent, Card, Client, Error, RunningAgent, Skill};

pub use grpc::Chat;
pub use origin::{CHAT_REQUEST, CHAT_RESPONSE, CORTEX};
pub use settings::Settings;

use crate::shared::Shared;

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
        let shared = Arc::new(Shared::new(settings));
        let request = chat::handler(Arc::clone(&shared));
        let any = chat::handler(Arc::clone(&shared));
        let agent = Agent::worker(card())
            .watch_agents(true)
            .concurrency(CONCURRENCY)
            .on(CHAT_REQUEST, request)
            .on_any(any)
            .start(&*hub)
            .await?;
        tracing::info!(model, hub, "Cortex is connected");
        shared.keep(shared.roster.clone().run(agent.client().clone()));
        Ok(Running { agent, shared })
    }
}

/// Cortex at work. [`stop`](Self::stop) it; dropping it breaks off.
#[derive(Debug)]
pub struct Running {
    agent: RunningAgent,
    shared: Arc<Shared>,
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

    /// Takes no further requests, lets those in hand end within the drain time of the SDK, says goodbye to the hub, and returns when
    /// everything has ended.
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
