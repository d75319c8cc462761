//! Writes an SOP to begin with.

use crate::Kind;

/// The text of an SOP of this name, with comments that say what goes where.
///
/// # Errors
///
/// The name is none that an agent can have; says why.
pub fn starter(_name: &str, _kind: Kind) -> Result<String, String> {
    Err(String::new())
}
