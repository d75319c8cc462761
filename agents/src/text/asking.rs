//! Questions and exclamations, and their marks.

use serde_json::json;
use unicode_normalization::UnicodeNormalization;

use super::{
    count::Count,
    folded::line,
    marks::{self, Marks},
};

/// Marks that end a question.
const QUESTION_MARKS: [char; 4] = ['?', '؟', '՞', '፧'];

pub(crate) fn is_question_mark(c: char) -> bool {
    QUESTION_MARKS.contains(&c)
}

/// Number of questions (`?`) or exclamations (`!`); with `each`, of their marks.
///
/// `Really??` is one question with two marks, by some readings; `(?)` is perhaps none. A mark in a link or in code is no question, and one
/// that opens a question (`¿`) or is drawn as a picture (`❓`) is a mark to some.
pub(crate) fn count(raw: &str, marks: &Marks, mark: char, each: bool) -> Count {
    let is_it = |c: char| match mark {
        '?' => is_question_mark(c),
        _ => c == mark,
    };
    let (mut low, mut high) = (0, 0);
    let mut doubt = None;
    let mut is_run = false;
    let mut before = None;
    for (at, c) in raw.char_indices() {
        let is_plain =
            is_it(c) || matches!(c, '？' if mark == '?') || matches!(c, '！' if mark == '!');
        let is_drawn = match mark {
            '?' => matches!(c, '❓' | '❔' | '⁇' | '⁈' | '⁉'),
            _ => matches!(c, '❗' | '❕' | '‼' | '⁈' | '⁉'),
        };
        let is_opening = each && matches!((mark, c), ('?', '¿') | ('!', '¡'));
        let is_greek = mark == '?'
            && (c == '\u{37e}' || c == ';')
            && before.is_some_and(|c| matches!(c, '\u{370}'..='\u{3ff}'));
        let is_mark = is_plain || is_drawn || is_opening || is_greek;
        if is_mark {
            let is_elsewhere = marks::is_marked(&marks.links, at) || marks::is_in(&marks.code, at);
            let is_first = !is_run;
            let has_words = before.is_some_and(|c| !matches!(c, '(' | '[' | '（'));
            let is_sure = is_plain && !is_elsewhere && (each || (is_first && has_words));
            let number = match each {
                true => c.nfkc().count().max(1),
                false => usize::from(!is_elsewhere),
            };
            low += usize::from(is_sure);
            high += number;
            if doubt.is_none() && (!is_sure || number != 1) && number > 0 {
                doubt = Some(at);
            }
        }
        // Marks of both kinds in a row are one run.
        is_run = is_mark || (is_run && matches!(c, '!' | '?' | '！' | '？'));
        if !c.is_whitespace() && !is_mark {
            before = Some(c);
        }
    }
    Count::between(low, high, || {
        let at = doubt.unwrap_or_default();
        let there = raw[..at].char_indices().rev().take(12).last();
        let start = there.map_or(0, |(start, _)| start);
        let end = raw[at..].chars().next().map_or(at, |c| at + c.len_utf8());
        let shown = json!(raw[start..end].trim());
        format!(
            "the mark at the end of {shown}, line {}, counts or not",
            line(raw, at)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_their_marks_are_two_things() {
        for (text, questions, signs) in [
            ("Why? Who?", (2, 2), (2, 2)),
            ("Really??", (1, 2), (2, 2)),
            ("Why?! So", (1, 1), (1, 1)),
            ("See https://a.example/?b=1", (0, 0), (0, 1)),
            ("¿Por qué?", (1, 1), (1, 2)),
            ("Fresh (?) bread", (0, 1), (1, 1)),
            ("なぜ？", (1, 1), (1, 1)),
            ("Γιατί;", (0, 1), (0, 1)),
            ("Ask ❓", (0, 1), (0, 1)),
            ("Plain; text", (0, 0), (0, 0)),
        ] {
            let marks = Marks::new(text);
            let counted = |each| {
                let count = count(text, &marks, '?', each);
                (count.low, count.high)
            };
            assert_eq!(
                (counted(false), counted(true)),
                (questions, signs),
                "{text}"
            );
        }
        let text = "Wow!! `a != b`";
        let counted = count(text, &Marks::new(text), '!', true);
        assert_eq!((counted.low, counted.high), (2, 3));
    }
}
