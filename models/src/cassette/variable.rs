//! Values that differ from run to run: taken out of a request, and put back into its answer.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::super::{Completion, Request};

/// A UUID, with hyphens or without, and an RFC 3339 date with a time.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)(?<time>\d{4}-\d\d-\d\d[t ]\d\d:\d\d:\d\d(?:\.\d+)?(?:z|[+-]\d\d:\d\d))|(?<id>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})|(?<hex>[0-9a-f]{32,})";
    Regex::new(pattern).expect("the pattern in the source is valid")
});

/// The hexadecimal digits of a UUID without hyphens. What is longer is a digest.
const SIMPLE: usize = 32;

/// A request without what differs from run to run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Normal {
    /// The request with placeholders.
    pub(super) request: Request,
    /// The request as one text: those with the same text are the same.
    pub(super) key: String,
    variables: Variables,
}

/// Values that the placeholders stand for, in the order in which they appear in the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Variables {
    /// Each once.
    ids: Vec<String>,
    /// Each as often as it appears: whether two things happened in the same second is chance.
    times: Vec<String>,
}

/// Kind of a piece of text.
enum Kind {
    Id,
    Time,
    Constant,
}

impl Normal {
    /// Takes out of a request what differs from run to run.
    pub(super) fn of(request: &Request) -> Self {
        let mut variables = Variables::default();
        let mut request = request.clone();
        // No provider sees this.
        request.tools.iter_mut().for_each(|tool| tool.agent = None);
        request.asker = None;
        let value = serde_json::to_value(request).expect("a request is JSON");
        let value = each_text(value, &mut |text| variables.taken_out(text));
        Self {
            key: value.to_string(),
            request: serde_json::from_value(value).expect("only texts in it were changed"),
            variables,
        }
    }

    /// The text of an answer to the request of `self`, as an answer to `other`, which is the same request.
    pub(super) fn text_for(&self, other: &Self, text: &str) -> String {
        self.variables.exchanged(&other.variables, text)
    }

    /// The same for a whole answer.
    pub(super) fn answer_for(&self, other: &Self, answer: &Completion) -> Completion {
        let mut answer = answer.clone();
        answer.text = self.text_for(other, &answer.text);
        for call in &mut answer.tool_calls {
            let arguments = call.arguments.take();
            call.arguments = each_text(arguments, &mut |text| self.text_for(other, text));
        }
        answer
    }
}

impl Variables {
    fn taken_out(&mut self, text: &str) -> String {
        replaced(text, |kind, found| match kind {
            Kind::Constant => found.to_owned(),
            Kind::Time => {
                self.times.push(found.to_owned());
                format!("<time {}>", self.times.len())
            }
            Kind::Id => {
                let known = self.ids.iter().position(|id| id == found);
                let at = known.unwrap_or_else(|| {
                    self.ids.push(found.to_owned());
                    self.ids.len() - 1
                });
                format!("<id {}>", at + 1)
            }
        })
    }

    fn exchanged(&self, others: &Self, text: &str) -> String {
        replaced(text, |kind, found| {
            let (own, others) = match kind {
                Kind::Constant => return found.to_owned(),
                Kind::Id => (&self.ids, &others.ids),
                Kind::Time => (&self.times, &others.times),
            };
            let at = own.iter().position(|own| own == found);
            let other = at.and_then(|at| others.get(at));
            other.map_or(found, String::as_str).to_owned()
        })
    }
}

fn replaced(text: &str, mut with: impl FnMut(Kind, &str) -> String) -> String {
    let replace = |found: &Captures<'_>| {
        let kind = match (found.name("time"), found.name("hex")) {
            (Some(_), _) => Kind::Time,
            (_, Some(hex)) if hex.len() != SIMPLE => Kind::Constant,
            _ => Kind::Id,
        };
        with(kind, found.get_match().as_str())
    };
    VARIABLE.replace_all(text, replace).into_owned()
}

/// The value with each of its texts, names of fields included, changed in order.
fn each_text(value: Value, change: &mut impl FnMut(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(&text)),
        Value::Array(items) => {
            let items = items.into_iter().map(|item| each_text(item, change));
            items.collect()
        }
        Value::Object(fields) => {
            let mut changed = Map::new();
            for (name, value) in fields {
                let name = change(&name);
                changed.insert(name, each_text(value, change));
            }
            Value::Object(changed)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{PromptMessage, ToolCall};

    const A: &str = "018f4e9a-1111-7222-8333-0123456789ab";
    const B: &str = "118f4e9a-1111-7222-8333-0123456789AB";
    const C: &str = "0123456789abcdef0123456789abcdef";

    fn of(text: &str) -> Normal {
        let data = json!({ text: [text, 1] });
        Normal::of(&Request::new(vec![
            PromptMessage::user(text),
            PromptMessage::data("d", data),
        ]))
    }

    #[test]
    fn ids_and_times_do_not_count_but_which_ids_are_the_same_does() {
        let one = of(&format!(
            "run_{A} at 2026-11-22T08:00:00Z, msg_{C}, run_{A}"
        ));
        let two = of(&format!(
            "run_{B} at 2027-01-02 03:04:05.678+02:00, msg_{}, run_{B}",
            C.replace('0', "f")
        ));
        assert_eq!(one.key, two.key);
        let other = of(&format!(
            "run_{A} at 2026-11-22T08:00:00Z, msg_{C}, run_{B}"
        ));
        assert_ne!(one.key, other.key);
        assert!(
            one.request.messages[0]
                .rendered()
                .contains("run_<id 1> at <time 1>, msg_<id 2>, run_<id 1>"),
            "{:?}",
            one.request
        );
    }

    #[test]
    fn what_means_something_counts() {
        let digest = "a".repeat(64);
        for (one, two) in [
            ("a cat", "a dog"),
            ("in 2026", "in 2027"),
            ("on 2026-11-22", "on 2026-11-23"),
            (&*digest, &*"b".repeat(64)),
        ] {
            assert_ne!(of(one).key, of(two).key, "{one}");
        }
        let warm = Request {
            temperature: Some(0.5),
            ..of("a").request
        };
        assert_ne!(Normal::of(&warm).key, of("a").key);
    }

    #[test]
    fn things_of_the_same_second_are_the_same_request_as_things_of_two() {
        let same = of("2026-11-22T08:00:00Z 2026-11-22T08:00:00Z");
        let two = of("2026-11-22T08:00:00Z 2026-11-22T08:00:01Z");
        assert_eq!(same.key, two.key);
    }

    #[test]
    fn an_answer_bears_what_the_request_bears_that_it_answers() {
        let recorded = of(&format!("{A} {B} 2026-11-22T08:00:00Z"));
        let asked = of(&format!("{B} {A} 2027-11-22T09:00:00.5Z"));
        let answer = Completion {
            text: format!("first {A}, then {B}, at 2026-11-22T08:00:00Z; {C} is mine"),
            tool_calls: vec![ToolCall {
                id: "c1".into(),
                name: "look".into(),
                arguments: json!({ "run": A, B: [true] }),
            }],
            usage: None,
            undone: None,
            lacks: Vec::new(),
        };
        let answer = recorded.answer_for(&asked, &answer);
        assert_eq!(
            answer.text,
            format!("first {B}, then {A}, at 2027-11-22T09:00:00.5Z; {C} is mine")
        );
        assert_eq!(
            answer.tool_calls[0].arguments,
            json!({ "run": B, A: [true] })
        );
    }
}
