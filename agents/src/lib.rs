//! Small agents, one screen each, on the SDK alone.

pub mod echo;
pub mod qa;
