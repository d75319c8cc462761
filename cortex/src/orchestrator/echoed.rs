//! Results that are only the request said again. A stand-in for a model that has nothing but an objective to write from can do no more than repeat it.

use std::collections::BTreeSet;

use serde_json::Value;

/// Levels of an output that are looked at: the output, what it is about, and its fields.
const LEVELS: usize = 3;

/// The field of an output with the text that was made.
const TEXT: &str = "text";

/// The reason why nothing counts as made then.
pub(super) const ECHOED: &str = "nobody did what was asked: no language model read the request, and the text that was made only repeats its words";

/// True if an output has texts, and each of their words is one of the request's.
pub(super) fn is_echo<'a>(output: &Value, request: impl IntoIterator<Item = &'a str>) -> bool {
    let mut texts = Vec::new();
    texts_in(output, LEVELS, &mut texts);
    let said: BTreeSet<String> = texts.into_iter().flat_map(words).collect();
    let asked: BTreeSet<String> = request.into_iter().flat_map(words).collect();
    !said.is_empty() && said.is_subset(&asked)
}

/// The texts that were made; what is said about them is none.
fn texts_in<'a>(value: &'a Value, levels: usize, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) if levels == LEVELS => texts.push(text),
        Value::Object(fields) if levels > 0 => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == TEXT => texts.push(text),
                    field => texts_in(field, levels - 1, texts),
                }
            }
        }
        _ => {}
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Issue 26: what nobody did is not done.
    ///
    /// spec: ORC-2.4
    #[test]
    fn a_text_of_the_requests_words_alone_repeats_it() {
        let request = ["Fix my kitchen sink", "mentions \"a tap\""];
        let draft =
            |text: &str| json!({"draft": {"text": text, "metadata": {"notes": ["too short"]}}});
        for echo in [
            draft("Fix my kitchen sink."),
            draft("Fix my kitchen sink. A tap."),
            json!("Fix my KITCHEN sink!"),
        ] {
            assert!(is_echo(&echo, request), "{echo}");
        }
        for other in [
            draft("Fix my kitchen sink today."),
            draft(""),
            json!({"plan": {"steps": ["fix my sink"]}}),
            json!(null),
        ] {
            assert!(!is_echo(&other, request), "{other}");
        }
    }
}
