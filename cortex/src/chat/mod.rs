//! Chat turns: what a user says is answered, with the help of the agents that are here.
//!
//! A message over the hub becomes a run (`conduct.rs`), a call of `cortex.Cortex/Chat` one that lasts as long as its caller watches (`call.rs`).
//! The strategy is `turn.rs`: the model is told what was said and who is here (`prompt.rs`), and decides (`decision.rs`): answer, or hand tasks
//! over. Results come back to the model until it only answers. `world.rs` is where that acts: on the model (`ask.rs`), on the agents
//! (`delegate.rs`), and in the conversation, whose requests decide one after the other (`conversation.rs`). Meanwhile frames (`projection.rs`)
//! show what happens, on the user's task (`task_sink.rs`) or on the call. What is said to an agent by name is handed on as it is
//! (`proxied.rs`).
//!
//! `turn.rs`, `prompt.rs`, `decision.rs`, `missing.rs`, `floor.rs`, `projection.rs`, `partial.rs`, `history.rs` and `outcome.rs` are pure.

mod answer;
mod ask;
pub(crate) mod call;
pub(crate) mod conduct;
pub(crate) mod conversation;
pub(crate) mod decision;
mod delegate;
mod floor;
mod frame_feed;
pub(crate) mod history;
mod inbox;
pub(crate) mod lacking;
mod missing;
pub(crate) mod outcome;
mod partial;
pub(crate) mod projection;
pub(crate) mod prompt;
pub(crate) mod proxied;
mod readable;
pub(crate) mod recall;
mod task_sink;
pub(crate) mod turn;
mod world;
