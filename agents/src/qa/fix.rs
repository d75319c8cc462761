//! Fixes of issues, as words that a person acts on and a program reads back.
//!
//! An issue is `KIND: what is wrong; what to do.`, and its last part is the [`Fix`]. Whatever it takes from a text or a payload stands there
//! as a JSON string, so that [`Fix::read`] finds it again.

use std::fmt;

use serde_json::{Value, json};

use crate::text::measured::Measured;

/// A change of a draft.
#[derive(Clone, Debug, PartialEq)]
pub enum Fix {
    /// Text to be in the draft: `add "…"`.
    Append(String),
    /// One of these texts is to be in the draft: `add one of ["…", "…"]`.
    AppendOneOf(Vec<String>),
    /// Text not to be in the draft: `remove "…"`.
    Remove(String),
    /// `keep to at most 280 characters`.
    AtMost(Measured, u64),
    /// `bring it to at least 3 hashtags`.
    AtLeast(Measured, u64),
    /// The text is to be easier to read, on the scale of LIX: `bring LIX down to 50`.
    Easier(f64),
    /// `keep sentences to at most 30 words`.
    ShortSentences(u64),
    /// The setting of a knob, from 0 to 1, that the draft has and that it is to have: `move knob "…" from 0.80 to 0.30`.
    Knob {
        /// The knob.
        name: String,
        /// The draft's value.
        from: f64,
        /// The wanted value.
        to: f64,
    },
    /// The code or name of the language: `write in language "…"`.
    Language(String),
}

impl Fix {
    /// The fix at the end of an issue; `None` where it has none that this program knows.
    pub fn read(issue: &str) -> Option<Self> {
        let words = &issue[last_part(issue)?..];
        let words = words.strip_suffix('.').unwrap_or(words);
        let after = |start: &str| words.strip_prefix(start);
        if let Some(list) = after("add one of ") {
            return serde_json::from_str(list).ok().map(Self::AppendOneOf);
        }
        if let Some(text) = after("add ") {
            return string(text).map(Self::Append);
        }
        if let Some(text) = after("remove ") {
            return string(text).map(Self::Remove);
        }
        if let Some(amount) = after("keep to at most ") {
            return amount_of(amount).map(|(limit, what)| Self::AtMost(what, limit));
        }
        // As it was said in reviews of earlier releases.
        let least = after("bring it to at least ").or_else(|| after("keep to at least "));
        if let Some(amount) = least {
            return amount_of(amount).map(|(limit, what)| Self::AtLeast(what, limit));
        }
        if let Some(lix) = after("bring LIX down to ") {
            return number(lix).map(Self::Easier);
        }
        if let Some(amount) = after("keep sentences to at most ") {
            let (limit, _) = amount_of(amount)?;
            return Some(Self::ShortSentences(limit));
        }
        if let Some(rest) = after("move knob ") {
            let (rest, to) = rest.rsplit_once(" to ")?;
            let (name, from) = rest.rsplit_once(" from ")?;
            let (name, from, to) = (string(name)?, number(from)?, number(to)?);
            return Some(Self::Knob { name, from, to });
        }
        after("write in language ")
            .and_then(string)
            .map(Self::Language)
    }

