//! The text in an answer of JSON that is still being written.

use agenthub_runs::{
    model::growing::{GrowingJson, member, text},
    pointer,
};

/// Follows one text of an answer.
#[derive(Debug)]
pub(super) struct Growing {
    /// Names of the members on the way to the text.
    path: Vec<String>,
    answer: GrowingJson,
    /// Length of the text that was given out, in bytes.
    given: usize,
}

impl Growing {
    /// Follows the text at this JSON Pointer through objects.
    pub(super) fn new(pointer: &str) -> Self {
        Self {
            path: pointer::names(pointer),
            answer: GrowingJson::default(),
            given: 0,
        }
    }

    /// Reads on. Returns what the text has grown by, where that can be told.
    pub(super) fn add(&mut self, piece: &str) -> Option<String> {
        let so_far = self.answer.push(piece, |value, _| {
            let mut names = self.path.iter();
            let found = names.try_fold(value, |value, name| member(value, name))?;
            text(found).map(str::to_owned)
        })?;
        let grown = so_far
            .get(self.given..)
            .filter(|grown| !grown.is_empty())?
            .to_owned();
        self.given = so_far.len();
        Some(grown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn grown(answer: &str, size: usize) -> String {
        let mut growing = Growing::new("/draft/text");
        let chars: Vec<char> = answer.chars().collect();
        chars
            .chunks(size)
            .filter_map(|piece| growing.add(&piece.iter().collect::<String>()))
            .collect()
    }

    #[test]
    fn the_text_is_given_out_as_it_grows() {
        let mut growing = Growing::new("/draft/text");
        let steps = [
            ("```json\n{\"note\": [\"{\"], \"dra", None),
            ("ft\": {\"text\": \"Hello", Some("Hello")),
            (" wor\\", Some(" wor")),
            ("nld", Some("\nld")),
            ("\", \"metadata\": {}}} and {more", None),
        ];
        for (piece, expected) in steps {
            assert_eq!(growing.add(piece).as_deref(), expected, "{piece}");
        }
    }

    #[test]
    fn prose_and_other_forms_give_nothing() {
        for answer in ["I look at it first.", "{\"draft\": 3}", "{{{{"] {
            assert_eq!(grown(answer, 1), "", "{answer}");
        }
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_pieces_are_the_text(text in "\\PC{0,40}", size in 1usize..9) {
            let answer = json!({"draft": {"text": text}}).to_string();
            prop_assert_eq!(grown(&answer, size), text);
        }

        #[test]
        fn any_answer_is_survived(answer in "[\\[\\]{}\",:\\\\a-c]{0,60}", size in 1usize..9) {
            grown(&answer, size);
        }
    }
}
