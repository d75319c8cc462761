//! Words and phrases in a draft: word for word, with other endings, spelled otherwise, and in longer words.

use std::{cell::OnceCell, ops::Range};

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use super::script::is_unspaced;
use super::{
    folded::Folded,
    inflection::Endings,
    language::{self, Language},
    literal,
    numbers::{self, Bare},
    parsed::Text,
    sightings::{Kind, Sightings},
};

/// A longer phrase is found as it is written.
const MOST_WORDS: usize = 50;

/// Shorter words are others with an *s* at their end too often: *new* and *news*.
const SHORTEST_PLURAL: usize = 4;

/// Words of fewer letters are in too many others.
const SHORTEST_PART: usize = 3;

/// Two words that share a beginning may be forms of one, as *bringen* and *bringt*, if it has this many letters and no more letters follow
/// than these. A shorter one may be a form of what has one letter more, as *Tag* of *Tage*.
const SHORTEST_SHARED: usize = 4;
const LONGEST_REST: usize = 3;
const SHORTEST_STEM: usize = 3;

const SPELLED_OTHERWISE: &str = "spelled otherwise";
const APART: &str = "with a dash or an empty line between its words";

/// The words of a draft, links and hashtags among them, ready for searching.
pub(crate) struct Phrases<'a> {
    folded: &'a str,
    endings: Option<Endings>,
    /// Each word's stem and where it stands in the folded draft.
    words: OnceCell<Vec<Word>>,
    /// The folded draft with its numbers as they are compared.
    bare: OnceCell<Bare>,
}

struct Word {
    stem: String,
    /// By [`Spelling`].
    spelled: [String; 2],
    place: Range<usize>,
}

/// Common form of several spellings.
#[derive(Clone, Copy)]
enum Spelling {
    /// Without hyphens, marks on letters and separators in numbers.
    Plain,
    /// The same, with two letters for an umlaut.
    WrittenOut,
}

impl<'a> Phrases<'a> {
    /// In this language, or in that which the text is surely in.
    pub(crate) fn new(text: &'a Text, language: Option<Language>) -> Self {
        let language = language.or_else(|| language::of(text));
        Self {
            folded: text.folded.as_str(),
            endings: language.and_then(Endings::of),
            words: OnceCell::new(),
            bare: OnceCell::new(),
        }
    }

    /// Evidence that a phrase is not there, with what was looked for.
    pub(crate) fn absence(&self) -> String {
        let sought = match self.endings {
            Some(_) => "other forms of it were looked for by their endings alone",
            None => "other forms of it were hardly looked for, as the language is not known",
        };
        format!("not found in the draft; {sought}")
    }

    /// All ways in which a phrase stands in the draft. A phrase of words is found as words with nothing but white space and hyphens between
    /// them, too, each of which may have another ending or go on; one with other characters in it only as it is written.
    pub(crate) fn find(&self, text: &Text, phrase: &str) -> Sightings {
        let mut found = literal::sightings(text, phrase);
        let folded = Folded::new(phrase);
        if !found.is_exact() && folded.as_str().contains(char::is_numeric) {
            let bare = self.bare.get_or_init(|| Bare::new(self.folded));
            numbers::find(bare, text, &folded, &mut found);
        }
        let wanted: Vec<&str> = folded.as_str().unicode_words().collect();
        let is_phrase =
            (1..=MOST_WORDS).contains(&wanted.len()) && !folded.as_str().chars().any(is_unspaced);
        if found.is_exact() || !is_phrase || !has_only_words(folded.as_str()) {
            return found;
        }
        self.find_words(text, phrase, &wanted, &mut found);
        if !found.is_said() {
            for spelling in [Spelling::Plain, Spelling::WrittenOut] {
                self.find_spelled_otherwise(text, &wanted, &mut found, spelling);
            }
        }
        found
    }

