//! Imports that most agents need: `use agenthub_sdk::prelude::*;`.

pub use crate::{
    Agent, Artifact, Card, Client, Delegation, Error, Failure, Message, Part, Reply, Role, Skill,
    TaskContext, Tool, ToolContext,
};
pub use agenthub_sdk_macros::tool;
