//! Models: the port, its adapters, and what goes through it. See [`LanguageModel`].

pub use agenthub_models::*;

pub use crate::tool_loop::ToolLoopSettings;

pub mod providers {
    //! Agents on the models of one provider, in one call: [`bedrock_agent`] and [`openai_agent`].

    pub use crate::providers::{Bedrock, OpenAi, ProviderAgent, bedrock_agent, openai_agent};
}
