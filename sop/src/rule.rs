//! Rules of a procedure, as RFC 2119 has them.

use serde::{Deserialize, Serialize};

/// Strength of a requirement (RFC 2119, RFC 8174: in capitals only).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// MUST, REQUIRED, SHALL.
    Must,
    /// MUST NOT, SHALL NOT.
    MustNot,
    /// SHOULD, RECOMMENDED.
    Should,
    /// SHOULD NOT, NOT RECOMMENDED.
    ShouldNot,
    /// MAY, OPTIONAL.
    May,
}

/// One sentence of a procedure that requires something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// `R1`, `R2`, … in the order of the file.
    pub id: String,
    /// Its strength.
    pub level: Level,
    /// The sentence, on one line, without Markdown.
    pub text: String,
    /// The heading that it stands under; empty above the first.
    pub section: String,
    /// The headings and lines that it stands under, which may say when it holds; empty where only the section is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<String>,
    /// The line of the file that it begins on, from 1.
    pub line: u32,
}
