//! Hosted and local providers, through the crate `genai`.
