//! A phrase with a number in it, whose separators are written otherwise in the draft, or not at all: `$1,000` and `$1000`.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::script::is_unspaced;
use super::{
    folded::Folded,
    literal,
    parsed::Text,
    sightings::{Kind, Sightings},
};

const WRITTEN_OTHERWISE: &str = "with its number written otherwise";

/// Digits of a group, but for the first.
const GROUP: usize = 3;

/// The first place where a phrase stands with its number written otherwise.
pub(crate) fn find(draft: &Bare, text: &Text, phrase: &Folded, found: &mut Sightings) {
    let all = text.folded.as_str();
    let wanted = Bare::new(phrase.as_str());
    let edges = (wanted.text.chars().next(), wanted.text.chars().next_back());
    let (Some(opening), Some(closing)) = edges else {
        return;
    };
    let is_edge = |at: usize, inner: char| is_unspaced(inner) || text.folded.is_boundary(at);
    for (at, there) in draft.text.match_indices(&wanted.text) {
        let after = at + there.len();
        let (Some(&start), Some(&last)) = (draft.places.get(at), draft.places.get(after - 1))
        else {
            return;
        };
        let end = last + closing.len_utf8();
        if !is_edge(start, opening) || !is_edge(end, closing) {
            continue;
        }
        // After a price in whole coins nothing follows that counts.
        let is_round = !draft.text[after..].starts_with(['.', ',', ':', '\'']);
        let goes_on =
            literal::is_in_a_number(all, start) || (literal::is_in_a_number(all, end) && !is_round);
        if !goes_on {
            found.push(
                Kind::Unsure(WRITTEN_OTHERWISE),
                text.folded.origin(start..end),
            );
            return;
        }
        found.push(Kind::Longer, text.folded.origin(start..end));
    }
}

/// A text without separators in numbers, the decimals of a whole number, and spaces between a number and a sign.
#[derive(Default)]
pub(crate) struct Bare {
    text: String,
    /// For each byte, where its character begins in the folded text.
    places: Vec<usize>,
}

impl Bare {
    pub(crate) fn new(folded: &str) -> Self {
        let chars: Vec<(usize, char)> = folded.char_indices().collect();
        let at = |n: usize| chars.get(n).map(|&(_, c)| c);
        // No more than tell a group from a longer number.
        let digits = |from: usize| {
            (from..=from + GROUP)
                .take_while(|&n| at(n).is_some_and(char::is_numeric))
                .count()
        };
        let is_separator = |c: char| matches!(c, ',' | '.' | '\'' | '_' | '٬' | '٫');
        let mut bare = Self::default();
        let mut n = 0;
        while let Some(&(place, c)) = chars.get(n) {
            let before = n.checked_sub(1).and_then(at);
            let is_after_digit = before.is_some_and(char::is_numeric);
            let group = digits(n + 1);
            let after_group = at(n + 1 + group);
            let goes_on = after_group.is_some_and(is_separator) && digits(n + 2 + group) > 0;
            let is_left_out = match c {
                ' ' if is_after_digit && group == GROUP => true,
                ' ' => {
                    let next = at(n + 1);
                    let is_beside = |one: Option<char>, other: Option<char>| {
                        one.is_some_and(char::is_numeric) && other.is_some_and(is_sign)
                    };
                    is_beside(before, next) || is_beside(next, before)
                }
                // Some have groups of two.
                c => {
                    is_after_digit && is_separator(c) && (group == GROUP || (group == 2 && goes_on))
                }
            };
            let is_whole = is_after_digit
                && matches!(c, '.' | ',')
                && group == 2
                && !goes_on
                && (at(n + 1), at(n + 2)) == (Some('0'), Some('0'));
            if is_whole {
                n += 1 + group;
                continue;
            }
            if !is_left_out {
                bare.text.push(c);
                bare.places.resize(bare.text.len(), place);
            }
            n += 1;
        }
        bare
    }
}

/// True of what may stand next to a number with a space or without.
fn is_sign(c: char) -> bool {
    c == '%' || c.is_alphabetic() || c.general_category_group() == GeneralCategoryGroup::Symbol
}
