//! Material of a draft: the sentences of a brief, in their own words.

use serde_json::Value;

use super::blocks::{Stretch, stretches};
use crate::text::sentences;

/// The sentences that are looked at, and the longest, in characters.
const MAX_SENTENCES: usize = 40;
const MAX_LENGTH: usize = 600;

/// The sentences of a body of which the first can stand alone.
const ENOUGH: usize = 3;

/// Fields of a brief with the parts of a text.
const OPENING: [&str; 2] = ["headline", "hook"];
const BODY: [&str; 8] = [
    "description",
    "about",
    "summary",
    "message",
    "keyMessages",
    "keyPoints",
    "facts",
    "benefits",
];
const CLOSING: [&str; 4] = ["callToAction", "cta", "link", "links"];

/// Fields that are taken where none of these is there.
const ELSE: [&str; 3] = ["clientBrief", "brief", "objective"];

/// Fields with what a text is made of, and what it is for: no rules for it.
pub(crate) fn is_material(field: &str) -> bool {
    let parts = OPENING.iter().chain(&BODY).chain(&CLOSING).chain(&ELSE);
    parts.chain(&["emoji"]).any(|name| *name == field)
}

/// True if the text of this field of a brief goes into a draft: nothing, a text, or a list of texts.
pub(super) fn is_read(brief: &Value, field: &str) -> bool {
    let is_text = |value: &Value| value.is_string() || value.is_null();
    let value = &brief[field];
    let is_readable = is_text(value)
        || value
            .as_array()
            .is_some_and(|items| items.iter().all(is_text));
    let parts = || OPENING.iter().chain(&BODY).chain(&CLOSING);
    let is_part = parts().any(|part| *part == field);
    let is_else = || {
        let has_parts = parts().any(|part| !texts(&brief[*part]).is_empty());
        let first = ELSE.iter().find(|name| brief[**name].is_string());
        !has_parts && first.is_some_and(|first| *first == field)
    };
    is_readable && (is_part || ["hashtags", "emoji"].contains(&field) || is_else())
}

/// The part of a text that a sentence belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Opening,
    Body,
    Closing,
}

/// Sentences of a brief.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Material {
    /// Each sentence, and each block of lines that stay as they are, once, in the order of the text.
    pub(super) sentences: Vec<(Part, String)>,
    pub(super) hashtags: Vec<String>,
    pub(super) emoji: Vec<String>,
}

impl Material {
    /// Reads the brief of a draft, which is a text or an object.
    pub(super) fn read(brief: &Value) -> Self {
        let brief = unwrapped(brief);
        let mut material = Self {
            hashtags: texts(&brief["hashtags"]),
            emoji: texts(&brief["emoji"]),
            ..Self::default()
        };
        if let Value::String(text) = brief {
            material.add(Part::Body, text);
            material.open();
            return material;
        }
        for (part, fields) in [
            (Part::Opening, &OPENING[..]),
            (Part::Body, &BODY),
            (Part::Closing, &CLOSING),
        ] {
            for field in fields {
                for text in texts(&brief[*field]) {
                    material.add(part, &text);
                }
            }
        }
        if material.sentences.is_empty() {
            let found = ELSE.iter().find(|field| brief[**field].is_string());
            let text = found.and_then(|field| brief[*field].as_str());
            material.add(Part::Body, text.unwrap_or_default());
        }
        material.open();
        material
    }

    /// Lets the first sentence open the text, where nothing else does and enough is left.
    fn open(&mut self) {
        let body = self
            .sentences
            .iter()
            .filter(|(part, _)| *part == Part::Body);
        let has_opening = self
            .sentences
            .iter()
            .any(|(part, _)| *part == Part::Opening);
        if body.count() >= ENOUGH
            && !has_opening
            && let Some((part, text)) = self.sentences.first_mut()
            && !text.contains('\n')
        {
            *part = Part::Opening;
        }
    }

    fn add(&mut self, part: Part, text: &str) {
        for stretch in stretches(text) {
            match stretch {
                Stretch::Prose(text) => {
                    for sentence in sentences::of(text) {
                        self.add_once(part, whole(sentence));
                    }
                }
                Stretch::Block(block) => self.add_once(part, block.to_owned()),
            }
        }
    }

