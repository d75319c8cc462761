//! Texts made comparable: whatever a reader does not see as a difference is none.

use std::{ops::Range, sync::OnceLock};

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

/// A text in Unicode's compatibility form (NFKC), in small letters, with one space for any white space and without characters that
/// cannot be seen, such as joiners and soft hyphens. It knows where in the original its pieces come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folded {
    text: String,
    /// Beginnings of pieces: in `text` and in the original. In order.
    origins: Vec<(usize, usize)>,
    /// The original's length.
    original: usize,
    /// Places where words may begin and end (UAX #29), once somebody asks.
    boundaries: OnceLock<Vec<usize>>,
}

impl Folded {
    pub(crate) fn new(original: &str) -> Self {
        let mut folded = Self {
            original: original.len(),
            ..Self::default()
        };
        for (origin, cluster) in original.grapheme_indices(true) {
            let mut start = folded.text.len();
            for c in cluster.nfkc().filter(|&c| !is_unseen(c)) {
                if c == '%' && folded.ends_with_a_number_and_space() {
                    folded.text.pop();
                    start = start.min(folded.text.len());
                }
                match c.is_whitespace() {
                    true if folded.text.ends_with(' ') || folded.text.is_empty() => {}
                    true => folded.text.push(' '),
                    false => folded.text.extend(c.to_lowercase().nfkc().map(typewritten)),
                }
            }
            if folded.text.len() > start {
                folded.origins.push((start, origin));
            }
        }
        let length = folded.text.trim_end().len();
        folded.text.truncate(length);
        folded
    }

    fn ends_with_a_number_and_space(&self) -> bool {
        let before = self.text.strip_suffix(' ');
        before.is_some_and(|text| text.ends_with(char::is_numeric))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// First place of `other` in the original; `None` where it does not stand there, or where nothing of it can be seen.
    pub(crate) fn place(&self, other: &Self) -> Option<Range<usize>> {
        self.places(other).next().map(|place| self.origin(place))
    }

    /// True if it begins with the words of `other`.
    pub(crate) fn begins_with(&self, other: &Self) -> bool {
        self.text.starts_with(&other.text) && self.is_boundary(other.text.len())
    }

    /// True if it ends with the words of `other`.
    pub(crate) fn ends_with(&self, other: &Self) -> bool {
        let before = self.text.strip_suffix(&*other.text);
        before.is_some_and(|before| self.is_boundary(before.len()))
    }

    /// Tells whether it begins with the words of `other`, if all readers agree: marks before them may count or not.
    pub(crate) fn opens_with(&self, other: &Self) -> Option<bool> {
        let is_part = char::is_alphanumeric;
        let bare = other.text.trim_end_matches(['.', ',']);
        let marks = self.text.char_indices().take_while(|(_, c)| !is_part(*c));
        let starts = marks.map(|(at, c)| at + c.len_utf8());
        let is_after = |at: usize| {
            let rest = &self.text[at..];
            let begins = |start: &str| {
                !start.is_empty() && rest.starts_with(start) && self.is_boundary(at + start.len())
            };
            begins(&other.text) || begins(bare)
        };
        match self.begins_with(other) {
            true => Some(true),
            false => (!std::iter::once(0).chain(starts).any(is_after)).then_some(false),
        }
    }

    /// Tells whether it ends with the words of `other`, if all readers agree: marks after them may count or not.
    pub(crate) fn closes_with(&self, other: &Self) -> Option<bool> {
        let is_part = char::is_alphanumeric;
        let bare = other.text.trim_end_matches(['.', ',']);
        let marks = self
            .text
            .char_indices()
            .rev()
            .take_while(|(_, c)| !is_part(*c));
        let is_before = |at: usize| {
            let rest = &self.text[..at];
            let ends = |end: &str| {
                let before = rest.strip_suffix(end).filter(|_| !end.is_empty());
                before.is_some_and(|before| self.is_boundary(before.len()))
            };
            ends(&other.text) || ends(bare)
        };
        match self.ends_with(other) {
            true => Some(true),
            false => {
                let places = std::iter::once(self.text.len()).chain(marks.map(|(at, _)| at));
                (!places.into_iter().any(is_before)).then_some(false)
            }
        }
    }

    /// Places of `other` in the folded text.
    pub(crate) fn places<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = Range<usize>> + 'a {
        let found = self.text.match_indices(&*other.text);
        let found = found.filter(|(_, part)| !part.is_empty());
        found.map(|(start, part)| start..start + part.len())
    }

    /// True if no word goes across this place.
    pub(crate) fn is_boundary(&self, at: usize) -> bool {
        let (before, after) = self.text.split_at(at);
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if !is_letter(before.chars().next_back()) || !is_letter(after.chars().next()) {
            return true;
        }
        let boundaries = self.boundaries.get_or_init(|| {
            let words = self.text.split_word_bound_indices();
            words.map(|(start, _)| start).collect()
        });
        boundaries.binary_search(&at).is_ok()
    }

