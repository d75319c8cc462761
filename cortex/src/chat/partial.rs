//! Takes what the user may read out of a decision that is still being written, so that answers appear as they come.

use agenthub_sdk::runs::model::growing::{GrowingJson, JsonValue, member, text};

use super::turn::SEPARATOR;

/// Follows a growing answer. What [`push`](Self::push) returns, put together, is the text of the `chat.response` actions, joined
/// with [`SEPARATOR`]. From an answer that turns out not to be a decision, text may have been taken all the same: the
/// caller compares.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    answer: GrowingJson,
    /// Length of the text that was returned, in bytes.
    shown: usize,
}

impl Partial {
    /// Reads on, and returns what became readable.
    pub(crate) fn push(&mut self, chunk: &str) -> String {
        let Some(text) = self.answer.push(chunk, readable) else {
            return String::new();
        };
        let grown = text.get(self.shown..).unwrap_or_default().to_owned();
        self.shown += grown.len();
        grown
    }
}

/// The text of the responses in a decision so far: an action on its own, a list of them, or an object with the list.
fn readable(decision: &JsonValue<'_>, is_over: bool) -> Option<String> {
    let actions = match (decision, member(decision, "actions")) {
        (JsonValue::Array(actions), _) | (_, Some(JsonValue::Array(actions))) => &actions[..],
        _ => std::slice::from_ref(decision),
    };
    let last = actions.len().saturating_sub(1);
    let responses = actions.iter().enumerate().filter_map(|(at, action)| {
        let is_whole = is_over || at != last;
        response(action, is_whole).filter(|text| !text.is_empty())
    });
    let responses: Vec<&str> = responses.collect();
    (!responses.is_empty()).then(|| responses.join(SEPARATOR))
}

/// The text of an action, if it says something to the user.
fn response<'v>(action: &'v JsonValue<'_>, is_whole: bool) -> Option<&'v str> {
    let JsonValue::Object(members) = action else {
        return None;
    };
    let first = |names: &[&str]| {
        let mut named = members.iter().filter(|(key, _)| names.contains(&&**key));
        named.find_map(|(_, value)| text(value))
    };
    let kind = first(&["type", "action"]);
    let is_response = match kind {
        // Of what is written last, more may come.
        Some(kind) => {
            let is_last = members.last().is_some_and(|(key, _)| is_kind(key));
            kind == "chat.response" && (is_whole || !is_last)
        }
        // An action with a text and without kind or target is a response.
        None => is_whole && !members.iter().any(|(key, _)| is_target(key)),
    };
    let said = first(&["text", "responseText", "response_text"]);
    said.filter(|_| is_response)
}

fn is_kind(key: &str) -> bool {
    matches!(key, "type" | "action")
}

fn is_target(key: &str) -> bool {
    matches!(key, "targetAgent" | "target_agent")
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
