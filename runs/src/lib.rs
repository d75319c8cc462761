//! Durable runs.

pub mod model;
