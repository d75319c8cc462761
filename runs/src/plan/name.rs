//! Names of steps.

use std::{borrow::Borrow, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::faults::excerpt;

/// Maximum bytes of a name.
const MAX_BYTES: usize = 64;

/// First parts of references that are not step names.
const RESERVED: [&str; 3] = ["objective", "input", "thread"];

/// Name of a step, the same in the plan, in references, and in the run's journal: `[a-z][a-z0-9_-]{0,63}`, except
/// `objective`, `input` and `thread`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StepName(String);

impl StepName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Error: a text is not a valid step name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// Invalid characters or length.
    #[error(
        "`{}` is no name for a step: it must be 1 to 64 of a-z, 0-9, `_` and `-`, and begin with a letter",
        excerpt(.0)
    )]
    Form(String),
    /// Reserved for references.
    #[error("`{0}` is no name for a step: it has a meaning of its own in references")]
    Reserved(String),
}

impl FromStr for StepName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for StepName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b);
        let begins = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
        if !begins || text.len() > MAX_BYTES || !text.bytes().all(is_inner) {
            return Err(InvalidName::Form(text));
        }
        match RESERVED.contains(&text.as_str()) {
            true => Err(InvalidName::Reserved(text)),
            false => Ok(Self(text)),
        }
    }
}

impl From<StepName> for String {
    fn from(name: StepName) -> Self {
        name.0
    }
}

impl Borrow<str> for StepName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for StepName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
