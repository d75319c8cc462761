//! Fit of a request with a procedure: whether it is what the procedure is for, as far as words can tell.

use std::collections::BTreeSet;

use crate::relevance::stems;
use crate::{PromptRole, Request};

/// Said with the answer to a request of which words cannot tell whether it was for this procedure.
pub(super) const UNCLEAR: &str = "(Nothing in the request is among the words of this procedure. Whether it was meant for it takes a language model.)";

/// Words of requests and instructions that tell nothing of what is wanted.
const WEAK: [&str; 24] = [
    "answer", "begin", "create", "end", "every", "find", "first", "help", "last", "make", "many",
    "more", "much", "need", "new", "one", "request", "step", "take", "thing", "three", "two",
    "who", "work",
];

/// Words of English orders, which have an object.
const OF_ORDERS: [&str; 9] = ["a", "an", "the", "me", "my", "us", "our", "for", "please"];

/// Words that begin a question.
const OF_QUESTIONS: [&str; 17] = [
    "what", "who", "how", "why", "when", "where", "which", "is", "are", "was", "were", "does",
    "do", "did", "can", "has", "tell",
];

/// Fit of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Names a topic, or shares words with the instructions or the tools.
    Yes,
    /// Shares none. A question may be meant for the procedure all the same, and so may words of another language.
    Unclear,
    /// Orders something, and shares none.
    No,
}

/// Fit of these words with the instructions of the request and its tools.
pub(super) fn fit(request: &Request, words: &str) -> Fit {
    let weak = stems(&WEAK.join(" "));
    let telling = |text: &str| -> BTreeSet<String> {
        let stems = stems(text).into_iter();
        let is_number = |stem: &String| stem.chars().all(|c| c.is_ascii_digit());
        stems
            .filter(|stem| !weak.contains(stem) && !is_number(stem))
            .collect()
    };
    let wanted = telling(words);
    let tools = request.tools.iter();
    let tools = tools.map(|t| format!("{} {} {}", t.name, t.own_words(), t.parameters));
    let is_shared = |text: String| !telling(&text).is_disjoint(&wanted);
    if words.contains(" about ") || tools.chain([instructions(request)]).any(is_shared) {
        return Fit::Yes;
    }
    match is_order(words) {
        true => Fit::No,
        false => Fit::Unclear,
    }
}

/// The instructions of the request.
pub(super) fn instructions(request: &Request) -> String {
    let systems = request
        .messages
        .iter()
        .filter(|message| message.role == PromptRole::System);
    let texts: Vec<String> = systems.filter_map(|message| message.text()).collect();
    texts.join("\n")
}

/// True of what can hardly be anything but an order in English: a word and its object, and no question.
fn is_order(words: &str) -> bool {
    let lower = words.to_lowercase();
    let mut said = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let first = said.next().unwrap_or_default();
    let is_question = words.trim_end().ends_with('?') || OF_QUESTIONS.contains(&first);
    let is_topic = OF_ORDERS.contains(&first) && first != "please";
    !is_question
        && !is_topic
        && (first == "please" || said.next().is_some_and(|word| OF_ORDERS.contains(&word)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{PromptMessage, ToolSpec};

    #[test]
    fn a_request_fits_by_the_words_that_tell_something() {
        let mut request = Request::new(vec![PromptMessage::system(
            "You make the minutes of two meetings.\n## Steps\n1. Ask `note-taker` for notes.",
        )]);
        request.tools = vec![ToolSpec {
            name: "agent_note-taker".into(),
            description: "Makes readable notes of what was jotted down".into(),
            parameters: json!({}),
            agent: None,
        }];
        for (words, expected) in [
            ("Make minutes of this: Joe brings the key", Fit::Yes),
            ("what was jotted down?", Fit::Yes),
            ("knit me a sweater", Fit::No),
            ("Please sing", Fit::No),
            ("make me two sandwiches", Fit::No),
            ("fix the sink", Fit::No),
            ("What is tea?", Fit::Unclear),
            ("The history of tea", Fit::Unclear),
            ("say something about tea", Fit::Yes),
            ("tea and cakes", Fit::Unclear),
            ("Schreibe einen Text", Fit::Unclear),
            ("", Fit::Unclear),
        ] {
            assert_eq!(fit(&request, words), expected, "{words:?}");
        }
    }
}
