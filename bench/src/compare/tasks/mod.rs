//! Tasks: work that is handed over, and whose outcome is awaited, as programs do it with the SDK on both sides.
//!
//! `rig.rs` measures one load, `closed_loop.rs` keeps so many tasks in flight, `agents.rs` is who asks and who answers, and `command.rs` prints
//! what one load comes to.

mod agents;
mod closed_loop;
mod command;
mod rig;

pub(crate) use self::command::{Settings, run};

/// The text of a request, and that of its answer, in bytes.
const TEXT_BYTES: usize = 100;
