//! A line of the audit, and its hash.

use std::{fmt, str::FromStr, time::SystemTime};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// Maximum bytes of each text of an entry.
const TEXT: usize = 512;

/// Way by which a call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// gRPC.
    Grpc,
    /// HTTP.
    Http,
    /// A part of the server in its own process.
    InProcess,
    /// A command beside the server.
    Command,
    /// The server itself.
    Hub,
}

/// A decision to be recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The principal; empty if nobody was known by the credential.
    pub principal: String,
    /// Its namespace.
    pub namespace: String,
    /// The way by which the call came.
    pub source: Source,
    /// The RPC, or method and route.
    pub action: String,
    /// The ids that it is about; never what was said.
    pub resource: String,
    /// True if it was allowed.
    pub allowed: bool,
    /// The rule that decided, in words.
    pub rule: String,
}

/// A line as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Number of the line, from 1.
    pub seq: u64,
    /// Time of the writing, as RFC 3339 has it.
    pub time: String,
    /// The decision; of several, the last one.
    #[serde(flatten)]
    pub entry: Entry,
    /// Number of decisions, where several are one line.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u64,
    /// Hash of the line before; of the first line zeros.
    pub previous: Digest,
}

fn one() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's form
fn is_one(count: &u64) -> bool {
    *count == 1
}

/// SHA-256 of a line without its line break.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// Error of a text that is no hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no hash of a line: one has 64 hexadecimal digits, as `agenthub audit verify` prints them"
)]
pub struct InvalidDigest(String);

impl Digest {
    /// Hash before the first line.
    pub(crate) const ZERO: Self = Self([0; 32]);

    /// Hash of a line.
    pub(crate) fn of(line: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, line).as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let wrong = || {
            InvalidDigest(
                text.chars()
                    .take(80)
                    .flat_map(char::escape_default)
                    .collect(),
            )
        };
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

kept_as_text!(Digest, InvalidDigest);

impl Entry {
    /// An entry of the audit about itself.
    pub(crate) fn of_audit(action: &str, resource: String, rule: &str) -> Self {
        Self {
            principal: "hub".to_owned(),
            namespace: String::new(),
            source: Source::Hub,
            action: action.to_owned(),
            resource,
            allowed: true,
            rule: rule.to_owned(),
        }
    }

    /// The entry with texts of bounded length and without anything that looks like a credential.
    pub(crate) fn clean(self) -> Self {
        Self {
            principal: clean(&self.principal),
            namespace: clean(&self.namespace),
            action: clean(&self.action),
            resource: clean(&self.resource),
            rule: clean(&self.rule),
            ..self
        }
    }
}

impl Line {
    /// The bytes of the line, without a line break.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are JSON")
    }
}

/// Time as RFC 3339 has it.
pub(crate) fn time(at: SystemTime) -> String {
    prost_types::Timestamp::from(at).to_string()
}

/// Shortens a text and hides what has the form of a token of the hub or of a JWT: a caller may put one where an id belongs.
fn clean(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let mut kept = String::with_capacity(text.len().min(TEXT));
    for part in text.split_inclusive(|c| !is_word(c)) {
        let word = part.trim_end_matches(|c| !is_word(c));
        let secret = [("ah_", 40), ("eyJ", 32)]
            .iter()
            .filter_map(|(head, len)| word.find(head).filter(|at| word.len() - at >= *len))
            .min();
        match secret {
            None => kept += part,
            Some(at) => {
                kept += &word[..at];
                kept += "(hidden)";
                kept += &part[word.len()..];
            }
        }
        if kept.len() > TEXT {
            let end = (0..=TEXT).rev().find(|at| kept.is_char_boundary(*at));
            kept.truncate(end.unwrap_or(0));
            kept.push('…');
            break;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_hidden_wherever_a_caller_puts_them() {
        let token = format!("ah_{}", "x".repeat(43));
        let jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln";
        for (text, expected) in [
            (format!("send to \"{token}\""), "send to \"(hidden)\""),
            (format!("run={token} approval=a"), "run=(hidden) approval=a"),
            (format!("x{token}"), "x(hidden)"),
            (format!("/tasks/{jwt}:cancel"), "/tasks/(hidden):cancel"),
            ("ah_short 0190-uuid".to_owned(), "ah_short 0190-uuid"),
            ("é".to_owned(), "é"),
        ] {
            assert_eq!(clean(&text), expected);
        }
        assert!(clean(&"é".repeat(1000)).len() <= TEXT + 3);
    }

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        let digest = Digest::of(b"a line");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for wrong in ["", "ab", &"g".repeat(64), &"é".repeat(32)] {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
    }
}
