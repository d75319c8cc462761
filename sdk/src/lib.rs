//! sdk

pub mod model;
pub mod relevance;
