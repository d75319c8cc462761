//! Result of a tool, as a model is told it.

use agenthub_sdk::runs::ToolOutput;
use serde_json::{Value, json};

use super::text;

/// The most parts of a result that are told.
const MAX_PARTS: usize = 64;

/// The longest name, type or address that is told of a part, in bytes.
const MAX_WORD: usize = 300;

/// A result of `tools/call` as an output: its structure as JSON, else its texts, with a description of what is no text. How much of it a
/// model is told is up to whoever asked.
pub(super) fn output(result: &Value) -> ToolOutput {
    match result["resultType"].as_str() {
        None | Some("complete") => {}
        Some("input_required") => {
            return ToolOutput::error(
                "the tool wants to ask a person something before it goes on, which is not possible here",
            );
        }
        Some(kind) => {
            let kind = text::line(kind, MAX_WORD);
            return ToolOutput::error(format!("the tool's result is of an unknown kind, {kind}"));
        }
    }
    let parts = result["content"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let structured = result.get("structuredContent").filter(|s| !s.is_null());
    let texts = texts(parts, structured);
    let value = match structured {
        None => Value::from(texts),
        Some(structured) if texts.is_empty() => structured.clone(),
        Some(structured) => json!({ "result": structured, "text": texts }),
    };
    if result["isError"] != json!(true) {
        return ToolOutput::from(value);
    }
    let text = match value {
        Value::String(text) if text.is_empty() => "it failed without saying why".to_owned(),
        Value::String(text) => text,
        value => value.to_string(),
    };
    ToolOutput::error(text)
}

/// The parts in words, but for a text that only repeats the structure.
fn texts(parts: &[Value], structured: Option<&Value>) -> String {
    let repeats = |part: &Value| {
        let text = part["text"].as_str().unwrap_or_default();
        let is_text = part["type"] == "text";
        is_text
            && structured
                .is_some_and(|s| serde_json::from_str::<Value>(text).is_ok_and(|t| t == *s))
    };
    let told = parts.iter().filter(|part| !repeats(part));
    let mut told: Vec<String> = told.take(MAX_PARTS).map(part).collect();
    if parts.len() > MAX_PARTS {
        told.push(format!(
            "[… {} more parts left out]",
            parts.len() - MAX_PARTS
        ));
    }
    told.join("\n\n")
}

fn part(part: &Value) -> String {
    let word = |value: &Value| value.as_str().map(|word| text::line(word, MAX_WORD));
    let kind = word(&part["mimeType"]);
    match part["type"].as_str() {
        Some("text") => part["text"].as_str().unwrap_or_default().to_owned(),
        Some(what @ ("image" | "audio")) => described(&[
            Some(what.to_owned()),
            kind,
            encoded(&part["data"]),
            Some("not shown".to_owned()),
        ]),
        Some("resource_link") => described(&[
            Some("a link".to_owned()),
            word(&part["uri"]),
            word(&part["title"]).or(word(&part["name"])),
            kind,
            part["size"].as_u64().map(|size| format!("{size} bytes")),
            word(&part["description"]),
        ]),
        Some("resource") => {
            let resource = &part["resource"];
            let header = [
                Some("a resource".to_owned()),
                word(&resource["uri"]),
                word(&resource["mimeType"]),
            ];
            match resource["text"].as_str() {
                Some(text) => format!("{}\n{text}", described(&header)),
                None => {
                    let rest = [encoded(&resource["blob"]), Some("not shown".to_owned())];
                    described(&[header.as_slice(), &rest].concat())
                }
            }
        }
        kind => {
            let kind = kind.map(|kind| text::line(kind, MAX_WORD));
            let bytes = format!("{} bytes", part.to_string().len());
            described(&[
                Some("a part of an unknown kind".to_owned()),
                kind,
                Some(bytes),
                Some("not shown".to_owned()),
            ])
        }
    }
}

fn described(words: &[Option<String>]) -> String {
    let words: Vec<&str> = words.iter().flatten().map(String::as_str).collect();
    format!("[{}]", words.join(", "))
}

/// The size of what is there in base64.
fn encoded(data: &Value) -> Option<String> {
    let data = data.as_str()?.trim_end_matches('=');
    Some(format!("{} bytes", data.len() * 3 / 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_told_as_they_are_one_after_the_other() {
        let one = output(&json!({"content": [{"type": "text", "text": "{\"a\": 1}"}]}));
        assert_eq!(one, ToolOutput::from("{\"a\": 1}"));
        let two =
            json!({"content": [{"type": "text", "text": "a\nb"}, {"type": "text", "text": "c"}]});
        assert_eq!(output(&two), ToolOutput::from("a\nb\n\nc"));
        assert_eq!(output(&json!({"content": []})), ToolOutput::from(""));
    }

    #[test]
    fn what_has_structure_is_json_and_is_not_told_twice() {
        let structured = json!({"n": 1});
        let same = json!({"content": [{"type": "text", "text": "{ \"n\":1 }"}], "structuredContent": structured});
        assert_eq!(output(&same), ToolOutput::from(structured.clone()));
        let more =
            json!({"content": [{"type": "text", "text": "one"}], "structuredContent": structured});
        assert_eq!(
            output(&more).value,
            json!({"result": {"n": 1}, "text": "one"})
        );
    }

    #[test]
    fn what_is_no_text_is_described_and_not_dropped() {
        let told = output(&json!({"content": [
            {"type": "image", "mimeType": "image/png", "data": "AAAABBBB"},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAA="},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain", "size": 9},
            {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "text/plain", "text": "hello"}},
            {"type": "resource", "resource": {"uri": "file:///c", "blob": "AAAA"}},
            {"type": "hologram", "x": 1},
        ]}));
        assert_eq!(
            told.value,
            json!(
                [
                    "[image, image/png, 6 bytes, not shown]",
                    "[audio, audio/wav, 2 bytes, not shown]",
                    "[a link, file:///a, a, text/plain, 9 bytes]",
                    "[a resource, file:///b, text/plain]\nhello",
                    "[a resource, file:///c, 3 bytes, not shown]",
                    "[a part of an unknown kind, hologram, 25 bytes, not shown]",
                ]
                .join("\n\n")
            )
        );
    }

    #[test]
    fn a_failure_of_the_tool_is_an_error_for_the_model() {
        let failed = json!({"content": [{"type": "text", "text": "no disk"}], "isError": true});
        assert_eq!(output(&failed), ToolOutput::error("no disk"));
        let silent = output(&json!({"content": [], "isError": true}));
        assert_eq!(silent, ToolOutput::error("it failed without saying why"));
        let asks = output(&json!({"resultType": "input_required", "inputRequests": {}}));
        assert!(asks.is_error);
    }

    #[test]
    fn very_many_parts_are_counted() {
        let parts = vec![json!({"type": "text", "text": "a"}); 100];
        let told = output(&json!({"content": parts}));
        assert!(
            told.value
                .as_str()
                .is_some_and(|t| t.ends_with("[… 36 more parts left out]"))
        );
    }
}
