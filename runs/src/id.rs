//! Ids of runs and steps, and ids derived from them.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Namespace of all derived ids. Journals contain derived ids: it never changes.
const NAMESPACE: Uuid = Uuid::from_u128(0x6f1d_3c52_9a0e_4c1b_8d2f_52c1_7e6a_90b4);

/// Id of a run, unique within a journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// Wraps an existing id.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// Derives the id from names: the same names give the same id in every process.
    pub fn of(names: &[&str]) -> Self {
        Self(derived(names).to_string())
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Id of a step: a name given by its strategy, stable across calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(String);

impl StepId {
    /// The step with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Key of one attempt at a step. Ids derived from it identify duplicates of what the attempt sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StepKey {
    /// The run.
    pub run: RunId,
    /// The step.
    pub step: StepId,
    /// Attempt, from 1. Rises only after a recorded failure or timeout, never on recovery.
    pub attempt: u32,
}

impl StepKey {
    /// Id of the task that this attempt creates.
    pub fn task_id(&self) -> Uuid {
        self.derived("task")
    }

    /// Id of the message that this attempt sends; also the idempotency key of a tool call.
    pub fn message_id(&self) -> Uuid {
        self.derived("message")
    }

    fn derived(&self, what: &str) -> Uuid {
        let attempt = self.attempt.to_string();
        derived(&[self.run.as_str(), self.step.as_str(), &attempt, what])
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}#{}", self.run, self.step, self.attempt)
    }
}

/// A UUIDv5 of the names. Includes their lengths, so that different lists never collide.
fn derived(names: &[&str]) -> Uuid {
    let mut bytes = Vec::new();
    for name in names {
        bytes.extend_from_slice(&(name.len() as u64).to_be_bytes());
        bytes.extend_from_slice(name.as_bytes());
    }
    Uuid::new_v5(&NAMESPACE, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_from_names_and_never_change() {
        let key = |step: &str, attempt| StepKey {
            run: RunId::new("r"),
            step: StepId::new(step),
            attempt,
        };
        assert_eq!(key("a", 1).task_id(), key("a", 1).task_id());
        assert_ne!(key("a", 1).task_id(), key("a", 1).message_id());
        assert_ne!(key("a", 1).task_id(), key("a", 2).task_id());
        assert_ne!(RunId::of(&["ab", "c"]), RunId::of(&["a", "bc"]));
        let id = key("turn-1", 1).task_id().to_string();
        assert_eq!(id, "52c0bbec-5bda-5bcd-aa73-51d2fd6db565");
    }
}
