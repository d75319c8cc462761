//! Progress that a handler shows while it works.

use agenthub_proto::{a2a::Artifact, agenthub::Durability};
use serde_json::{Map, Value};

/// Progress to show. Text turns into one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskUpdate {
    pub(crate) text: String,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) durability: Durability,
    /// Key under which it is known, and its time.
    pub(crate) known: Option<(String, u64)>,
}

impl TaskUpdate {
    /// Progress in words; the words may be empty.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A field of the status update's metadata.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// The hub knows it by this key for ten minutes: the same update under the same key, also of another process, is one. What it tells
    /// of happened at `at_ms`, in milliseconds since 1970.
    #[must_use]
    pub fn once(mut self, key: impl Into<String>, at_ms: u64) -> Self {
        self.known = Some((key.into(), at_ms));
        self
    }

    /// Lets it be lost: only connected watchers see it, and the task does not keep it.
    #[must_use]
    pub fn in_memory(mut self) -> Self {
        self.durability = Durability::Memory;
        self
    }
}

impl From<&str> for TaskUpdate {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for TaskUpdate {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// An artifact, or a chunk of one, to add to a task. An [`Artifact`] turns into one.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtifactUpdate {
    pub(crate) artifact: Artifact,
    pub(crate) append: bool,
    pub(crate) last_chunk: bool,
    pub(crate) durability: Durability,
}

impl ArtifactUpdate {
    /// A whole artifact, or the first chunk of one; an id is made up if it has none.
    pub fn new(artifact: Artifact) -> Self {
        Self {
            artifact,
            append: false,
            last_chunk: false,
            durability: Durability::Unspecified,
        }
    }

    /// Continues the artifact of the same id.
    #[must_use]
    pub fn append(mut self) -> Self {
        self.append = true;
        self
    }

    /// Ends the artifact of this id.
    #[must_use]
    pub fn last_chunk(mut self) -> Self {
        self.last_chunk = true;
        self
    }

    /// Lets it be lost: only connected watchers see it, and the task does not keep it.
    #[must_use]
    pub fn in_memory(mut self) -> Self {
        self.durability = Durability::Memory;
        self
    }
}

impl From<Artifact> for ArtifactUpdate {
    fn from(artifact: Artifact) -> Self {
        Self::new(artifact)
    }
}