    /// The same for programs: one key that names the change.
    pub fn data(&self) -> Value {
        let limit = |bound: &str, what: &Measured, limit: &u64| {
            let key = format!("{bound}{}", what.key());
            json!({ key: limit })
        };
        match self {
            Self::Append(text) => json!({ "append": text }),
            Self::AppendOneOf(texts) => json!({ "appendOneOf": texts }),
            Self::Remove(text) => json!({ "remove": text }),
            Self::AtMost(what, most) => limit("max", what, most),
            Self::AtLeast(what, least) => limit("min", what, least),
            Self::Easier(lix) => json!({ "maxLix": lix }),
            Self::ShortSentences(words) => json!({ "maxSentenceWords": words }),
            Self::Knob { name, from, to } => {
                json!({ "knobs": { name: { "from": from, "to": to } } })
            }
            Self::Language(language) => json!({ "language": language }),
        }
    }
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append(text) => write!(f, "add {}", json!(text)),
            Self::AppendOneOf(texts) => write!(f, "add one of {}", json!(texts)),
            Self::Remove(text) => write!(f, "remove {}", json!(text)),
            Self::AtMost(what, limit) => write!(f, "keep to at most {limit} {}", what.noun(*limit)),
            Self::AtLeast(what, limit) => {
                write!(f, "bring it to at least {limit} {}", what.noun(*limit))
            }
            Self::Easier(lix) => write!(f, "bring LIX down to {lix}"),
            Self::ShortSentences(words) => write!(f, "keep sentences to at most {words} words"),
            Self::Knob { name, from, to } => {
                write!(f, "move knob {} from {from:.2} to {to:.2}", json!(name))
            }
            Self::Language(language) => write!(f, "write in language {}", json!(language)),
        }
    }
}

/// Beginning of an issue's last part: after the last `; ` (or else the first `: `) that stands in no JSON string.
fn last_part(issue: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    let (mut kind, mut part) = (None, None);
    for (at, c) in issue.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ':' if !quoted && kind.is_none() => {
                kind = issue[at..].starts_with(": ").then_some(at + 2)
            }
            ';' if !quoted && issue[at..].starts_with("; ") => part = Some(at + 2),
            _ => {}
        }
    }
    part.or(kind)
}

fn string(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn amount_of(text: &str) -> Option<(u64, Measured)> {
    let (number, what) = text.split_once(' ')?;
    Some((number.parse().ok()?, Measured::named(what)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fixes() -> impl Strategy<Value = Fix> {
        let measured = || prop::sample::select(&Measured::ALL[..]);
        let setting = || (0_u32..=100).prop_map(|n| f64::from(n) / 100.0);
        prop_oneof![
            any::<String>().prop_map(Fix::Append),
            any::<Vec<String>>().prop_map(Fix::AppendOneOf),
            any::<String>().prop_map(Fix::Remove),
            (measured(), any::<u64>()).prop_map(|(what, limit)| Fix::AtMost(what, limit)),
            (measured(), any::<u64>()).prop_map(|(what, limit)| Fix::AtLeast(what, limit)),
            (0_f64..100.0).prop_map(Fix::Easier),
            any::<u64>().prop_map(Fix::ShortSentences),
            (any::<String>(), setting(), setting()).prop_map(|(name, from, to)| Fix::Knob {
                name,
                from,
                to
            }),
            any::<String>().prop_map(Fix::Language),
        ]
    }

    proptest! {
        /// A writer that has nothing but the sentence knows what to do, whatever the texts are.
        #[test]
        fn a_fix_is_read_back_from_its_issue(fix in fixes(), text: String) {
            let issue = format!("kind: the draft has {}; {fix}.", json!(text));
            prop_assert_eq!(Fix::read(&issue), Some(fix.clone()));
            let short = format!("kind: {fix}.");
            prop_assert_eq!(Fix::read(&short), Some(fix));
        }

        #[test]
        fn any_note_can_be_read(note: String) {
            Fix::read(&note);
        }
    }

    #[test]
    fn words_of_people_are_no_fix() {
        for note in [
            "",
            "make it punchier",
            "tone: too dry; be warm.",
            "a: keep to at most x words.",
        ] {
            assert_eq!(Fix::read(note), None, "{note}");
        }
    }

    #[test]
    fn what_stands_in_a_quotation_is_not_taken_for_the_end() {
        let issue = r#"forbidden: the draft says "a; remove \"b"; remove "a; add \"c\"."."#;
        let fix = Fix::Remove("a; add \"c\".".to_owned());
        assert_eq!(Fix::read(issue), Some(fix));
    }
}
