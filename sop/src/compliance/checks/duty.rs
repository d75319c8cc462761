//! A rule's sentence, taken apart: who, whether it is a prohibition, and what.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

use super::{names::key, standing::holds_always};
use crate::{Level, Rule};

/// Longer sentences are words for a model.
const LONGEST: usize = 500;

/// Names of an answer that can be nothing else.
const ANSWER: &str = "answer|response|reply|output|report|summary|result";

/// Further names of an answer, where it is said to be the agent's own.
const OWN: &str =
    "text|draft|post|article|message|document|review|plan|letter|e-?mail|essay|story|list";

/// An answer, as a part of a sentence.
pub(super) fn the_answer() -> String {
    format!(
        "(?:(?:the|your|its|each|every)(?: final| whole)? (?:{ANSWER})|(?:your|the final)(?: own)? (?:{OWN}))"
    )
}

/// Words that make a condition, for which code does not know whether it is met.
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:if|when|whenever|unless|until|while|where|wherever|whether|except|otherwise|in case|as long as|only|optional|optionally|depending)\b",
    )
});

/// The one who has a duty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Agent,
    Answer,
}

/// A duty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Duty {
    pub(super) subject: Subject,
    pub(super) is_negated: bool,
    /// Duty in words, beginning with a verb, without the full stop.
    pub(super) what: String,
}

impl Duty {
    /// The duty that a rule for this agent says plainly.
    pub(super) fn read(rule: &Rule, agent: &str) -> Option<Self> {
        static SENTENCE: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"^(?<subject>.*?)\b(?:MUST|SHALL|SHOULD)(?<not> NOT| not)? (?:(?<never>never)|always|also|then)? ?(?<what>\S.*)$",
            )
        });
        static KEYWORD: LazyLock<Regex> =
            LazyLock::new(|| regex(r"\b(?:MUST|SHALL|SHOULD|MAY|REQUIRED|RECOMMENDED|OPTIONAL)\b"));
        if rule.text.len() > LONGEST || !holds_always(rule) {
            return None;
        }
        if KEYWORD.find_iter(&rule.text).count() != 1 {
            return None;
        }
        let plain = rule.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let parts = SENTENCE.captures(&plain)?;
        let subject = subject(parts["subject"].trim(), agent)?;
        let is_not = parts.name("not").is_some();
        let is_forbidden = matches!(rule.level, Level::MustNot | Level::ShouldNot);
        if is_not && !is_forbidden || is_forbidden && parts.name("never").is_some() {
            return None;
        }
        let what = parts["what"].trim_end();
        let what = what.strip_suffix(['.', ';', '!']).unwrap_or(what);
        Some(Self {
            subject,
            is_negated: is_forbidden || parts.name("never").is_some(),
            what: what.to_owned(),
        })
    }

    /// The same with the run's numbers in place of their names. A name without `_` or `-` may be a word like any other, and stays.
    pub(super) fn with_numbers(mut self, inputs: &BTreeMap<String, Value>) -> Self {
        let number = |word: &str| {
            let name = word.trim_matches('`');
            let number = inputs
                .get(name)
                .filter(|_| name.contains(['_', '-']))?
                .as_f64()?;
            let is_whole = number.fract() == 0.0 && (0.0..1e7).contains(&number);
            is_whole.then(|| format!("{number:.0}"))
        };
        if !self.what.contains(['"', '“', '”']) {
            let words = self.what.split(' ');
            let words: Vec<String> = words
                .map(|word| number(word).unwrap_or(word.to_owned()))
                .collect();
            self.what = words.join(" ");
        }
        self
    }
}

/// True if a text makes a condition. What it quotes does not.
pub(super) fn is_conditional(text: &str) -> bool {
    let unquoted = text.split(['"', '“', '”']).step_by(2);
    unquoted.into_iter().any(|part| CONDITION.is_match(part))
}

fn subject(words: &str, agent: &str) -> Option<Subject> {
    static AGENT: LazyLock<Regex> = LazyLock::new(|| {
        regex("(?i)^(?:|you|(?:the|this) (?:agent|assistant|orchestrator|model))$")
    });
    static ANSWERS: LazyLock<Regex> = LazyLock::new(|| regex(&format!("(?i)^{}$", the_answer())));
    if AGENT.is_match(words) {
        return Some(Subject::Agent);
    }
    if ANSWERS.is_match(words) {
        return Some(Subject::Answer);
    }
    let name = words
        .get(..4)
        .filter(|the| the.eq_ignore_ascii_case("the "));
    let name = name.map_or(words, |_| &words[4..]);
    (!agent.is_empty() && key(name) == key(agent)).then_some(Subject::Agent)
}

/// A constant that a test compiles.
pub(super) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the forms are constants that a test compiles")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(level: Level, text: &str) -> Option<(Subject, bool, String)> {
        let rule = Rule {
            id: "R1".into(),
            level,
            text: text.into(),
            section: String::new(),
            above: Vec::new(),
            line: 1,
        };
        Duty::read(&rule, "article-writer").map(|d| (d.subject, d.is_negated, d.what))
    }

    #[test]
    fn a_plain_sentence_is_taken_apart() {
        use Level::{Must, MustNot, Should, ShouldNot};
        use Subject::{Agent, Answer};
        for (level, text, subject, is_negated, what) in [
            (
                Must,
                "You MUST ask  the critic.",
                Agent,
                false,
                "ask the critic",
            ),
            (
                MustNot,
                "You MUST NOT ask the critic",
                Agent,
                true,
                "ask the critic",
            ),
            (
                Should,
                "The answer SHOULD be short;",
                Answer,
                false,
                "be short",
            ),
            (
                ShouldNot,
                "Your draft SHOULD NOT be long.",
                Answer,
                true,
                "be long",
            ),
            (
                Must,
                "The Article Writer MUST never shout",
                Agent,
                true,
                "shout",
            ),
            (Must, "SHALL always be JSON", Agent, false, "be JSON"),
        ] {
            let wanted = Some((subject, is_negated, what.to_owned()));
            assert_eq!(read(level, text), wanted, "{text}");
        }
    }

    #[test]
    fn other_sentences_are_not() {
        for (level, text) in [
            (Level::Must, "If asked, you MUST answer."),
            (Level::Must, "You MUST answer and SHOULD be brief."),
            (Level::Must, "The draft MUST be short."),
            (Level::Must, "The critic MUST be kind."),
            (Level::MustNot, "You MUST NOT never ask."),
            (Level::Must, "You MUST NOT ask."),
            (Level::Must, "You must ask."),
            (Level::Must, "You MUST"),
            (Level::Must, ""),
        ] {
            assert_eq!(read(level, text), None, "{text}");
        }
    }

    #[test]
    fn conditions_are_seen_but_not_in_quotations() {
        assert!(is_conditional("ask X if need be"));
        assert!(is_conditional("When the user is angry"));
        assert!(!is_conditional("say \"if you like\" at the end"));
        assert!(!is_conditional("Gift wrapping"));
    }
}
