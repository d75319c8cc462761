//! A phrase word for word.

use std::ops::Range;

use super::script::{is_han, is_hiragana, is_kana, is_unspaced};
use super::{
    folded::Folded,
    marks,
    parsed::Text,
    sightings::{Kind, Sightings},
};

const IN_A_LINK: &str = "inside of a link";
/// Doubt about a place in small letters.
pub(crate) const OTHER_CASE: &str = "in small letters, where an abbreviation in capitals is meant";
const ACROSS: &str = "across two paragraphs";
const AMONG_OTHERS: &str = "among other characters of a script without spaces";
const OTHER_MARK: &str = "without the mark at its end";

/// The longest abbreviation in capital letters.
const LONGEST_ABBREVIATION: usize = 4;

/// Places where a phrase stands word for word, and where some would say that it does.
pub(crate) fn sightings(text: &Text, phrase: &str) -> Sightings {
    let folded = Folded::new(phrase);
    let mut found = places(text, phrase, &folded);
    // In a quotation of a sentence, the full stop may be the quotation's own or the sentence's.
    let bare = phrase.trim_end_matches(['.', ',']);
    if !found.is_exact() && bare.len() < phrase.len() && !bare.trim().is_empty() {
        let bare_found = places(text, bare, &Folded::new(bare));
        if let Some(place) = bare_found.exact_place() {
            found.push(Kind::Unsure(OTHER_MARK), place);
        }
    }
    found
}

/// True if a phrase is an abbreviation in capital letters, which is another word in small ones: `US`, `IT`.
pub(crate) fn is_abbreviation(phrase: &str) -> bool {
    let phrase = phrase.trim();
    (2..=LONGEST_ABBREVIATION).contains(&phrase.chars().count())
        && phrase.chars().all(char::is_uppercase)
}

/// True if it is looked for in links, too.
pub(crate) fn is_of_a_link(phrase: &str) -> bool {
    phrase.contains(['/', '.', '@', ':', '#'])
}

/// True if a place is inside of a link.
pub(crate) fn is_in_a_link(text: &Text, place: &Range<usize>) -> bool {
    marks::is_marked(&text.marks.links, place.start)
}

fn places(text: &Text, phrase: &str, folded: &Folded) -> Sightings {
    let mut found = Sightings::default();
    for piece in text.folded.places(folded) {
        let place = text.folded.origin(piece.clone());
        let there = &text.raw[place.clone()];
        let kind = match edges(text.folded.as_str(), &piece, folded.as_str(), text) {
            Edges::Inside => continue,
            Edges::InANumber => Kind::Longer,
            Edges::AmongOthers => Kind::Unsure(AMONG_OTHERS),
            Edges::Whole if is_across(there) => Kind::Unsure(ACROSS),
            Edges::Whole if is_abbreviation(phrase) && there.chars().any(char::is_lowercase) => {
                Kind::Unsure(OTHER_CASE)
            }
            Edges::Whole if !is_of_a_link(phrase) && is_in_a_link(text, &place) => {
                Kind::Unsure(IN_A_LINK)
            }
            Edges::Whole => Kind::Exact,
        };
        found.push(kind, place);
        if kind == Kind::Exact {
            break;
        }
    }
    found
}

/// True if it goes over an empty line.
fn is_across(there: &str) -> bool {
    let mut lines = there.lines().skip(1);
    lines.any(|line| line.trim().is_empty())
}

/// Fit of a piece of a text among the characters around it.
enum Edges {
    Whole,
    /// In a longer word.
    Inside,
    /// In a longer number: `1,000` in `1,000.50`.
    InANumber,
    /// In a script without spaces, where a longer word may begin or end with it.
    AmongOthers,
}

fn edges(all: &str, piece: &Range<usize>, phrase: &str, text: &Text) -> Edges {
    let before = all[..piece.start].chars().next_back();
    let after = all[piece.end..].chars().next();
    let (first, last) = (phrase.chars().next(), phrase.chars().next_back());
    let mut is_among = false;
    for (outer, inner, at) in [(before, first, piece.start), (after, last, piece.end)] {
        let (Some(outer), Some(inner)) = (outer, inner) else {
            continue;
        };
        if is_unspaced(inner) {
            is_among |= is_glued(inner, outer, phrase);
            continue;
        }
        if !text.folded.is_boundary(at) {
            return Edges::Inside;
        }
        if is_in_a_number(all, at) {
            return Edges::InANumber;
        }
    }
    match is_among {
        true => Edges::AmongOthers,
        false => Edges::Whole,
    }
}

/// True if two characters next to each other may be of one word, at the edge of this phrase.
fn is_glued(inner: char, outer: char, phrase: &str) -> bool {
    let kind = |c| match c {
        c if is_han(c) => 1,
        c if is_hiragana(c) => 2,
        c if is_kana(c) => 3,
        c if is_unspaced(c) => 4,
        _ => 0,
    };
    let length = phrase.chars().count();
    kind(inner) == kind(outer)
        && match kind(inner) {
            3 => true,
            4 => length <= 5,
            _ => length <= 2,
        }
}

/// True if a number goes on over this place, with a separator.
pub(crate) fn is_in_a_number(all: &str, at: usize) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(char::is_numeric);
    let is_separator = |c: Option<char>| matches!(c, Some('.' | ',' | ':' | '\''));
    let (mut before, mut after) = (all[..at].chars().rev(), all[at..].chars());
    let (b, bb) = (before.next(), before.next());
    let (a, aa) = (after.next(), after.next());
    (is_digit(b) && is_separator(a) && is_digit(aa))
        || (is_digit(a) && is_separator(b) && is_digit(bb))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(draft: &str, phrase: &str) -> Option<bool> {
        sightings(&Text::new(draft), phrase)
            .is_there(&Text::new(draft))
            .0
    }

    #[test]
    fn a_phrase_is_there_where_all_readers_find_it() {
        for (draft, phrase, there) in [
            ("Book  NOW", "book now", Some(true)),
            ("The bookshop", "book", Some(false)),
            ("It costs 1,000.50 €", "1,000", Some(false)),
            ("It costs 1,000 €.", "1,000", Some(true)),
            ("At 10:30", "10", Some(false)),
            ("Come with us", "US", None),
            ("In the US", "US", Some(true)),
            ("See https://bakery.example/x", "bakery", None),
            ("See https://bakery.example/x", "bakery.example", Some(true)),
            ("It is free\n\nShipping costs", "free shipping", None),
            ("東京都", "京都", None),
            ("京都へ", "京都", Some(true)),
            ("ジャパン", "パン", None),
            ("パンを買う", "パン", Some(true)),
            ("Book now!", "Book now.", None),
            ("", "a", Some(false)),
        ] {
            assert_eq!(kind(draft, phrase), there, "{phrase} in {draft}");
        }
    }
}
