//! The form of one event in a journal: JSON with the version of the format.

use serde::{Deserialize, Serialize};

use crate::event::RunEvent;

/// The version that is written. Every version from 1 on is read.
pub const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    #[serde(flatten)]
    event: &'a RunEvent,
}

#[derive(Deserialize)]
struct Version {
    v: u32,
}

/// Why an event cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is damaged.
    #[error("it is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
    /// A later release wrote it.
    #[error("it has format {0}, this program reads up to {FORMAT}: use the release that wrote it")]
    Later(u32),
}

/// The event as bytes.
pub fn encode(event: &RunEvent) -> Vec<u8> {
    serde_json::to_vec(&Written { v: FORMAT, event }).expect("an event has only string keys")
}

/// The event in these bytes.
///
/// # Errors
///
/// [`Unreadable`].
pub fn decode(bytes: &[u8]) -> Result<RunEvent, Unreadable> {
    let Version { v } = serde_json::from_slice(bytes)?;
    if v > FORMAT {
        return Err(Unreadable::Later(v));
    }
    Ok(serde_json::from_slice(bytes)?)
}
