//! Failures after which a hub cannot continue: its process has to end, and to restart from its disk.

/// Reason of a failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The content of the disk is unknown.
    #[error("the hub's log has failed ({0}): see to the disk, then start the hub again")]
    Log(String),
    /// Code panicked while it changed the state.
    #[error(
        "the hub has failed: it panicked while it changed its state; start it again, it goes on from what is in its log"
    )]
    Panic,
}
