//! The text in an answer of JSON that is still being written.

use serde_json::Value;

/// Follows one text of an answer.
#[derive(Debug)]
pub(super) struct Growing {
    pointer: String,
    answer: String,
    /// Length of the text that was given out, in bytes.
    given: usize,
}

impl Growing {
    /// Follows the text at this JSON Pointer through objects.
    pub(super) fn new(pointer: &str) -> Self {
        Self {
            pointer: pointer.to_owned(),
            answer: String::new(),
            given: 0,
        }
    }

    /// Reads on. Returns what the text has grown by, where that can be told.
    pub(super) fn add(&mut self, piece: &str) -> Option<String> {
        self.answer.push_str(piece);
        let begun = self.answer.find('{')?;
        let so_far: Value = serde_json::from_str(&closed(&self.answer[begun..])).ok()?;
        let text = so_far.pointer(&self.pointer)?.as_str()?;
        let grown = text.get(self.given..).filter(|grown| !grown.is_empty())?;
        self.given = text.len();
        Some(grown.to_owned())
    }
}

/// The beginning of a JSON value, with what it needs to be one. What follows the value is left out.
fn closed(begun: &str) -> String {
    let mut open = Vec::new();
    let (mut in_string, mut is_escaped) = (false, false);
    let mut end = begun.len();
    for (at, c) in begun.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => {
                open.pop();
                if open.is_empty() {
                    end = at + c.len_utf8();
                    break;
                }
            }
            _ => {}
        }
    }
    let mut whole = begun[..end].to_owned();
    if in_string {
        whole.push('"');
    }
    whole.extend(open.iter().rev());
    whole
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
            (" wor\\", None),
            ("nld", Some(" wor\nld")),
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
