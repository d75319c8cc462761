//! Execution of workflows: the agent that makes a durable run of each request, and the world in which a run acts.
//!
//! The next step of a run is decided in `strategy/`; here it is carried out. A request is checked before anything starts (`request.rs`),
//! the run's steps go to the agents of the hub and to people (`world.rs`), and who watches is told how they stand (`monitor.rs`). An agent
//! that fails again and again is left alone for a while (`breakers.rs`), secrets are put in when a request goes out (`secrets.rs`), workflows
//! in steps are runs of their own (`children.rs`), and messages of the hub are waited for (`events.rs`).
//! `agent.rs` carries out any workflow that it is sent, `served.rs` one that it is made of; of the latter's steps its caller sees statuses
//! (`progress.rs`), and `taking.rs` says which parts of a
//! request are its input.

mod agent;
mod children;
mod events;
mod monitor;
mod progress;
mod request;
mod secrets;
mod served;
mod taking;
mod world;

pub(crate) use agent::agent_of_run;
pub use agent::{NAME, agent};
pub use secrets::SecretSource;
pub(crate) use served::Served;
