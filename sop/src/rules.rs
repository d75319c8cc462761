//! Finds what a procedure requires.

use crate::Rule;

/// The sentences of a body that hold a word of RFC 2119 in capitals. `first_line` is the line of the file that the body begins on.
pub fn rules(_body: &str, _first_line: u32) -> Vec<Rule> {
    Vec::new()
}
