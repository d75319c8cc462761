//! What a language model is asked, and what it answers.
//!
//! What other people and agents said enters a [`Request`] as [`Part::Data`]: quoted, never an instruction ([`quote`]).

pub mod quote;
mod request;
mod tokens;

pub use request::{
    Completion, EmptyRequest, Message, Output, Part, Presented, Request, Role, Tool, ToolCall,
    Usage,
};
pub use tokens::estimate_tokens;
