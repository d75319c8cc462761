//! The runs that are live in this process: which one is active in a thread (`threads.rs`), what waits for a person (`approvals.rs`), and who
//! waits for the next event (`watching.rs`).

mod approvals;
mod threads;
mod watching;

pub use approvals::Approvals;
pub use threads::{Active, Threads};
pub(crate) use watching::Noticed;
pub use watching::{Watched, Watching};
