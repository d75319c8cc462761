//! Takes what the user may read out of a decision that is still being written, so that answers appear as they come.

use super::{
    scan::{Scanner, Token},
    turn::SEPARATOR,
};

/// The longest key or kind that means something.
const MAX_WORD: usize = 32;

/// Follows a growing answer. What [`push`](Self::push) returns, put together, is the text of the `chat.response` actions, joined
/// with [`SEPARATOR`]. From an answer that turns out not to be a decision, text may have been taken all the same: the
/// caller compares.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    scanner: Scanner,
    /// The key that was read last in the outermost object, and in the action.
    root_key: String,
    key: String,
    action: Action,
    /// The responses that have been begun.
    responses: usize,
    reading: Reading,
    out: String,
}

/// The action that is being read.
#[derive(Debug, Default)]
struct Action {
    kind: Kind,
    has_target: bool,
    has_text: bool,
    begun: bool,
    /// Text that waits until the kind is known.
    held: String,
    /// The kind, while it is being read.
    word: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Kind {
    #[default]
    Unknown,
    Response,
    Other,
}

/// Purpose of the open string.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Reading {
    #[default]
    Nothing,
    Key,
    Kind,
    Text,
}

impl Partial {
    /// Reads on, and returns what became readable.
    pub(crate) fn push(&mut self, chunk: &str) -> String {
        for c in chunk.chars() {
            // What follows the decision is prose.
            let is_over = self.scanner.open().is_empty() && self.responses > 0;
            if is_over {
                break;
            }
            let closes_action = matches!(c, '}') && self.in_action();
            if let Some(token) = self.scanner.read(c) {
                self.take(token, closes_action);
            }
        }
        std::mem::take(&mut self.out)
    }

    fn take(&mut self, token: Token, was_in_action: bool) {
        match token {
            Token::Open if self.in_action() => self.action = Action::default(),
            Token::Open => {}
            Token::Close => {
                if was_in_action {
                    self.end_action();
                }
            }
            Token::KeyStart => {
                self.key.clear();
                self.reading = Reading::Key;
            }
            Token::KeyEnd => self.end_key(),
            Token::TextStart => self.reading = self.purpose(),
            Token::TextEnd => self.end_text(),
            Token::Char(c) => self.put(c),
            Token::Broken => {
                self.action = Action::default();
                self.reading = Reading::Nothing;
            }
        }
    }

    /// True if the innermost container is an action: on its own, in a list, or in the list of a decision.
    fn in_action(&self) -> bool {
        match self.scanner.open() {
            [true] | [false, true] => true,
            [true, false, true] => self.root_key == "actions",
            _ => false,
        }
    }

    fn end_key(&mut self) {
        self.reading = Reading::Nothing;
        if self.scanner.open() == [true] {
            self.root_key.clone_from(&self.key);
        }
        if self.in_action() && matches!(&*self.key, "targetAgent" | "target_agent") {
            self.action.has_target = true;
        }
    }

    /// Purpose of the string that begins here.
    fn purpose(&mut self) -> Reading {
        if !self.in_action() {
            return Reading::Nothing;
        }
        match &*self.key {
            "type" | "action" => Reading::Kind,
            "text" | "responseText" | "response_text" if !self.action.has_text => {
                self.action.has_text = true;
                Reading::Text
            }
            _ => Reading::Nothing,
        }
    }

    fn put(&mut self, c: char) {
        match (self.reading, self.action.kind) {
            (Reading::Key, _) if self.key.len() < MAX_WORD => self.key.push(c),
            (Reading::Kind, _) if self.action.word.len() < MAX_WORD => self.action.word.push(c),
            (Reading::Text, Kind::Response) => {
                self.begin_response();
                self.out.push(c);
            }
            (Reading::Text, Kind::Unknown) => self.action.held.push(c),
            _ => {}
        }
    }

    fn end_text(&mut self) {
        if std::mem::take(&mut self.reading) != Reading::Kind {
            return;
        }
        if self.action.word == "chat.response" {
            self.action.kind = Kind::Response;
            self.release();
        } else {
            self.action.kind = Kind::Other;
        }
    }

    /// An action with a text and without kind or target is a response.
    fn end_action(&mut self) {
        if self.action.kind == Kind::Unknown && !self.action.has_target {
            self.release();
        }
        self.action = Action::default();
    }