    fn words(&self) -> &[Word] {
        self.words.get_or_init(|| {
            let words = self.folded.unicode_word_indices();
            let read = words.map(|(start, word)| Word {
                stem: self.stem(word),
                spelled: [plain(word), written_out(word)],
                place: start..start + word.len(),
            });
            read.collect()
        })
    }

    fn stem(&self, word: &str) -> String {
        match &self.endings {
            Some(endings) => endings.stem(word),
            None => word.nfc().collect(),
        }
    }

    /// The phrase as words, with other endings and in longer words.
    fn find_words(&self, text: &Text, phrase: &str, wanted: &[&str], found: &mut Sightings) {
        let stems: Vec<String> = wanted.iter().map(|word| self.stem(word)).collect();
        for there in self.words().windows(wanted.len()) {
            let pairs = there.iter().zip(wanted.iter().zip(&stems));
            let pairs = pairs.map(|(there, (word, stem))| self.kind(there, word, stem));
            let Some(kinds) = pairs.collect::<Option<Vec<Kind>>>() else {
                continue;
            };
            let (Some(first), Some(last)) = (there.first(), there.last()) else {
                continue;
            };
            let place = text.folded.origin(first.place.clone()).start
                ..text.folded.origin(last.place.clone()).end;
            let is_weaker = |other: &Kind| kinds.contains(other);
            let mut kind = Kind::Spaced;
            if is_weaker(&Kind::Inflected) {
                kind = Kind::Inflected;
            }
            if is_weaker(&Kind::Longer) {
                kind = Kind::Longer;
            }
            if is_weaker(&Kind::Akin) {
                kind = Kind::Akin;
            }
            let gaps = there.windows(2).map(|pair| {
                let gap = pair[0].place.end..pair[1].place.start;
                let of_text = text.folded.origin(pair[0].place.clone()).end
                    ..text.folded.origin(pair[1].place.clone()).start;
                gap_between(&self.folded[gap], text.raw.get(of_text).unwrap_or_default())
            });
            let Some(gaps) = gaps.collect::<Option<Vec<bool>>>() else {
                continue;
            };
            if gaps.contains(&false) && !matches!(kind, Kind::Longer | Kind::Akin) {
                kind = Kind::Unsure(APART);
            }
            // A word as it is, the search for the phrase itself has seen.
            let is_seen = literal::is_abbreviation(phrase) && kind == Kind::Spaced;
            let is_other = literal::is_abbreviation(phrase)
                && !text.raw[place.clone()].starts_with(phrase.trim());
            if is_other {
                kind = Kind::Unsure(literal::OTHER_CASE);
            }
            let is_in_a_link =
                !literal::is_of_a_link(phrase) && literal::is_in_a_link(text, &place);
            if !is_seen && !is_in_a_link {
                found.push(kind, place);
            }
            if found.is_said() {
                return;
            }
        }
    }

    /// The kind of match of a word of the draft with this one, if it is one.
    fn kind(&self, there: &Word, word: &str, stem: &str) -> Option<Kind> {
        let written = &self.folded[there.place.clone()];
        if written == word {
            return Some(Kind::Spaced);
        }
        if there.spelled[Spelling::Plain as usize] == plain(word) {
            // Spelled otherwise.
            return None;
        }
        let differs = |other: &str| {
            let endings = self.endings.as_ref();
            endings.is_some_and(|endings| endings.differ(other, word))
        };
        let owner = written.strip_suffix("'s");
        let is_owner = |o: &str| o == word || (self.stem(o) == stem && differs(o));
        if (there.stem == stem && differs(written)) || owner.is_some_and(is_owner) {
            return Some(Kind::Inflected);
        }
        // Where the language is not known, this ending is taken for one: so many have it.
        let is_plural = self.endings.is_none()
            && written.strip_suffix('s') == Some(word)
            && !word.ends_with('s')
            && word.chars().count() >= SHORTEST_PLURAL;
        if is_plural {
            return Some(Kind::Inflected);
        }
        let goes_on = written.contains(word) && word.chars().count() >= SHORTEST_PART;
        match goes_on || there.stem == stem {
            true => Some(Kind::Longer),
            false => is_akin(written, word).then_some(Kind::Akin),
        }
    }

