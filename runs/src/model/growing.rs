//! JSON in an answer that is still being written.

pub use jiter::JsonValue;
use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, PartialMode};

/// An answer is read again once it has grown by this part of its length, so that a long one is not read for each of its characters.
const STEP: usize = 256;

/// Up to this length, in bytes, an answer is read again at each end of an object, so that nothing of it waits for what comes behind.
const SHORT: usize = 64 * 1024;

/// The first JSON object or list of a growing answer that has what is looked for. Prose and code fences may stand around it.
#[derive(Debug, Default)]
pub struct GrowingJson {
    answer: String,
    /// Beginning of the value, as far as it is known, in bytes.
    begin: usize,
    /// Length of the answer when it was read.
    read: usize,
    is_found: bool,
    is_broken: bool,
}

impl GrowingJson {
    /// Reads on. Gives `look` the value so far, its last text perhaps cut off, and whether the value is over; what that finds is returned. Where
    /// it finds nothing in a value that is over, and where a bracket begins no JSON, the next bracket is tried.
    pub fn push<T>(
        &mut self,
        piece: &str,
        look: impl Fn(&JsonValue<'_>, bool) -> Option<T>,
    ) -> Option<T> {
        self.answer.push_str(piece);
        if self.is_broken || !self.is_due(piece) {
            return None;
        }
        self.read = self.answer.len();
        loop {
            let rest = &self.answer[self.begin..];
            let Some(bracket) = rest.find(['{', '[']) else {
                self.begin = self.answer.len();
                return None;
            };
            self.begin += bracket;
            let bytes = &self.answer.as_bytes()[self.begin..];
            let mut whole = Jiter::new(bytes);
            let is_over = match whole.next_skip() {
                Ok(()) => Some(true),
                Err(error) => is_cut_off(&error).then_some(false),
            };
            let found = is_over.and_then(|is_over| look(&so_far(bytes)?, is_over));
            match (found, is_over) {
                (Some(found), _) => {
                    self.is_found = true;
                    return Some(found);
                }
                (None, Some(false)) => return None,
                // What has been found is not taken back, nor is anything put behind it.
                _ if self.is_found => {
                    self.is_broken = true;
                    return None;
                }
                (None, Some(true)) => self.begin += whole.current_index(),
                (None, None) => self.begin += 1,
            }
        }
    }

    fn is_due(&self, piece: &str) -> bool {
        let grown = self.answer.len() - self.read;
        grown >= self.read / STEP || (self.answer.len() < SHORT && piece.contains('}'))
    }
}

/// The value as far as it is written.
fn so_far(bytes: &[u8]) -> Option<JsonValue<'_>> {
    JsonValue::parse_with_config(bytes, false, PartialMode::TrailingStrings).ok()
}

/// True if nothing is wrong but that the text is at its end.
fn is_cut_off(error: &JiterError) -> bool {
    use JsonErrorType::*;
    matches!(
        &error.error_type,
        JiterErrorType::JsonError(
            EofWhileParsingList
                | EofWhileParsingObject
                | EofWhileParsingString
                | EofWhileParsingValue
        )
    )
}

/// A member of an object; the first of this name.
pub fn member<'v>(value: &'v JsonValue<'_>, name: &str) -> Option<&'v JsonValue<'v>> {
    match value {
        JsonValue::Object(members) => members
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value),
        _ => None,
    }
}

/// A text.
pub fn text<'v>(value: &'v JsonValue<'_>) -> Option<&'v str> {
    match value {
        JsonValue::Str(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text `a` in what comes, each time that it is found.
    fn found(pieces: &[&str]) -> Vec<Option<(String, bool)>> {
        let mut growing = GrowingJson::default();
        let look = |value: &JsonValue<'_>, is_over| {
            let found = text(member(value, "a")?)?.to_owned();
            Some((found, is_over))
        };
        pieces
            .iter()
            .map(|piece| growing.push(piece, look))
            .collect()
    }

    fn some(text: &str, is_over: bool) -> Option<(String, bool)> {
        Some((text.to_owned(), is_over))
    }

    #[test]
    fn a_text_is_read_while_it_is_written() {
        assert_eq!(
            found(&[
                "so: ```{\"b\": 1, \"a",
                "\": \"x\\",
                "n\\ud83d",
                "\\ude00",
                "\"}",
                " and {\"a\": \"y\"}",
            ]),
            [
                None,
                some("x", false),
                some("x\n", false),
                some("x\n😀", false),
                some("x\n😀", true),
                some("x\n😀", true),
            ]
        );
    }

    #[test]
    fn brackets_that_begin_nothing_are_passed_over() {
        let answers = ["[I think] {so} [1 of 2] [1] {\"b\": {}} {\"a\": \"x\"}"];
        assert_eq!(found(&answers), [some("x", true)]);
    }

    #[test]
    fn nothing_is_found_behind_what_turns_out_to_be_no_json() {
        assert_eq!(
            found(&["{\"a\": \"x\"", " oops }", " {\"a\": \"y\"}"]),
            [some("x", false), None, None]
        );
    }

    #[test]
    fn a_long_answer_is_not_read_for_each_character() {
        let reads = std::cell::Cell::new(0);
        let mut growing = GrowingJson::default();
        let look = |_: &JsonValue<'_>, _| {
            reads.set(reads.get() + 1);
            Some(())
        };
        growing.push("{\"a\": \"", look);
        for _ in 0..100_000 {
            growing.push("x", look);
        }
        assert!((256..4_000).contains(&reads.get()), "{}", reads.get());
    }
}
