//! The model port and its adapters from outside: one contract for all, and the providers' wire formats.

#[cfg(feature = "genai")]
mod bedrock;
#[cfg(feature = "genai")]
mod bedrock_tools;
mod cassette;
mod contract;
#[cfg(feature = "genai")]
mod event_stream;
#[cfg(feature = "genai")]
mod failures;
#[cfg(feature = "genai")]
mod openai;
#[cfg(feature = "genai")]
mod openai_tools;
#[cfg(feature = "genai")]
mod others;
#[cfg(feature = "genai")]
mod provider;
#[cfg(feature = "genai")]
mod vertex;