    /// Place in the original of this piece of the folded text.
    pub(crate) fn origin(&self, piece: Range<usize>) -> Range<usize> {
        let after = |at| self.origins.partition_point(|&(start, _)| start <= at);
        let of = |index: usize| self.origins.get(index).map_or(self.original, |o| o.1);
        let start = after(piece.start).saturating_sub(1);
        of(start)..of(after(piece.end.saturating_sub(1)))
    }
}

/// Apostrophes, quotation marks and hyphens as a typewriter has them. Em dashes are left as they are.
fn typewritten(c: char) -> char {
    match c {
        '‘' | '’' | '‛' | 'ʼ' | 'ʹ' | '′' => '\'',
        '“' | '”' | '„' | '‟' => '"',
        '\u{2010}'..='\u{2013}' | '\u{2212}' => '-',
        c => c,
    }
}

fn is_unseen(c: char) -> bool {
    let is_selector = matches!(c, '\u{fe00}'..='\u{fe0f}');
    is_selector || c.general_category() == GeneralCategory::Format
}

/// The number of the line, from 1, on which this place of a text is.
pub(crate) fn line(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    before.iter().filter(|&&b| b == b'\n').count() + 1
}

/// The beginning of a text on one line, for evidence: at most 120 characters.
pub(crate) fn excerpt(text: &str) -> String {
    const MOST: usize = 120;
    let words: Vec<&str> = text.split_whitespace().take(MOST).collect();
    let line = words.join(" ");
    match line.char_indices().nth(MOST) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(text: &str, part: &str) -> Option<Range<usize>> {
        Folded::new(text).place(&Folded::new(part))
    }

    fn position(text: &str, part: &str) -> Option<usize> {
        place(text, part).map(|place| place.start)
    }

    /// spec: ORC-10
    #[test]
    fn what_looks_the_same_is_the_same() {
        assert_eq!(position("Come and BOOK\n  Now!", "book now"), Some(9));
        assert_eq!(position("cafe\u{301}s", "CAFÉ"), Some(0));
        assert_eq!(
            position("so gu\u{ad}aran\u{200b}teed", "guaranteed"),
            Some(3)
        );
        assert_eq!(position("ﬁne １２", "fine 12"), Some(0));
        assert_eq!(position("ÅNGSTRÖM", "ångström"), Some(0));
        for (text, part) in [
            ("don’t", "don't"),
            ("don't", "don’t"),
            ("donʼt", "don′t"),
            ("“free”", "\"free\""),
            ("e\u{2011}mail", "e-mail"),
            ("10–12", "10-12"),
            ("3\u{a0}March", "3 March"),
            ("3\u{202f}March", "3 March"),
            ("100 % sure", "100% sure"),
            ("100% sure", "100 % sure"),
        ] {
            assert_eq!(position(text, part), Some(0), "{text} {part}");
        }
        assert_eq!(place("so 100 % sure", "100%"), Some(3..8));
        assert_eq!(position("שָׁלוֹם", "שלום"), None);
    }

    #[test]
    fn places_are_those_of_the_original() {
        let text = "Now: BO\u{ad}OK \n cafe\u{301}, ok";
        let there = |part| place(text, part).map(|place| &text[place]);
        assert_eq!(there("book cafÉ"), Some("BO\u{ad}OK \n cafe\u{301}"));
        assert_eq!(there("OK"), Some("OK"));
        assert_eq!(there(", ok"), Some(", ok"));
    }

    #[test]
    fn nothing_is_found_of_nothing() {
        assert_eq!(position("abc", ""), None);
        assert_eq!(position("abc", "\u{200d} \n"), None);
        assert_eq!(position("", "abc"), None);
    }

    #[test]
    fn places_are_lines() {
        assert_eq!(
            [0, 1, 2, 3, 9].map(|at| line("a\nb\n", at)),
            [1, 1, 2, 2, 1]
        );
    }

    proptest! {
        #[test]
        fn a_piece_of_a_text_is_found_in_it(before: String, piece in "[a-zA-Z]{1,8}( [a-zA-Z]{1,8}){0,3}", after: String) {
            let text = format!("{before} {piece} {after}");
            let found = place(&text, &piece.to_uppercase());
            prop_assert!(found.is_some_and(|place| text.get(place).is_some()));
        }

        #[test]
        fn folding_twice_is_folding_once(text: String) {
            let once = Folded::new(&text);
            let twice = Folded::new(once.as_str());
            prop_assert_eq!(twice.as_str(), once.as_str());
        }
    }
}
