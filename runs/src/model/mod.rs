//! Requests to language models, and their answers.
//!
//! Text of other people and agents enters a [`Request`] as [`Part::Data`]: quoted, never an instruction ([`quote`]).

pub mod growing;
pub mod quote;
mod request;
mod tokens;

pub use request::{
    Completion, EmptyRequest, Message, Output, Part, PresentedAgent, Request, Role, ToolCall,
    ToolSpec, Undone, Usage,
};
pub use tokens::estimate_tokens;
