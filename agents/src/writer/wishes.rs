//! Wishes for a draft: those of the payload, and those in the notes of a review.

use serde_json::{Map, Value};

use super::material::{capital, texts, unwrapped};
use crate::{
    fields::FORBIDDEN,
    qa::{Fix, Knobs},
    text::measured::Measured,
};

/// Wishes for a draft.
#[derive(Default)]
pub(super) struct Wishes {
    /// Texts that it has to have.
    pub(super) include: Vec<String>,
    /// Lists of texts of which it has to have one.
    pub(super) include_one_of: Vec<Vec<String>>,
    /// Texts that it may not have.
    pub(super) exclude: Vec<String>,
    pub(super) at_most: Vec<(Measured, u64)>,
    pub(super) at_least: Vec<(Measured, u64)>,
    pub(super) lix: Option<f64>,
    pub(super) sentence_words: Option<u64>,
    pub(super) knobs: Knobs,
    /// A review found the draft too far off its knobs.
    pub(super) is_off: bool,
    pub(super) language: String,
    /// Notes that nothing can be computed from.
    pub(super) open: Vec<String>,
}

impl Wishes {
    /// Reads the payload of a draft.
    pub(super) fn read(input: &Value) -> Self {
        let brief = unwrapped(&input["writerBrief"]);
        // What the request says itself comes before what its brief says.
        let either = |field: &str| match &input[field] {
            Value::Null => &brief[field],
            said => said,
        };
        let mut wishes = Self {
            knobs: Knobs::read(either("knobs").as_object().unwrap_or(&Map::new())),
            language: either("language").as_str().unwrap_or_default().to_owned(),
            ..Self::default()
        };
        for source in [&input["mustInclude"], &brief["mustInclude"]] {
            texts(source)
                .into_iter()
                .for_each(|text| wishes.include(text));
        }
        for rules in [&brief["platformRules"], &input["platformRules"]] {
            for (name, value) in rules.as_object().into_iter().flatten() {
                wishes.rule(name, value);
            }
        }
        for rules in [&brief["brandRules"], &input["brandRules"]] {
            wishes
                .exclude
                .extend(FORBIDDEN.iter().flat_map(|list| texts(&rules[*list])));
        }
        for note in texts(&input["revisionNotes"]) {
            match Fix::read(&note) {
                Some(fix) => wishes.fix(fix, &note),
                None => wishes.open.push(note),
            }
        }
        wishes
    }

    /// True if hashtags are asked for.
    pub(super) fn wants_hashtags(&self) -> bool {
        let mut least = self.at_least.iter();
        least.any(|(what, least)| *what == Measured::Hashtags && *least > 0)
            || self.knobs.measures("hashtag_share")
    }

    fn include(&mut self, text: String) {
        if !self.include.contains(&text) {
            self.include.push(text);
        }
    }

    /// A text that a review misses counts in capital letters as well, so it begins as a sentence does; an address stays as it is.
    fn add(&mut self, text: String) {
        let is_one_word = !text.trim().contains(char::is_whitespace);
        let is_known = self
            .include
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&text));
        match (is_known, is_one_word) {
            (true, _) => {}
            (false, true) => self.include(text),
            (false, false) => self.include(capital(&text)),
        }
    }

    fn rule(&mut self, name: &str, value: &Value) {
        let letters: String = name.chars().filter(|c| c.is_alphabetic()).collect();
        let lower = letters.to_lowercase();
        let after = |start: &str| lower.strip_prefix(start).and_then(Measured::named);
        let in_text = || value.as_str()?.trim().parse().ok();
        let number = value.as_u64().or_else(in_text);
        match (after("max"), after("min"), after("allow"), number) {
            _ if value.is_null() => {}
            (Some(what), _, _, Some(most)) => self.at_most.push((what, most)),
            (_, Some(what), _, Some(least)) => self.at_least.push((what, least)),
            (_, _, Some(what), _) if value == &Value::Bool(false) => self.at_most.push((what, 0)),
            (_, _, Some(_), _) if value == &Value::Bool(true) => {}
            _ => self.open.push(format!("the rule {name}: {value}")),
        }
    }

    fn fix(&mut self, fix: Fix, note: &str) {
        match fix {
            Fix::Append(text) => self.add(text),
            Fix::AppendOneOf(texts) => self.include_one_of.push(texts),
            Fix::Remove(text) => self.exclude.push(text),
            Fix::AtMost(what, most) => self.at_most.push((what, most)),
            Fix::AtLeast(what, least) => self.at_least.push((what, least)),
            Fix::Easier(lix) => self.lix = Some(self.lix.map_or(lix, |known| known.min(lix))),
            Fix::ShortSentences(words) => {
                self.sentence_words = Some(self.sentence_words.map_or(words, |w| w.min(words)));
            }
            Fix::Knob { .. } => self.is_off = true,
            Fix::Language(_) => self.open.push(note.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// spec: ORC-5.2, ORC-10
    #[test]
    fn rules_and_notes_become_wishes() {
        let wishes = Wishes::read(&json!({
            "writerBrief": {"mustInclude": ["a", "b"], "platformRules": {"maxHashtags": 3}, "language": "xx"},
            "mustInclude": ["b", "c"],
            "platformRules": {"maxCharacters": 280, "allowEmoji": false, "minWords": 5, "voice": "calm"},
            "brandRules": {"forbidden": ["cheap"]},
            "revisionNotes": [
                "must_include: a required text is missing; add \"d e\".",
                "must_include: a required text is missing; add \"x.example\".",
                "too_long: the draft has 300 characters; keep to at most 250 characters.",
                "forbidden: it is said (line 1); remove \"best\".",
                "readability: hard; bring LIX down to 40.",
                "long_sentence: long; keep sentences to at most 12 words.",
                "make it warmer",
            ],
        }));
        assert_eq!(wishes.include, ["b", "c", "a", "D e", "x.example"]);
        assert_eq!(wishes.exclude, ["cheap", "best"]);
        let most = [
            (Measured::Hashtags, 3),
            (Measured::Characters, 280),
            (Measured::Emoji, 0),
            (Measured::Characters, 250),
        ];
        assert_eq!(wishes.at_most, most);
        assert_eq!(wishes.at_least, [(Measured::Words, 5)]);
        assert_eq!((wishes.lix, wishes.sentence_words), (Some(40.0), Some(12)));
        assert_eq!(wishes.language, "xx");
        assert_eq!(wishes.open, ["the rule voice: \"calm\"", "make it warmer"]);
    }
}
