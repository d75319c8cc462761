//! Names of principals.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::Namespace;

/// Names of the hub, of its parts as agents, and of callers without an identity.
const RESERVED: [&str; 9] = [
    "a2a",
    "agenthub",
    "anonymous",
    "cortex",
    "hub",
    "nobody",
    "outside-agents",
    "page",
    "workflows",
];

/// Beginning of the ids by which the hub asks shared agents for other namespaces.
pub const SHARED_WITH: &str = "shared-with.";

/// Maximum length of a name, in bytes.
const LENGTH: usize = 256;

/// Sign between the namespace and the name of a principal in the eyes of other namespaces. No principal has it in its name.
const FOREIGN: char = '~';

/// The name that a principal of this namespace has in others, for tasks of shared agents.
pub fn foreign(namespace: &Namespace, principal: &str) -> String {
    format!("{namespace}{FOREIGN}{principal}")
}

/// True for the name of a principal of another namespace.
pub fn is_foreign(principal: &str) -> bool {
    principal.contains(FOREIGN)
}

/// Authenticated identity: a person, an agent or another program. Letters, digits and `.`, `-`, `_`, `@`, `/`, `:`, `+`, `=`, `,` and space within,
/// so that it may be the subject of a certificate or a SPIFFE id, and none that a pattern gives a meaning to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct Principal(String);

/// Error of a text that names no principal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPrincipal {
    /// It has another form.
    #[error(
        "`{0}` is no name of a principal: 1 to {LENGTH} of the letters a-z, A-Z, digits and . - _ @ / : + = , such as alice or ci@example.com"
    )]
    Form(String),
    /// It is a name of the hub itself.
    #[error(
        "`{0}` is a name of the hub itself, which no principal has (nor {others}, nor what begins with {SHARED_WITH}): take another one, such as \
         ops-{0}; who is to act as the agent {0} has the right be:{0}",
        others = others(.0)
    )]
    Reserved(String),
}

/// The other reserved names, as a list.
fn others(name: &str) -> String {
    let others = RESERVED.into_iter().filter(|reserved| *reserved != name);
    others.collect::<Vec<_>>().join(", ")
}

impl Principal {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Checks that a text has the form of a name, be it reserved or not.
    ///
    /// # Errors
    ///
    /// [`InvalidPrincipal::Form`]
    pub(crate) fn check_form(text: &str) -> Result<(), InvalidPrincipal> {
        Self::formed(text).map(drop)
    }

    /// True for a name of the hub itself, which only a token has that was issued before it was reserved.
    pub(crate) fn is_reserved(&self) -> bool {
        RESERVED.contains(&&*self.0) || self.0.starts_with(SHARED_WITH)
    }

    /// The name in the record of a token, be it reserved or not.
    pub(crate) fn of_record<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::formed(&text).map_err(D::Error::custom)
    }

    fn formed(text: &str) -> Result<Self, InvalidPrincipal> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".-_@/:+=, ".contains(c);
        let is_good = !text.is_empty()
            && text.len() <= LENGTH
            && text.trim() == text
            && text.chars().all(is_allowed);
        match is_good {
            true => Ok(Self(text.to_owned())),
            false => {
                let shown = text.chars().take(64).flat_map(char::escape_default);
                Err(InvalidPrincipal::Form(shown.collect()))
            }
        }
    }
}

impl std::str::FromStr for Principal {
    type Err = InvalidPrincipal;

    fn from_str(text: &str) -> Result<Self, InvalidPrincipal> {
        let principal = Self::formed(text)?;
        match principal.is_reserved() {
            true => Err(InvalidPrincipal::Reserved(principal.0)),
            false => Ok(principal),
        }
    }
}

/// A principal of whom a policy says something.
impl<'de> Deserialize<'de> for Principal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error| match error {
            InvalidPrincipal::Reserved(name) => D::Error::custom(rule_of_the_hub(&name)),
            error => D::Error::custom(error),
        })
    }
}

/// The fault of a rule for a name of the hub itself, and what to do.
fn rule_of_the_hub(name: &str) -> String {
    format!(
        "`{name}` is a name of the hub itself, for which a rule has no effect: remove it, as the hub's own `{name}` may do everything. \
         If it is for a program of yours that was called so, name it ops-{name} here, give it `allow = [\"be:{name}\"]` if it is the agent {name}, \
         and issue it a token of that name (`agenthub tokens issue ops-{name}`)"
    )
}

impl From<Principal> for String {
    fn from(principal: Principal) -> Self {
        principal.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_no_pattern_and_no_control_character() {
        for good in [
            "alice",
            "ci@example.com",
            "spiffe://hub.example/ns/a/agent/b",
            "CN=a, O=b",
        ] {
            assert!(good.parse::<Principal>().is_ok(), "{good}");
        }
        for bad in [
            "",
            " a",
            "a*",
            "a~b",
            "a\n",
            "{self}",
            "é",
            &"x".repeat(257),
        ] {
            let error = bad.parse::<Principal>().expect_err(bad).to_string();
            assert!(error.contains("such as alice"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    /// Issue 25: nobody is by its name what the hub is.
    #[test]
    fn names_of_the_hub_are_nobody_elses() {
        let lent = format!("{SHARED_WITH}team-b.writer");
        for reserved in RESERVED.into_iter().chain([&*lent]) {
            let error = reserved.parse::<Principal>().expect_err(reserved);
            assert_eq!(error, InvalidPrincipal::Reserved(reserved.to_owned()));
            let said = error.to_string();
            assert!(said.contains(&format!("such as ops-{reserved}")), "{said}");
        }
        for free in ["cortex-2", "ops-a2a", "shared", "pages"] {
            assert!(free.parse::<Principal>().is_ok(), "{free}");
        }
    }
}
