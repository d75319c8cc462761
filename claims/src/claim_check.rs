//! The URI of an object: where it is, and what its content has to be.

use std::{fmt, str::FromStr, sync::Arc};

use sha2::{Digest as _, Sha256};

use crate::{ContentType, day::Day};

/// Longest URI that is read, in bytes.
const LONGEST: usize = 2_048;

/// The SHA-256 of content, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of this content.
    pub fn of(content: &[u8]) -> Self {
        Self::finished(Sha256::new_with_prefix(content))
    }

    /// The digest of all that a hasher was given.
    pub(crate) fn finished(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        if text.len() != 64 || !text.bytes().all(is_hex) {
            return Err(());
        }
        let mut digest = [0; 32];
        for (n, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * n..2 * n + 2], 16).map_err(|_| ())?;
        }
        Ok(Self(digest))
    }
}

/// Name of an object within a store: its day, digest and length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    pub(crate) day: Day,
    pub(crate) digest: Digest,
    pub(crate) length: u64,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}.{}", self.day, self.digest, self.length)
    }
}

impl FromStr for Name {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (day, file) = text.split_once('/').ok_or(())?;
        let (digest, length) = file.split_once('.').ok_or(())?;
        let name = Self {
            day: day.parse()?,
            digest: digest.parse()?,
            length: length.parse().map_err(|_| ())?,
        };
        // One object, one name: no `+4`, no `04`.
        if name.to_string() == text {
            Ok(name)
        } else {
            Err(())
        }
    }
}

/// A claim check: the URI of content in a store, for example
/// `s3://bucket/prefix/2026-11-25/9f86d081….4#text/plain`. It says all that is needed to find the content and to check it (EXE-7.2).
///
/// Comparing two compares their URIs. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClaimCheck {
    /// URL of the store, which ends with a slash.
    pub(crate) store: Arc<str>,
    pub(crate) name: Name,
    content_type: ContentType,
}

impl ClaimCheck {
    pub(crate) fn new(store: Arc<str>, name: Name, content_type: ContentType) -> Self {
        Self {
            store,
            name,
            content_type,
        }
    }

    /// Type of the content, as it was given to `put`.
    pub fn content_type(&self) -> &ContentType {
        &self.content_type
    }

    /// SHA-256 of the content.
    pub fn digest(&self) -> Digest {
        self.name.digest
    }

    /// Length of the content in bytes.
    pub fn length(&self) -> u64 {
        self.name.length
    }
}

impl fmt::Display for ClaimCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}#{}", self.store, self.name, self.content_type)
    }
}

/// Text that is no claim check.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "\"{}\" is no claim check: it would be STORE/YYYY-MM-DD/SHA256.LENGTH#CONTENT-TYPE, as the store gave it when the content was put",
    .0.escape_debug()
)]
pub struct NoClaimCheck(String);

impl FromStr for ClaimCheck {
    type Err = NoClaimCheck;

    fn from_str(text: &str) -> Result<Self, NoClaimCheck> {
        parsed(text).ok_or_else(|| NoClaimCheck(text.chars().take(200).collect()))
    }
}

fn parsed(text: &str) -> Option<ClaimCheck> {
    let (object, content_type) = text.split_once('#').filter(|_| text.len() <= LONGEST)?;
    let (before_file, _) = object.rsplit_once('/')?;
    let (store, _) = before_file.rsplit_once('/')?;
    if !store.contains(':') {
        return None;
    }
    let (store, name) = object.split_at(store.len() + 1);
    Some(ClaimCheck {
        store: store.into(),
        name: name.parse().ok()?,
        content_type: content_type.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    /// spec: EXE-7.2
    #[test]
    fn a_claim_check_is_a_uri_with_the_digest_of_the_content() {
        for store in ["s3://bucket/a/b/", "file:///tmp/claims/", "memory:///"] {
            let uri = format!("{store}2026-11-25/{TEST}.4#text/plain;charset=utf-8");
            let claim: ClaimCheck = uri.parse().expect("a claim check");
            assert_eq!(claim.to_string(), uri);
            assert_eq!(&*claim.store, store);
            assert_eq!(claim.digest(), Digest::of(b"test"));
            assert_eq!(claim.length(), 4);
            assert_eq!(claim.content_type().as_str(), "text/plain;charset=utf-8");
        }
    }

    #[test]
    fn other_text_is_no_claim_check() {
        let upper = TEST.to_uppercase();
        for text in [
            String::new(),
            "s3://bucket/file.txt".into(),
            format!("s3://bucket/2026-11-25/{TEST}.4"),
            format!("s3://bucket/2026-11-25/{TEST}#text/plain"),
            format!("s3://bucket/2026-11-25/{TEST}.04#text/plain"),
            format!("s3://bucket/2026-11-25/{TEST}.-4#text/plain"),
            format!("s3://bucket/2026-11-25/{upper}.4#text/plain"),
            format!("s3://bucket/2026-11-25/é{}.4#text/plain", &TEST[2..]),
            format!("s3://bucket/today/{TEST}.4#text/plain"),
            format!("s3://bucket/2026-11-25/{TEST}.4#text"),
            format!("2026-11-25/{TEST}.4#text/plain"),
            format!("s3://{}/2026-11-25/{TEST}.4#text/plain", "b".repeat(2_048)),
        ] {
            assert!(text.parse::<ClaimCheck>().is_err(), "{text}");
        }
    }
}
