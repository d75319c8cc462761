//! Tasks with the SDK on both sides: one program delegates work and waits for its outcome. Beside it, the nearest
//! equivalent of other systems.
//!
//! `system.rs` lists the systems. `agents.rs`, `nats.rs`, `jetstream.rs` and `restate.rs` have the requester and the
//! workers of each. `closed_loop.rs` keeps a number of requests in flight, `rig.rs` measures one load, `round.rs`
//! measures the loads of a round and makes the ratios of `rows.rs`, `table.rs` shows all loads. `ended.rs` measures
//! ended tasks, and `command.rs` is `agenthub-bench tasks`.

mod agents;
mod closed_loop;
mod command;
mod ended;
mod jetstream;
mod nats;
mod restate;
mod rig;
mod round;
mod rows;
mod system;
mod table;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub(crate) use self::command::{Settings, run};
pub(super) use self::{
    closed_loop::ClosedLoop,
    ended::ended,
    restate::{RestateProgram, RestateService},
    rig::TaskLoad,
    round::{TaskAgainst, TaskRound},
    rows::rows,
    table::TaskTable,
};

/// Bytes of a request's and of an answer's text.
pub(super) const TEXT_BYTES: usize = 100;

/// A function that makes one request and waits for its answer.
pub(super) type Request = Arc<dyn Fn() -> BoxFuture<'static, anyhow::Result<()>> + Send + Sync>;

/// A request that can be repeated.
pub(super) fn request<F, R>(ask: F) -> Request
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    Arc::new(move || Box::pin(ask()))
}

/// The text of a request or an answer, of random letters, which do not compress.
pub(super) fn text(of: char) -> String {
    let mut rng = fastrand::Rng::with_seed(of.into());
    let letters = std::iter::repeat_with(|| rng.alphabetic());
    letters.take(TEXT_BYTES).collect()
}