    fn release(&mut self) {
        if !self.action.held.is_empty() {
            self.begin_response();
            self.out.push_str(&std::mem::take(&mut self.action.held));
        }
    }

    fn begin_response(&mut self) {
        if !std::mem::replace(&mut self.action.begun, true) {
            if self.responses > 0 {
                self.out.push_str(SEPARATOR);
            }
            self.responses += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::decision::{Action as Decided, parse};
    use proptest::prelude::*;
    use serde_json::json;

    fn read(answer: &str, chunk: usize) -> String {
        let mut partial = Partial::default();
        let chars: Vec<char> = answer.chars().collect();
        chars
            .chunks(chunk)
            .map(|c| partial.push(&c.iter().collect::<String>()))
            .collect()
    }

    #[test]
    fn text_comes_out_while_it_is_written() {
        let mut partial = Partial::default();
        assert_eq!(partial.push(r#"{"actions":[{"type":"chat.resp"#), "");
        assert_eq!(partial.push(r#"onse","text":"Hel"#), "Hel");
        assert_eq!(partial.push(r"lo\"), "lo");
        assert_eq!(partial.push(r"n\ud83d"), "\n");
        assert_eq!(partial.push(r#"\ude00""#), "😀");
        assert_eq!(
            partial.push("}]} and so on {\"type\":\"chat.response\",\"text\":\"x\"}"),
            ""
        );
    }

    #[test]
    fn only_responses_come_out() {
        let cases = [
            (r#"{"type":"chat.response","text":"a"}"#, "a"),
            (
                r#"[{"text":"a","type":"chat.response"},{"type":"chat.response","text":"b"}]"#,
                "a\n\nb",
            ),
            (r#"{"actions":[{"response_text":"a"}]}"#, "a"),
            (r#"{"actions":[{"text":"a","target_agent":"x"}]}"#, ""),
            (
                r#"{"actions":[{"type":"task.request","text":"a","payload":{"type":"chat.response","text":"b"}}]}"#,
                "",
            ),
            (
                r#"{"actions":[{"type":"chat.response","text":"a","payload":{"text":"b"}}]}"#,
                "a",
            ),
            (r#"{"thoughts":[{"type":"chat.response","text":"a"}]}"#, ""),
            (
                r#"[I think] {so}: ```{"actions":[{"type":"chat.response","text":"a"}]}```"#,
                "a",
            ),
            (
                r#"{"actions":[{"n":[1,{"text":"z"},null],"type":"chat.response","text":"a"}]}"#,
                "a",
            ),
            ("no decision", ""),
        ];
        for (answer, text) in cases {
            for chunk in [1, 3, 1000] {
                assert_eq!(read(answer, chunk), text, "{answer}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_pieces_make_the_text(
            texts in prop::collection::vec(".*[a-z\\p{Emoji}\"\\\\].*", 1..4),
            chunk in 1usize..20,
            kind_first: bool,
            ascii: bool,
        ) {
            let actions: Vec<String> = texts.iter().map(|text| {
                let mut text = json!(text).to_string();
                if ascii {
                    text = text.chars().map(|c| if c.is_ascii() { c.to_string() } else {
                        let mut units = [0; 2];
                        c.encode_utf16(&mut units).iter().map(|u| format!("\\u{u:04x}")).collect()
                    }).collect();
                }
                if kind_first {
                    format!(r#"{{"type":"chat.response","text":{text}}}"#)
                } else {
                    format!(r#"{{"text":{text},"type":"chat.response"}}"#)
                }
            }).collect();
            let answer = format!(r#"{{"actions":[{}]}}"#, actions.join(", "));
            let decision = parse(&answer, &[]).expect("a decision");
            let said: Vec<String> = decision.actions.into_iter().map(|a| match a {
                Decided::Respond(text) => text,
                other => panic!("{other:?}"),
            }).collect();
            prop_assert_eq!(read(&answer, chunk), said.join(SEPARATOR));
        }

        #[test]
        fn any_text_is_survived(answer in "[\\[\\]{}\",:a\\\\u0d8 ]{0,60}|.{0,60}") {
            read(&answer, 1);
        }
    }
}
