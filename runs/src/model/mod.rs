//! Requests to language models, and their answers.
//!
//! Text of other people and agents enters a [`Request`] as [`PromptPart::Data`]: quoted, never an instruction ([`quote`]).

pub mod growing;
pub mod quote;
mod request;
mod tokens;

pub use request::{
    Asker, Completion, EmptyRequest, Output, PresentedAgent, PromptMessage, PromptPart, PromptRole,
    Request, ToolCall, ToolSpec, Undone, Usage,
};
pub use tokens::estimate_tokens;