    /// The phrase with hyphens, spaces, accents or separators in numbers where it has none, or the other way round.
    fn find_spelled_otherwise(
        &self,
        text: &Text,
        wanted: &[&str],
        found: &mut Sightings,
        spelling: Spelling,
    ) {
        let spelled = |word: &&str| match spelling {
            Spelling::Plain => plain(word),
            Spelling::WrittenOut => written_out(word),
        };
        let key: String = wanted.iter().map(spelled).collect();
        let has_umlaut = ["ae", "oe", "ue"]
            .iter()
            .any(|letters| key.contains(letters));
        if matches!(spelling, Spelling::WrittenOut) && !has_umlaut {
            return;
        }
        let words = self.words();
        for first in 0..words.len() {
            let mut rest = key.as_str();
            for (n, word) in words[first..].iter().enumerate() {
                let written = &*word.spelled[spelling as usize];
                let Some(left) = rest.strip_prefix(written) else {
                    break;
                };
                let is_joined = n == 0 || {
                    let gap = words[first + n - 1].place.end..word.place.start;
                    matches!(&self.folded[gap], "" | "-" | " " | "'" | ".")
                };
                if !is_joined || written.is_empty() {
                    break;
                }
                rest = left;
                if rest.is_empty() {
                    let place = text.folded.origin(words[first].place.clone()).start
                        ..text.folded.origin(word.place.clone()).end;
                    found.push(Kind::Unsure(SPELLED_OTHERWISE), place);
                    return;
                }
            }
        }
    }
}

/// A word without what spellings differ in.
fn plain(word: &str) -> String {
    let is_number = word.chars().all(|c| !c.is_alphabetic());
    let chars = word.nfd().filter(|c| !is_combining_mark(*c));
    let chars = chars.filter(|c| !is_number || c.is_numeric());
    chars.collect::<String>().replace('ß', "ss")
}

/// The same, with two letters for an umlaut.
fn written_out(word: &str) -> String {
    if word.is_ascii() {
        return plain(word);
    }
    let composed: String = word.nfc().collect();
    let umlauts = [("ä", "ae"), ("ö", "oe"), ("ü", "ue")];
    let written = umlauts
        .into_iter()
        .fold(composed, |word, (umlaut, letters)| {
            word.replace(umlaut, letters)
        });
    plain(&written)
}

/// True if two words may be forms of one, by how they begin and how little follows.
fn is_akin(one: &str, other: &str) -> bool {
    let is_word = |word: &str| word.chars().all(char::is_alphabetic);
    let (one, other) = (&*plain(one), &*plain(other));
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    let shared = shared.count();
    let lengths = [one, other].map(|word| word.chars().count());
    let shortest = lengths.into_iter().min().unwrap_or_default();
    let longest = lengths.into_iter().max().unwrap_or_default();
    let is_stem = shared == shortest && shared >= SHORTEST_STEM && longest - shortest == 1;
    (shared >= SHORTEST_SHARED || is_stem)
        && 3 * shared >= 2 * shortest
        && lengths
            .into_iter()
            .all(|length| length - shared <= LONGEST_REST)
        && is_word(one)
        && is_word(other)
}

