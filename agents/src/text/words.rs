//! The words of a text: what stands between spaces, and how many those are by other readings.

use std::ops::Range;

use serde_json::json;
use unicode_normalization::char::is_combining_mark;

use super::folded::{excerpt, line};
use super::script::is_unspaced;

/// Letters before an apostrophe that are a word of their own by some readings: `l'eau`, `dell'arte`.
const ELIDED: [&str; 22] = [
    "c", "d", "j", "l", "m", "n", "s", "t", "v", "qu", "jusqu", "lorsqu", "puisqu", "quelqu", "un",
    "all", "dall", "dell", "nell", "sull", "quell", "sant",
];

/// Places of a text's words: pieces between spaces, from their first letter or digit to their last.
pub(crate) fn places(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut end = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        let start = end;
        end += piece.len();
        let first = piece.find(char::is_alphanumeric);
        let last = piece.char_indices().rfind(|(_, c)| c.is_alphanumeric());
        if let (Some(first), Some((last, c))) = (first, last) {
            words.push(start + first..start + last + c.len_utf8());
        }
    }
    words
}

/// Numbers of words by different readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) low: usize,
    pub(crate) high: usize,
    /// The first place that is read in different ways, as evidence.
    pub(crate) doubt: Option<String>,
}

impl Reading {
    fn doubt(&mut self, raw: &str, place: Range<usize>) {
        if self.doubt.is_none() {
            let number = line(raw, place.start);
            let there = json!(excerpt(&raw[place]));
            self.doubt = Some(format!(
                "{there}, line {number}, can be counted in several ways"
            ));
        }
    }
}

/// Counts the words of a text whose words between spaces these are.
pub(crate) fn count(raw: &str, text: &str, places: &[Range<usize>]) -> Reading {
    let mut reading = Reading::default();
    let mut before: Option<&Range<usize>> = None;
    for place in places {
        let (low, high) = within(&text[place.clone()]);
        reading.low += low;
        reading.high += high;
        if low != high {
            reading.doubt(raw, place.clone());
        }
        if let Some(before) = before
            && is_one(text, before, place)
        {
            reading.low -= 1;
            reading.doubt(raw, before.start..place.end);
        }
        before = Some(place);
    }
    for (start, piece) in symbols(text) {
        reading.high += 1;
        reading.doubt(raw, start..start + piece.len());
    }
    reading.low = reading.low.max(usize::from(!places.is_empty()));
    reading
}

/// Signs that stand alone and are read as a word: `5 €`, `bread & butter`.
fn symbols(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    let pieces = text.split_inclusive(char::is_whitespace).map(move |piece| {
        let start = end;
        end += piece.len();
        (start, piece.trim_end())
    });
    pieces.filter(|(_, piece)| {
        let is_sign = |c| {
            matches!(
                c,
                '&' | '+' | '=' | '%' | '‰' | '§' | '@' | '$' | '€' | '£' | '¥' | '°'
            )
        };
        !piece.is_empty() && piece.chars().all(is_sign)
    })
}

/// True if what stands between these spaces may be one word: a number in groups, or one that a line break parts.
fn is_one(text: &str, before: &Range<usize>, after: &Range<usize>) -> bool {
    let gap = &text[before.end..after.start];
    let [first, second] = [&text[before.clone()], &text[after.clone()]];
    let is_digits = |word: &str| {
        word.chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
    };
    let is_group = |word: &str| {
        word.get(..3)
            .is_some_and(|w| w.chars().all(|c| c.is_ascii_digit()))
    };
    let is_number = gap.chars().all(char::is_whitespace)
        && is_digits(first)
        && is_digits(second)
        && is_group(second);
    let is_parted = gap.starts_with(['-', '\u{ad}', '\u{2010}'])
        && gap.contains('\n')
        && gap.chars().skip(1).all(char::is_whitespace)
        && second.starts_with(char::is_lowercase);
    is_number || is_parted
}

/// Number of words between two spaces, at least and at most.
fn within(word: &str) -> (usize, usize) {
    let (mut low, mut high) = (1, 1);
    let mut run: Vec<char> = Vec::new();
    let mut gap = String::new();
    let (mut unspaced, mut unspaced_runs) = (0, 0);
    let mut was_unspaced = false;
    for (at, c) in word.char_indices() {
        if !c.is_alphanumeric() {
            gap.push(c);
            continue;
        }
        if is_unspaced(c) {
            unspaced += 1;
            let is_mark = |c: char| !is_combining_mark(c) && !matches!(c, '・' | '·');
            if !was_unspaced || gap.contains(is_mark) {
                unspaced_runs += 1;
            }
        }
        let is_one_script = was_unspaced && is_unspaced(c);
        if !gap.is_empty() && !run.is_empty() && !is_one_script {
            let next = word[at..].chars().take_while(|c| c.is_alphanumeric());
            let next: Vec<char> = next.take(2).collect();
            high += usize::from(parts(&run, &gap, &next));
        }
        if !gap.is_empty() {
            run.clear();
            gap.clear();
        }
        run.push(c);
        was_unspaced = is_unspaced(c);
    }
    if unspaced > 0 {
        // Marks such as 。 part them for sure; each character may be a word.
        low = unspaced_runs.max(1);
        high += unspaced;
    }
    (low, high.max(low))
}

/// True if these characters between two runs of letters or digits make two words of them, by some readings.
fn parts(before: &[char], gap: &str, after: &[char]) -> bool {
    let ends_in_digit = before.last().is_some_and(|c| c.is_numeric());
    let begins_with_digit = after.first().is_some_and(|c| c.is_numeric());
    let is_number = ends_in_digit && begins_with_digit;
    match gap {
        "." | "," | ":" if is_number => false,
        // Abbreviations: `e.g`.
        "." => before.len() > 1 && after.len() > 1,
        "'" | "’" | "ʼ" => {
            let word: String = before.iter().flat_map(|c| c.to_lowercase()).collect();
            ELIDED.contains(&&*word) && after.len() > 1 && !word.is_empty()
        }
        // Marks on letters, and what is not seen.
        gap => !gap.chars().all(|c| matches!(c, '\u{300}'..='\u{36f}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{fe0f}')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> (usize, usize) {
        let reading = count(text, text, &places(text));
        (reading.low, reading.high)
    }

    #[test]
    fn words_are_one_or_several_by_how_they_are_joined() {
        for (text, low, high) in [
            ("It costs 1,000.50 at 10:00, e.g. now.", 7, 7),
            ("and/or", 1, 2),
            ("word—word", 1, 2),
            ("a well-known, state-of-the-art oven", 4, 8),
            ("Don't. Ann’s O'Brien", 3, 3),
            ("l'eau", 1, 2),
            ("Ready!Go", 1, 2),
            ("10 000 loaves", 2, 3),
            ("wonder-\nful", 1, 2),
            ("5 € & more", 2, 4),
            ("cafe\u{301}s so\u{ad}re", 2, 2),
            ("4/4/2027", 1, 3),
            ("", 0, 0),
            ("… – 🚀", 0, 0),
        ] {
            assert_eq!(counted(text), (low, high), "{text}");
        }
    }

    #[test]
    fn scripts_without_spaces_have_between_one_word_and_one_a_character() {
        assert_eq!(counted("我们今天去公园。"), (1, 8));
        assert_eq!(counted("我们，今天去公园。"), (2, 8));
        let (low, high) = counted("パンを買う");
        assert!(low == 1 && high >= 5);
        assert_eq!(counted("ขนมปังสดใหม่").0, 1);
        assert_eq!(counted("빵을 사요"), (2, 2));
    }
}
