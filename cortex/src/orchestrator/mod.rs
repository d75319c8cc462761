//! App runs: an objective, a plan that evolves, handoffs to specialists, quality that is checked, and a bundle.
//!
//! A brief that comes as a message over the hub becomes a run (`conduct.rs`) whose strategy is `strategy.rs`. The model is told what `prompt.rs`
//! says and proposes one of three things (`proposal.rs`); `rules.rs` and `agenthub_runs::plan` say whether that is allowed. `handoff.rs` is what a
//! specialist gets, `verdicts.rs` whether the constraints are met, `rounds.rs` which round is the result, `bundle.rs` what comes of it all, `note.rs` what those who watch see, `kept.rs` what journals hold. `world.rs` is where
//! all of it acts, and looks: at the specialists that are here (`specialists.rs`), and at what earlier runs led to (`past.rs`).
//!
//! All but `conduct.rs`, `world.rs` and `past.rs` is pure.

mod bundle;
mod conduct;
mod criteria;
mod display;
mod echoed;
mod handed_on;
pub mod handoff;
pub(crate) mod kept;
mod left_aside;
mod note;
mod past;
mod prompt;
mod proposal;
mod rounds;
mod rules;
mod specialists;
mod strategy;
mod verdicts;
mod world;

pub(crate) use conduct::{Orchestrations, asked, beginning, of_fork};
pub(crate) use kept::{Input, Review};
pub use kept::{Reached, WorkState};
pub(crate) use left_aside::notes_in;
pub(crate) use past::Past;
pub use past::{RESULTS, results_of};
pub(crate) use rules::{GENERATION, QA, misfit};
pub(crate) use specialists::{capabilities, inputs};
pub use strategy::{Orchestrator, reached};
pub(crate) use verdicts::{Standing, Verdicts};
pub(crate) use world::RunWorld;