/// Tells whether two words with this between them may be one phrase, and if so, whether they are to every reader.
fn gap_between(folded: &str, raw: &str) -> Option<bool> {
    if !is_gap(folded) {
        return None;
    }
    let has_space = folded.contains(' ');
    let has_dash = folded
        .chars()
        .any(|c| c.general_category() == GeneralCategory::DashPunctuation);
    let has_empty_line = raw.matches('\n').count() > 1;
    let is_apart = has_empty_line || (has_space && has_dash);
    Some(!is_apart)
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

/// True if two words with this between them are one phrase.
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

    /// Tells whether a draft says a phrase, if all readers agree.
    fn said(draft: &str, phrase: &str, language: &str) -> Option<bool> {
        let text = Text::new(draft);
        let phrases = Phrases::new(&text, Language::named(language));
        let found = phrases.find(&text, phrase);
        found.is_said_in(&text, phrases.absence()).0
    }

    fn place(draft: &str, phrase: &str) -> String {
        let text = Text::new(draft);
        let phrases = Phrases::new(&text, Language::named("en"));
        phrases
            .find(&text, phrase)
            .is_said_in(&text, String::new())
            .1
    }

    #[test]
    fn words_are_found_with_other_endings() {
        let place = place("We\nare GUARAN\u{ad}TEEING it.", "guarantee");
        assert_eq!(place, "line 2: \"GUARAN\u{ad}TEEING\"");
        for (draft, phrase) in [
            ("Risk-free now", "risk free"),
            ("the #guarantee", "guarantees"),
            ("AI’s power is here.", "AI"),
            ("We never use the EU’s money.", "EU"),
            ("You don’t need it.", "don't"),
            ("now 100% sure", "100%"),
            ("$$$", "$$"),
        ] {
            assert_eq!(said(draft, phrase, "en"), Some(true), "{phrase} in {draft}");
        }
        assert_eq!(said("Die KI’s Macht ist da.", "KI", "de"), Some(true));
        assert_eq!(said("A Guarantee!", "guarantee", ""), Some(true));
        assert_eq!(said("Brakes!", "brake", ""), Some(true));
        assert_eq!(said("The news", "new", ""), None);
    }

    /// A longer word may be the same or another one; a reader has to say.
    #[test]
    fn in_a_longer_word_or_spelled_otherwise_a_phrase_may_be_said_or_not() {
        for (draft, phrase, language) in [
            ("a cargo of care", "car", "en"),
            ("The Cheapest!", "cheap", "en"),
            ("freedom", "free", "en"),
            ("carefree", "free", "en"),
            ("an organization", "organ", "en"),
            ("guaranteed", "guarantee", ""),
            ("Gartenarbeit", "Arbeit", "de"),
            ("The train stops", "rain", "en"),
            ("a nice price", "ice", "en"),
            ("Never late", "ever", "en"),
            ("the course", "our", "en"),
            ("Ein Kurs", "Kurse", ""),
            ("Der Tag", "Tage", ""),
            ("Ein Haus", "Häuser", ""),
            ("See #swim2027", "2027", "en"),
            ("carefree shipping", "free shipping", "en"),
            ("Write us an e-mail", "email", "en"),
            ("Write us an email", "e-mail", "en"),
            ("our web site", "website", "en"),
            ("the cafe", "café", "en"),
            ("STRASSE", "Straße", "de"),
            ("die Masse", "Maße", "de"),
            ("1 000 loaves", "1,000", "en"),
            ("join us", "US", "en"),
            ("the risk – free coffee", "risk-free", "en"),
            ("- free\n- shipping", "free shipping", "en"),
            ("这是最好的", "最好", ""),
        ] {
            assert_eq!(said(draft, phrase, language), None, "{phrase} in {draft}");
        }
        let told = place("a cargo ship", "car");
        assert_eq!(
            told,
            "only in a longer word or number (line 1: \"cargo\"), which may count or not"
        );
    }

    #[test]
    fn what_is_not_there_is_not_said() {
        for (draft, phrase) in [
            ("It is not", "no"),
            ("It is free. Shipping costs.", "free shipping"),
            ("now 100 sure", "100%"),
            ("now 2100% sure", "100%"),
            ("anything", ""),
            ("", "a"),
        ] {
            assert_eq!(
                said(draft, phrase, "en"),
                Some(false),
                "{phrase} in {draft}"
            );
        }
    }
}
