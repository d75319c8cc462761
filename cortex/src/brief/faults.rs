//! Faults of a brief: all that are found, told together.

use std::fmt;

/// A reason why a brief is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{at}` {why}")]
pub struct Fault {
    /// The field, such as `constraints.qualityThreshold`.
    pub at: String,
    /// The fault, as the rest of a sentence.
    pub why: String,
}

impl Fault {
    pub(crate) fn new(at: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            at: at.into(),
            why: why.into(),
        }
    }
}

/// The reasons why a brief is not taken; at least one. Each is a line of its own in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// # Errors
    ///
    /// The faults of all checks that failed, in their order.
    pub(crate) fn of(checks: impl IntoIterator<Item = Result<(), Fault>>) -> Result<(), Self> {
        let faults: Vec<Fault> = checks.into_iter().filter_map(Result::err).collect();
        match faults.is_empty() {
            true => Ok(()),
            false => Err(Self(faults)),
        }
    }

    /// The faults, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.0.iter().enumerate() {
            let before = if number == 0 { "" } else { "\n" };
            write!(f, "{before}{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
