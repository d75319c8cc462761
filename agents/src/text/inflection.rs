//! Words that differ in their endings alone.

use rust_stemmers::Stemmer;
use unicode_normalization::UnicodeNormalization;

use super::language::Language;

/// Longer words keep their endings.
const LONGEST_WORD: usize = 40;

/// In a language whose endings are not listed, the letters by which two words of one stem may differ. With more, one is derived from the
/// other, as *organization* from *organ*.
const LONGEST_ENDING: usize = 3;

/// The endings of a language's words.
pub(crate) struct Endings {
    stemmer: Stemmer,
    known: Vec<&'static str>,
}

impl Endings {
    /// Endings of a language; `None` if they are not listed.
    pub(crate) fn of(language: Language) -> Option<Self> {
        Some(Self {
            stemmer: language.stemmer()?,
            known: language.endings(),
        })
    }

    pub(crate) fn stem(&self, word: &str) -> String {
        let composed: String = word.nfc().collect();
        match composed.chars().count() <= LONGEST_WORD {
            true => self.stemmer.stem(&composed).into_owned(),
            false => composed,
        }
    }

    /// True if two words of the same stem differ by an ending alone.
    pub(crate) fn differ(&self, one: &str, other: &str) -> bool {
        let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
        let shared: Vec<char> = shared.map(|(c, _)| c).collect();
        let rest = |word: &str| -> String { word.chars().skip(shared.len()).collect() };
        let is_ending = |rest: String| {
            if self.known.is_empty() {
                return rest.chars().count() <= LONGEST_ENDING;
            }
            // The last letter may be doubled, or be an e or a y that an ending takes the place of.
            let doubled = shared.last().and_then(|last| rest.strip_prefix(*last));
            let of_y = rest.strip_prefix('i');
            matches!(&*rest, "" | "e" | "y")
                || [Some(&*rest), doubled, of_y]
                    .into_iter()
                    .flatten()
                    .any(|r| self.known.contains(&r))
        };
        is_ending(rest(one)) && is_ending(rest(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_makes_no_other_word_and_a_derivation_does() {
        let same = |language: &str, one: &str, other: &str| {
            let endings = Language::named(language)
                .and_then(Endings::of)
                .expect("it is known");
            endings.stem(one) == endings.stem(other) && endings.differ(one, other)
        };
        for (one, other) in [
            ("car", "cars"),
            ("compost", "composting"),
            ("guarantees", "guaranteed"),
            ("stop", "stopped"),
            ("city", "cities"),
            ("bake", "baking"),
        ] {
            assert!(same("en", one, other), "{one} {other}");
        }
        for (one, other) in [
            ("organ", "organization"),
            ("universe", "universal"),
            ("car", "care"),
            ("new", "news"),
        ] {
            assert!(!same("en", one, other), "{one} {other}");
        }
        assert!(same("de", "garantie", "garantien"));
    }
}
