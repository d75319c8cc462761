//! Language models behind one port.
//!
//! A caller builds a [`Request`], gives a [`DeltaSink`] to see the answer grow, and awaits a [`Completion`]. What other
//! people and agents said enters a request as [`PromptPart::Data`]: quoted, never an instruction ([`quote`]).
//!
//! Adapters: [`offline`] answers without any network by matching words, [`scripted`] answers what a test told it to, and [`cassette`] what
//! another one answered when it was recorded.
//! With the feature `genai`, [`providers`] reaches the hosted and local providers. [`named`] finds the adapter
//! of a name such as `openai/gpt-5`, [`configured`] the one of [`Settings`].

pub mod cassette;
mod delta;
mod error;
mod named;
pub mod numerals;
pub mod offline;
#[cfg(feature = "genai")]
pub mod providers;
pub mod relevance;
pub mod scripted;
mod settings;
mod stand_in;

use async_trait::async_trait;

pub use agenthub_runs::model::{
    Asker, Completion, EmptyRequest, Output, PresentedAgent, PromptMessage, PromptPart, PromptRole,
    Request, ToolCall, ToolSpec, Undone, Usage, estimate_tokens, quote,
};
pub use cassette::{Recorder, Replayer};
pub use delta::{DeltaSink, Deltas, deltas};
pub use error::ModelError;
pub use named::{IntoModel, configured, named};
pub use offline::{Offline, STAND_IN};
pub use scripted::Scripted;
pub use settings::{Secret, Settings};

/// Something that continues a conversation. Shared as `Arc<dyn LanguageModel>`; calls may run at the same time.
#[async_trait]
pub trait LanguageModel: Send + Sync + std::fmt::Debug {
    /// The provider and the model, as people write it: `openai/gpt-5`, `offline`.
    fn name(&self) -> &str;

    /// True if the model is known to call the tools that a request offers. Who can ask in another way does so where this says no, which is
    /// the default.
    fn calls_tools(&self) -> bool {
        false
    }

    /// Answers `request`, and hands the answer's text to `deltas` piece by piece while it grows.
    ///
    /// The pieces put together are [`Completion::text`]. After an error the pieces handed out so far are void. Nobody has to
    /// read `deltas`: a slow or absent reader never holds the answer up. Dropping the future stops the request.
    ///
    /// # Errors
    ///
    /// Adapters retry what is worth retrying themselves, so an error is final for this call; every call ends within the
    /// adapter's own deadline. A request without any message is [`ModelError::InvalidRequest`].
    async fn complete(&self, request: Request, deltas: DeltaSink)
    -> Result<Completion, ModelError>;
}
