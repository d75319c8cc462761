//! Words and signs of an expression.

use std::ops::Range;

/// A word, a sign, or a text with its quotation marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) text: &'t str,
    /// Its first byte in the expression.
    pub(super) start: usize,
}

impl Token<'_> {
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

/// The tokens of an expression, without white space.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = match first {
            '"' | '\'' => quoted_end(rest, first),
            c if is_part(c) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            '<' | '>' | '=' | '!' if rest[1..].starts_with('=') => 2,
            c => c.len_utf8(),
        };
        if !first.is_whitespace() {
            let text = &rest[..end];
            tokens.push(Token { text, start });
        }
        start += end;
    }
    tokens
}

/// The end of a text in quotation marks, in bytes.
fn quoted_end(text: &str, mark: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == mark => return at + 1,
            _ => {}
        }
    }
    text.len()
}
