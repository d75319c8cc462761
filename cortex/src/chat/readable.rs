//! The part of a growing answer that the user may read.

use agenthub_sdk::model::{Output, Request};

use super::partial::Partial;

/// Follows a growing answer. What [`push`](Self::push) returns, put together, is what the answer says to the user, without space around it. From an
/// answer that turns out not to be a decision, text may have been taken all the same: the caller compares.
#[derive(Debug)]
pub(crate) enum Readable {
    /// Not known yet: words, or a decision.
    Open,
    /// A decision in JSON.
    Decision(Partial),
    /// Words, and the space after them, which counts once more words follow.
    Words {
        /// The space.
        held: String,
    },
}

impl Readable {
    /// Of the answer to this request.
    pub(crate) fn of(request: &Request) -> Self {
        match request.output {
            Output::Text => Self::Open,
            Output::Json { .. } => Self::Decision(Partial::default()),
        }
    }

    /// Reads on, and returns what became readable.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let piece = match self {
            Self::Open => piece.trim_start(),
            _ => piece,
        };
        if let (Self::Open, Some(first)) = (&self, piece.chars().next()) {
            *self = match first {
                '{' | '[' | '`' => Self::Decision(Partial::default()),
                _ => Self::Words {
                    held: String::new(),
                },
            };
        }
        match self {
            Self::Open => String::new(),
            Self::Decision(partial) => partial.push(piece),
            Self::Words { held } => {
                held.push_str(piece);
                let rest = held.split_off(held.trim_end().len());
                std::mem::replace(held, rest)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::model::PromptMessage;
    use proptest::prelude::*;

    use super::*;

    fn read(answer: &str, chunk: usize) -> String {
        let mut readable = Readable::of(&Request::new(vec![PromptMessage::user("hi")]));
        let chars: Vec<char> = answer.chars().collect();
        let chunks = chars.chunks(chunk).map(String::from_iter);
        chunks.map(|piece| readable.push(&piece)).collect()
    }

    #[test]
    fn a_decision_in_place_of_words_shows_what_it_says() {
        let decision = "\n {\"actions\":[{\"type\":\"chat.response\",\"text\":\"a\"}]}";
        for chunk in [1, 3, 1000] {
            assert_eq!(read(decision, chunk), "a");
        }
    }

    proptest! {
        #[test]
        fn words_are_shown_as_they_come(answer in "[ \n]{0,3}[a-zé][a-zé \n{}]{0,30}", chunk in 1usize..9) {
            prop_assert_eq!(read(&answer, chunk), answer.trim());
        }
    }
}
