//! Words and phrases, found whole and whatever their endings.

use std::{cell::OnceCell, collections::HashMap, ops::Range};

use rust_stemmers::Stemmer;
use serde_json::json;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use super::{
    folded::{Folded, excerpt, line},
    language::Language,
    text::Text,
};

/// Longer words keep their endings.
const LONGEST_WORD: usize = 40;

/// A longer phrase is found as it is written.
const MOST_WORDS: usize = 50;

/// The words of a draft, links and hashtags among them, ready for searching.
pub(super) struct Phrases<'a> {
    folded: &'a str,
    stemmer: Option<Stemmer>,
    words: OnceCell<Words>,
}

/// The words by their stems.
struct Words {
    /// Each word's stem and where it stands in the folded draft.
    all: Vec<(String, Range<usize>)>,
    /// For each stem the words that have it.
    by_stem: HashMap<String, Vec<usize>>,
}

impl<'a> Phrases<'a> {
    pub(super) fn new(text: &'a Text, language: Option<Language>) -> Self {
        Self {
            folded: text.folded.as_str(),
            stemmer: language.and_then(Language::stemmer),
            words: OnceCell::new(),
        }
    }

    /// What counts as the same word, for evidence.
    pub(super) fn tolerance(&self) -> &'static str {
        match self.stemmer {
            Some(_) => "with other endings either",
            None => "as it is written (for other endings the language would have to be known)",
        }
    }

    /// Where a phrase stands first, with what stands there. A phrase of words is found as whole words with nothing but white space and
    /// hyphens between them; one with other characters in it as it is written.
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
        let wanted: Vec<String> = phrase.unicode_words().map(|w| self.stem(w)).collect();
        let words = self.words.get_or_init(|| self.read());
        let fits = |&&start: &&usize| {
            let there = words
                .all
                .get(start..start + wanted.len())
                .unwrap_or_default();
            let are_words = there.iter().map(|(stem, _)| stem).eq(&wanted);
            let gaps = there.windows(2).map(|pair| pair[0].1.end..pair[1].1.start);
            are_words && gaps.map(|gap| &self.folded[gap]).all(is_gap)
        };
        let starts = words.by_stem.get(wanted.first()?)?;
        let first = *starts.iter().find(fits)?;
        let last = first + wanted.len() - 1;
        Some(words.all[first].1.start..words.all[last].1.end)
    }

    fn read(&self) -> Words {
        let words = self.folded.unicode_word_indices();
        let all: Vec<_> = words
            .map(|(start, word)| (self.stem(word), start..start + word.len()))
            .collect();
        let mut by_stem: HashMap<_, Vec<_>> = HashMap::new();
        for (index, (stem, _)) in all.iter().enumerate() {
            by_stem.entry(stem.clone()).or_default().push(index);
        }
        Words { all, by_stem }
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
    fn words_are_found_whole_and_with_other_endings() {
        let place = found("We\nare GUARAN\u{ad}TEEING it.", "guarantee", "en");
        assert_eq!(place.as_deref(), Some("line 2: \"GUARAN\u{ad}TEEING\""));
        assert!(is_found("Risk-free now", "risk free"));
        assert!(is_found("so risk – free", "risk-free"));
        assert!(is_found("the #guarantee", "guarantees"));
        assert!(!is_found("freedom", "free"));
        assert!(!is_found("It is free. Shipping costs.", "free shipping"));
    }

    #[test]
    fn without_a_known_language_words_are_taken_as_they_are() {
        assert_eq!(found("guaranteed", "guarantee", ""), None);
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