    fn add_once(&mut self, part: Part, text: String) {
        let is_known = self.sentences.iter().any(|(_, known)| *known == text);
        if !is_known && self.sentences.len() < MAX_SENTENCES {
            self.sentences.push((part, text));
        }
    }

    /// Hashtags of the brief and, where more are wanted, some of its own long words.
    pub(super) fn all_hashtags(&self, wants_more: bool) -> Vec<String> {
        let given = self.hashtags.iter().map(|tag| match tag.strip_prefix('#') {
            Some(_) => tag.clone(),
            None => format!("#{tag}"),
        });
        if !wants_more {
            return given.collect();
        }
        let words = self
            .sentences
            .iter()
            .flat_map(|(_, text)| text.split_whitespace());
        let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let is_long =
            |word: &&str| word.chars().count() >= 6 && word.chars().all(char::is_alphabetic);
        let mut tags: Vec<String> = given.collect();
        for word in words.filter(is_long) {
            let tag = format!("#{}", capital(word));
            if tags.len() < 12 && !tags.iter().any(|t| t.to_lowercase() == tag.to_lowercase()) {
                tags.push(tag);
            }
        }
        tags
    }
}

/// The brief itself, where it comes as an output.
pub(crate) fn unwrapped(brief: &Value) -> &Value {
    match brief.get("brief") {
        Some(inner @ Value::Object(_)) => inner,
        _ => brief,
    }
}

/// A text, or the texts of a list.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        item => std::slice::from_ref(item),
    };
    let texts = items.iter().filter_map(Value::as_str).map(str::trim);
    texts
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The sentence with an end, without the mark of a list.
pub(super) fn whole(sentence: &str) -> String {
    let sentence = sentence.trim().trim_start_matches(['-', '*', '•']).trim();
    let kept: String = sentence.chars().take(MAX_LENGTH).collect();
    ended(&kept)
}

/// The text with a full stop where its script has one and it has no end.
pub(super) fn ended(text: &str) -> String {
    // Hashtags, names and addresses.
    let is_mark = |word: &str| word.starts_with(['#', '@']) || word.contains(['/', '.']);
    let last = text.split_whitespace().next_back().unwrap_or_default();
    match text.chars().next_back() {
        Some(c) if c.is_alphanumeric() && c < '\u{590}' && !is_mark(last) => format!("{text}."),
        _ => text.to_owned(),
    }
}

/// With a capital letter at the beginning.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_brief_is_read_by_its_parts_or_as_a_text() {
        let brief = json!({"brief": {
            "callToAction": "Join us",
            "keyMessages": ["- It is free.", "It is near."],
            "headline": "A garden for all",
            "description": "It is near. It opens in May.",
            "objective": "members",
            "hashtags": ["garden"],
        }});
        let material = Material::read(&brief);
        let expected = [
            (Part::Opening, "A garden for all."),
            (Part::Body, "It is near."),
            (Part::Body, "It opens in May."),
            (Part::Body, "It is free."),
            (Part::Closing, "Join us."),
        ];
        assert_eq!(
            material.sentences,
            expected.map(|(part, text)| (part, text.to_owned()))
        );
        assert_eq!(material.all_hashtags(false), ["#garden"]);
        let texts = |brief: Value| -> Vec<String> {
            Material::read(&brief)
                .sentences
                .into_iter()
                .map(|(_, text)| text)
                .collect()
        };
        assert_eq!(texts(json!("One. Two")), ["One.", "Two."]);
        assert_eq!(texts(json!({"objective": "Be known"})), ["Be known."]);
        assert_eq!(texts(json!(7)), [""; 0]);
        let parts = Material::read(&json!("One. Two. Three."))
            .sentences
            .into_iter()
            .map(|(part, _)| part);
        assert_eq!(
            parts.collect::<Vec<_>>(),
            [Part::Opening, Part::Body, Part::Body]
        );
    }

    #[test]
    fn sentences_get_an_end_where_they_need_one() {
        for (given, expected) in [
            ("Come", "Come."),
            ("Come!", "Come!"),
            ("* see https://a.example/x", "see https://a.example/x"),
            ("with #joy", "with #joy"),
            ("a.example/x", "a.example/x"),
            ("来てください", "来てください"),
        ] {
            assert_eq!(whole(given), expected);
        }
    }
}
