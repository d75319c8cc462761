//! Content types as they are written into claim checks.

use std::{fmt, str::FromStr, sync::Arc};

/// Longest content type, in bytes.
const LONGEST: usize = 127;

/// A media type, for example `application/json` or `text/plain;charset=utf-8`: at most 127 characters, written without spaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContentType(Arc<str>);

impl ContentType {
    /// The type as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Text that is no content type.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "\"{}\" is no content type: write it as application/json or text/plain;charset=utf-8, in at most 127 characters",
    .0.escape_debug()
)]
pub struct NoContentType(String);

impl FromStr for ContentType {
    type Err = NoContentType;

    /// Reads a type as HTTP headers have it. Spaces around `;` are left out, as they may not stand in a URI.
    fn from_str(text: &str) -> Result<Self, NoContentType> {
        let compact: String = text.chars().filter(|c| *c != ' ').collect();
        let may_be_in_uri = |c: char| c.is_ascii_alphanumeric() || "!$&*+-.;=_~/'".contains(c);
        let essence = compact.split(';').next().unwrap_or_default();
        let is_type = essence
            .split_once('/')
            .is_some_and(|(kind, sub)| !kind.is_empty() && !sub.is_empty() && !sub.contains('/'));
        if is_type && compact.len() <= LONGEST && compact.chars().all(may_be_in_uri) {
            Ok(Self(compact.into()))
        } else {
            let shown = text.chars().take(LONGEST).collect();
            Err(NoContentType(shown))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_headers_are_read_and_others_refused() {
        let check = |text: &str, expected: Option<&str>| {
            let read = text.parse::<ContentType>().ok();
            assert_eq!(read.as_ref().map(ContentType::as_str), expected, "{text}");
        };
        check("application/json", Some("application/json"));
        check(
            "text/plain; charset=utf-8",
            Some("text/plain;charset=utf-8"),
        );
        check("image/svg+xml", Some("image/svg+xml"));
        for text in [
            "",
            "json",
            "/json",
            "text/",
            "a/b/c",
            "text/plain#x",
            "text/ünder",
        ] {
            check(text, None);
        }
        check(&format!("text/{}", "x".repeat(123)), None);
    }
}
