//! Serialized form of an event in a journal: JSON with the version of the format.

use serde::{Deserialize, Serialize};

use crate::event::RunEvent;

/// Version written. All versions from 1 on are read.
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

/// Error: an event cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Damaged.
    #[error("it is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
    /// Written by a later release.
    #[error("it has format {0}, this program reads up to {FORMAT}: use the release that wrote it")]
    Later(u32),
}

/// Encodes an event.
pub fn encode(event: &RunEvent) -> Vec<u8> {
    serde_json::to_vec(&Written { v: FORMAT, event }).expect("an event has only string keys")
}

/// Decodes an event.
///
/// # Errors
///
/// [`DecodeError`].
pub fn decode(bytes: &[u8]) -> Result<RunEvent, DecodeError> {
    let Version { v } = serde_json::from_slice(bytes)?;
    if v > FORMAT {
        return Err(DecodeError::Later(v));
    }
    Ok(serde_json::from_slice(bytes)?)
}
