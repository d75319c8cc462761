//! Names of namespaces.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::DEFAULT_NAMESPACE;

/// Maximum length of a name, in bytes.
const LENGTH: usize = 48;

/// The name of a namespace: a part of a hub with a directory, tasks, topics, mailboxes and runs of its own. Small letters, digits, `-` and `_`, so that it may be the
/// name of a folder on every system.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Namespace(String);

/// Error of a text that names no namespace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no name of a namespace: 1 to {LENGTH} of the small letters a-z, digits, - and _, the first a letter or digit, such as team-a"
)]
pub struct InvalidNamespace(String);

impl Namespace {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for the one that every hub has.
    pub fn is_default(&self) -> bool {
        self.0 == DEFAULT_NAMESPACE
    }
}

impl Default for Namespace {
    fn default() -> Self {
        Self(DEFAULT_NAMESPACE.to_owned())
    }
}

impl std::str::FromStr for Namespace {
    type Err = InvalidNamespace;

    fn from_str(text: &str) -> Result<Self, InvalidNamespace> {
        let is_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_good = text.len() <= LENGTH
            && text.starts_with(is_alphanumeric)
            && text
                .chars()
                .all(|c| is_alphanumeric(c) || c == '-' || c == '_');
        match is_good {
            true => Ok(Self(text.to_owned())),
            false => {
                let shown = text.chars().take(64).flat_map(char::escape_default);
                Err(InvalidNamespace(shown.collect()))
            }
        }
    }
}

kept_as_text!(Namespace, InvalidNamespace);

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_name_of_a_folder_everywhere() {
        for good in ["default", "team-a", "a_1", "0"] {
            assert!(good.parse::<Namespace>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "-a",
            "_a",
            ".",
            "..",
            "a/b",
            "a.b",
            "Team",
            "é",
            "a b",
            "a\n",
            &"x".repeat(49),
        ] {
            let error = bad.parse::<Namespace>().expect_err(bad).to_string();
            assert!(error.contains("such as team-a"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
