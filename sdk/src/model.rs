//! Models: the port, its adapters, and what goes through it. See [`LanguageModel`].

pub use agenthub_models::*;

pub use crate::tool_loop::ToolLoopSettings;

pub mod providers {
    //! Hosted and local providers, with the feature `genai`; and agents on the models of one of them, in one call: [`bedrock_agent`] and
    //! [`openai_agent`].

    #[cfg(feature = "genai")]
    pub use agenthub_models::providers::*;

    pub use crate::providers::{Bedrock, OpenAi, ProviderAgent, bedrock_agent, openai_agent};
}
