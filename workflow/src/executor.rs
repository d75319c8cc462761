//! Execution of workflows: the agent that makes a durable run of each request, and the world in which a run acts.
//!
//! The next step of a run is decided in `strategy/`; here it is carried out. A request is checked before anything starts (`request.rs`),
//! the run's steps go to the agents of the hub and to people (`world.rs`), and who watches is told how they stand (`monitor.rs`).

mod agent;
mod monitor;
mod request;
mod world;

pub use agent::{NAME, RUN, agent};
pub use request::RunRequest;
