//! SDK for authors of agents.
//!
//! An [`Agent`] is a card and a handler for each kind of work. It registers with the hub over one connection, which comes back by
//! itself, and gets its messages from a mailbox that outlives it. This is a whole one:
//!
//! ```no_run
//! use agenthub_sdk::prelude::*;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     let shout = Skill::new("shout", "Shout", "Says a text in capital letters")
//!         .tags(["text", "capitals"])
//!         .examples(["shout hello", "say this louder"]);
//!     Agent::worker(Card::new("agent_shout", "Makes texts louder"))
//!         .on(&shout, async |_, text| text.to_uppercase())
//!         .run("http://127.0.0.1:50051")
//!         .await
//! }
//! ```
//!
//! With a model, an agent needs no handler. The model answers, and calls the agent's [`Tool`]s on the way; each call is shown in the
//! task's status. A function is a tool with [`#[tool]`](tool):
//!
//! ```no_run
//! use agenthub_sdk::prelude::*;
//!
//! /// Tells the weather.
//! #[tool]
//! async fn weather(
//!     /// A city.
//!     city: String,
//! ) -> String {
//!     format!("It rains in {city}.")
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     Agent::worker(Card::new("agent_weather", "Knows the weather"))
//!         .model("openai/gpt-5")
//!         .tool(weather())
//!         .run("http://127.0.0.1:50051")
//!         .await
//! }
//! ```
//!
//! A supervisor's tools are the agents that are in the hub, whoever comes and goes:
//!
//! ```no_run
//! # use agenthub_sdk::{Agent, Card, Error};
//! # async fn lead() -> Result<(), Error> {
//! Agent::supervisor(Card::new("lead", "Gets things done with the help of others"))
//!     .model("anthropic/claude-sonnet-4-5")
//!     .instructions("You plan trips.")
//!     .run("http://127.0.0.1:50051")
//!     .await
//! # }
//! ```
//!
//! A handler gets a [`TaskContext`] and gives a [`Reply`] or a [`Failure`]. The task is WORKING while it runs, and COMPLETED or
//! FAILED when it returns; only then is its message acknowledged, so that another process gets it if this one crashes.
//!
//! A [`Client`] is a peer without a card: it publishes, [delegates](Client::delegate) work to agents, and looks around in the
//! [`Directory`]. Every agent has one ([`TaskContext::client`]).
//!
//! Further modules: [`model`] has the models, [`durable`] what strategies of one's own need, [`operator`] what looks after a hub, and
//! `testing` (a feature) what tests of agents need. [`Hooks`] see and refuse what a model does, [`Tool::approval`] asks a person.
//!
//! What travels between process and hub is in `connection`; which handler gets a message is decided in `agent/routes.rs`; what
//! came back for a delegated task is folded in `pending/fold.rs`; which agents a model is offered is decided in `supervisor/peers.rs`.

pub mod prelude;

pub mod durable;
pub mod hub;
#[doc(hidden)]
pub mod internal;
pub mod model;
pub mod operator;
#[cfg(feature = "testing")]
pub mod testing;

mod agent;
mod agent_tools;
mod agents_at_work;
mod approvals;
mod asking;
mod bounds;
mod card;
mod client;
mod conductor;
mod connection;
mod contract;
mod correlation;
mod deadline;
mod delegation;
mod directory;
mod error;
mod forks;
mod form;
mod gathering;
mod handing_over;
mod hooks;
mod outcome;
mod pending;
mod progress;
mod providers;
mod reply;
mod schema;
mod skill;
mod spans;
pub mod supervisor;
mod takes;
mod task_context;
mod tool;
mod tool_loop;
mod unknown_agent;
mod usage;
mod who_is;

pub use agent::{Agent, AgentBuilder, AgentType, RunningAgent};
pub use agenthub_models::IntoModel;
pub use agenthub_proto as proto;
pub use agenthub_proto::{
    a2a::{Artifact, Message, Part, Role},
    trace::TraceContext,
};
pub use agenthub_runs as runs;
pub use agenthub_sdk_macros::tool;
pub use card::Card;
pub use client::Client;
pub use contract::Phase;
pub use delegation::{Delegation, MAX_HOPS};
pub use error::Error;
pub use form::Form;
pub use hooks::{HOOK_DEADLINE, HookContext, Hooks};
pub use outcome::Outcome;
pub use pending::{Pending, Update, Updates};
pub use progress::{ArtifactUpdate, TaskUpdate};
pub use providers::{bedrock_agent, openai_agent};
pub use reply::{Failure, IntoOutput, Reply};
pub use schemars;
pub use skill::{Skill, SkillDeclaration};
pub use task_context::TaskContext;
pub use tool::{Tool, ToolContext};

use agenthub_models::relevance;
use agenthub_runs::redact;
use conductor::{Beginning, Conductor, Identity};
use contract::{Contract, contracts, task_type};
use forks::{ForkChanges, ForkRequest};
use gathering::{ANSWER_ARTIFACT, Gathering};
use hub::{Connection, Directory, DirectoryEntry, Published};
use model::ToolLoopSettings;
use outcome::assemble;
use spans::{SpanSink, Spans};
use supervisor::Peers;
