//! Failures after which a hub cannot go on: its process has to end, and to start again from what is on disk.

/// Why a hub has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The content of the disk is not known.
    #[error("the hub's log has failed ({0}): see to the disk, then start the hub again")]
    Log(String),
    /// Code panicked while it changed the state.
    #[error(
        "the hub has failed: it panicked while it changed its state; start it again, it goes on from what is in its log"
    )]
    Panic,
}
