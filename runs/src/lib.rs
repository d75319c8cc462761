//! Durable runs: a chat turn, a tool loop, a plan.
//!
//! A run is a journal of events ([`RunEvent`]). Everything else follows from it: [`Facts`] is its fold, a [`Strategy`]
//! returns the steps that it wants, given the facts, [`run::next`] turns them into actions, and the [`Driver`] performs
//! those through the port [`World`]. It journals every step before dispatching it, and every result before acting on
//! it. A process that dies loses nothing: another one recovers the run from its journal.
//!
//! `run.rs`, `facts.rs`, `begin.rs`, `changed.rs`, `approval.rs`, `fork.rs`, `breakers.rs`, `budget.rs`, `tool_loop.rs`, `shortfall.rs`,
//! `workflow_step.rs`, `spans/` and the strategies of other rooms are pure.

mod approval;
mod begin;
pub mod boundaries;
pub mod breakers;
pub mod budget;
mod changed;
pub mod driver;
pub mod effect;
pub mod event;
mod facts;
pub mod fork;
mod id;
pub mod journal;
pub mod model;
pub mod plan;
pub mod pointer;
mod progress;
pub mod redact;
pub mod run;
pub mod schema;
mod seconds;
pub mod share;
mod shortfall;
pub mod spans;
mod strategy;
pub mod tool_loop;
pub mod workflow_step;
mod world;

pub use approval::{Approval, Decision};
pub use budget::{Budget, BudgetExceeded, Spent};
pub use driver::{Command, DriveError, Driver, LeasedRun};
pub use effect::{
    DelegationResult, Effect, EffectFailure, Handoff, Retry, SentHandoff, Step, ToolOutput,
};
pub use event::{RunEvent, RunOutcome, RunStarted, StepRequest, StepResult};
pub use facts::Facts;
pub use id::{RunId, StepId, StepKey};
pub use journal::Journal;
pub use progress::Progress;
pub use seconds::seconds;
pub use shortfall::{AgentEnd, Missing, Shortfall, UNREAD};
pub use strategy::{Memory, Next, Strategy};
pub use world::{StepContext, World};

/// The examples of the guide, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/RUNS.md")]
struct Guide;
