//! Counts of words, as far as they can be counted without knowing the language.

use std::ops::RangeInclusive;

/// Number of words, where they have spaces between them; from the fewest to the most, as a chain with hyphens is one word or several.
/// `None` of texts in scripts without spaces. Marks of Markdown are no words.
pub(super) fn words(text: &str) -> Option<RangeInclusive<usize>> {
    if text.chars().any(is_unspaced) {
        return None;
    }
    let mut range = (0, 0);
    for token in text.split_whitespace() {
        let pieces = token.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’'));
        let pieces = pieces.filter(|piece| piece.contains(char::is_alphanumeric));
        let pieces = pieces.count();
        range.0 += pieces.min(1);
        range.1 += pieces;
    }
    Some(range.0..=range.1)
}

/// Thai, Lao, Burmese, Khmer, Chinese and Japanese: words stand together in them.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_as_far_as_they_can_be() {
        for (text, expected) in [
            ("", Some(0..=0)),
            ("# Rain\n\nIt rains - all day!", Some(5..=5)),
            ("- a\n- b\n- c", Some(3..=3)),
            ("one-two-three and notes.md", Some(3..=6)),
            ("Dr. Smith's at 3 p.m.", Some(5..=6)),
            ("雨が降る", None),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
