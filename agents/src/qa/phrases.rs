//! Words and phrases, found whole and whatever their endings.

use std::{cell::OnceCell, ops::Range};

use rust_stemmers::Stemmer;
use serde_json::json;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use super::{
    folded::{Folded, excerpt, line},
    language::{self, Language},
    text::Text,
};

/// Longer words keep their endings.
const LONGEST_WORD: usize = 40;

/// A longer phrase is found as it is written.
const MOST_WORDS: usize = 50;

/// Words of fewer letters begin too many others.
const SHORTEST_BEGINNING: usize = 3;

/// The words of a draft, links and hashtags among them, ready for searching.
pub(super) struct Phrases<'a> {
    folded: &'a str,
    stemmer: Option<Stemmer>,
    /// Each word's stem and where it stands in the folded draft.
    words: OnceCell<Vec<(String, Range<usize>)>>,
}

impl<'a> Phrases<'a> {
    /// In this language, or in that which the text is surely in.
    pub(super) fn new(text: &'a Text, language: Option<Language>) -> Self {
        let language = language.or_else(|| language::of(text));
        Self {
            folded: text.folded.as_str(),
            stemmer: language.and_then(Language::stemmer),
            words: OnceCell::new(),
        }
    }

    /// That a phrase is not there, as evidence, with what was looked for.
    pub(super) fn absence(&self) -> String {
        let sought = match self.stemmer {
            Some(_) => "with other endings either",
            None => {
                "nor at the beginning of a longer word (for all other endings the language would have to be known)"
            }
        };
        format!("nowhere in the draft, {sought}")
    }

    /// Where a phrase stands first, with what stands there. A phrase of words is found as words with nothing but white space and hyphens
    /// between them, each of which may have another ending or go on; one with other characters in it as it is written.
    pub(super) fn find(&self, text: &Text, phrase: &str) -> Option<String> {
        let phrase = Folded::new(phrase);
        let is_phrase = phrase.as_str().unicode_words().count() <= MOST_WORDS
            && has_only_words(phrase.as_str());
        let place = match is_phrase {
            true => text.folded.origin(self.words_of(phrase.as_str())?),
            false => text.folded.whole(&phrase)?,
        };
        let number = line(&text.raw, place.start);
        Some(format!(
            "line {number}: {}",
            json!(excerpt(&text.raw[place]))
        ))
    }

    fn words_of(&self, phrase: &str) -> Option<Range<usize>> {
        let wanted = phrase.unicode_words();
        let wanted: Vec<(&str, String)> = wanted.map(|word| (word, self.stem(word))).collect();
        let words = self.words.get_or_init(|| {
            let words = self.folded.unicode_word_indices();
            let read = words.map(|(start, word)| (self.stem(word), start..start + word.len()));
            read.collect()
        });
        let mut places = words.windows(wanted.len().max(1));
        let found = places.find(|there| {
            let mut pairs = there.iter().zip(&wanted);
            let are_words = pairs.all(|((stem, place), (word, wanted))| {
                let there = &self.folded[place.clone()];
                let owner = there.strip_suffix("'s");
                let is_owner = |o: &str| o == *word || self.stem(o) == *wanted;
                stem == wanted || goes_on(word, there) || owner.is_some_and(is_owner)
            });
            let mut gaps = there.windows(2).map(|pair| pair[0].1.end..pair[1].1.start);
            are_words && gaps.all(|gap| is_gap(&self.folded[gap]))
        })?;
        Some(found.first()?.1.start..found.last()?.1.end)
    }

    fn stem(&self, word: &str) -> String {
        let composed: String = word.nfc().collect();
        match &self.stemmer {
            Some(stemmer) if composed.chars().count() <= LONGEST_WORD => {
                stemmer.stem(&composed).into_owned()
            }
            _ => composed,
        }
    }
}

/// Whether a word of the draft is this one, or begins with it.
fn goes_on(word: &str, there: &str) -> bool {
    there.starts_with(word) && (there == word || word.chars().count() >= SHORTEST_BEGINNING)
}

fn has_only_words(phrase: &str) -> bool {
    let mut end = 0;
    let mut words = phrase.unicode_word_indices().peekable();
    let some = words.peek().is_some();
    let between = words.all(|(start, word)| {
        let is_free = is_gap(&phrase[end..start]);
        end = start + word.len();
        is_free
    });
    some && between && is_gap(&phrase[end..])
}

/// Whether two words with this between them are one phrase.
fn is_gap(between: &str) -> bool {
    between.chars().all(|c| {
        c.is_whitespace()
            || c == '_'
            || c == '*'
            || c.general_category() == GeneralCategory::DashPunctuation
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(draft: &str, phrase: &str, language: &str) -> Option<String> {
        let text = Text::new(draft);
        Phrases::new(&text, Language::named(language)).find(&text, phrase)
    }

    fn is_found(draft: &str, phrase: &str) -> bool {
        found(draft, phrase, "en").is_some()
    }

    #[test]
    fn words_are_found_with_other_endings_but_not_inside_others() {
        let place = found("We\nare GUARAN\u{ad}TEEING it.", "guarantee", "en");
        assert_eq!(place.as_deref(), Some("line 2: \"GUARAN\u{ad}TEEING\""));
        assert!(is_found("Risk-free now", "risk free"));
        assert!(is_found("so risk – free", "risk-free"));
        assert!(is_found("the #guarantee", "guarantees"));
        assert!(is_found("freedom", "free"));
        assert!(!is_found("carefree", "free"));
        assert!(!is_found("It is not", "no"));
        assert!(!is_found("It is free. Shipping costs.", "free shipping"));
    }

    #[test]
    fn a_possessive_hides_no_word() {
        for (draft, phrase, language) in [
            ("AI’s power is here.", "AI", "en"),
            ("AI's power is here.", "AI", ""),
            ("We never use the EU’s money.", "EU", "en"),
            ("Die KI’s Macht ist da.", "KI", "de"),
        ] {
            assert!(found(draft, phrase, language).is_some(), "{draft}");
        }
        assert!(is_found("You don’t need it.", "don't"));
    }

    #[test]
    fn without_a_known_language_words_may_go_on() {
        assert!(found("guaranteed", "guarantee", "").is_some());
        assert_eq!(found("guaranteed", "guarantees", ""), None);
        assert!(found("A Guarantee!", "guarantee", "").is_some());
    }

    #[test]
    fn what_is_more_than_words_is_found_as_it_is_written() {
        assert!(is_found("now 100% sure", "100%"));
        assert!(!is_found("now 100 sure", "100%"));
        assert!(!is_found("now 2100% sure", "100%"));
        assert!(is_found("$$$", "$$"));
        assert!(is_found("this is 最好的", "最好"));
        assert!(!is_found("anything", ""));
        assert!(!is_found("", "a"));
    }
}
