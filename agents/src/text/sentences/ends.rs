//! Ends of sentences.

use super::{
    abbreviations::{Stop, stop_after},
    lines::{Break, Lines, is_break},
};
use crate::text::script::is_unspaced;

/// Characters between two words that are looked at for something that parts them.
const WIDEST_GAP: usize = 64;

/// A place where a sentence ends, by one reading at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The first byte after it.
    pub(crate) at: usize,
    /// Every reasonable reader ends what was before here.
    pub(crate) is_sure: bool,
    /// A mark such as a full stop ends it. Without one it may be a heading or an item of a list.
    pub(crate) is_marked: bool,
}

/// Ends of a text's sentences, in order; each has a letter or a digit before it that the one before has not.
pub(crate) fn ends(text: &str) -> Vec<End> {
    let mut reader = Reader::new(text);
    let mut at = 0;
    while at < reader.lines.chars.len() {
        at = reader.step(at);
    }
    match (reader.has_word, reader.ends.last_mut()) {
        (true, _) => reader.push(text.len(), true, false),
        (false, Some(last)) => last.is_sure = true,
        (false, None) => {}
    }
    reader.ends
}

struct Reader {
    lines: Lines,
    is_quoted: bool,
    brackets: usize,
    is_code: bool,
    is_line_start: bool,
    has_word: bool,
    ends: Vec<End>,
}

impl Reader {
    fn new(text: &str) -> Self {
        Self {
            lines: Lines::new(text),
            is_quoted: false,
            brackets: 0,
            is_code: false,
            is_line_start: true,
            has_word: false,
            ends: Vec::new(),
        }
    }

    fn push(&mut self, at: usize, is_sure: bool, is_marked: bool) {
        self.has_word = false;
        self.ends.push(End {
            at,
            is_sure: is_sure && !self.is_code,
            is_marked,
        });
    }

    /// Reads one character, or a mark with all that belongs to it, and gives the place after it.
    fn step(&mut self, at: usize) -> usize {
        let Some(c) = self.lines.char(at) else {
            return at + 1;
        };
        if self.is_line_start {
            self.is_line_start = false;
            if self.lines.is_fence(at) {
                return self.fence(at);
            }
            let mut start = at;
            while matches!(self.lines.char(start), Some(' ' | '\t')) {
                start += 1;
            }
            if !self.is_code
                && let Some(after) = self.lines.after_number(start)
            {
                return after;
            }
        }
        if is_break(c) {
            self.is_line_start = true;
            let is_paragraph = self.lines.opens_a_paragraph(at + 1);
            if self.has_word {
                self.push(self.lines.offset(at + 1), is_paragraph, false);
            }
            let is_code = self.is_code;
            if is_paragraph && let Some(last) = self.ends.last_mut().filter(|last| !last.is_marked)
            {
                last.is_sure = !is_code;
            }
            if is_paragraph {
                (self.is_quoted, self.brackets) = (false, 0);
            }
            return at + 1;
        }
        let is_greek_question = c == ';'
            && at > 0
            && self
                .lines
                .char(at - 1)
                .is_some_and(|c| matches!(c, '\u{370}'..='\u{3ff}'));
        if is_mark(c) || is_greek_question {
            return self.mark(at, is_greek_question);
        }
        self.toggle(c);
        if c.is_alphanumeric() {
            self.has_word = true;
        } else if self.has_word
            && at > 0
            && self.lines.char(at - 1).is_some_and(char::is_alphanumeric)
        {
            self.gap(at);
        }
        at + 1
    }

    /// Skips the line that opens or closes a block of code.
    fn fence(&mut self, at: usize) -> usize {
        let mut after = at;
        while self.lines.char(after).is_some_and(|c| !is_break(c)) {
            after += 1;
        }
        self.is_code = !self.is_code;
        self.is_line_start = true;
        after + 1
    }

    fn toggle(&mut self, c: char) {
        match c {
            '"' | '“' | '”' | '„' | '«' | '»' | '「' | '」' | '『' | '』' | '`' => {
                self.is_quoted ^= true
            }
            '(' | '[' | '（' | '【' => self.brackets += 1,
            ')' | ']' | '）' | '】' => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
    }

    /// The end that a mark makes, if it makes one.
    fn mark(&mut self, start: usize, is_greek_question: bool) -> usize {
        let mut at = start + 1;
        while self.lines.char(at).is_some_and(is_mark) {
            at += 1;
        }
        let run: Vec<char> = self.lines.chars[start..at]
            .iter()
            .map(|(_, c)| *c)
            .collect();
        let is_inside = self.is_quoted || self.brackets > 0;
        let (mut is_closed, mut after) = (false, at);
        while let Some(c) = self.lines.char(after).filter(|c| is_closer(*c)) {
            is_closed |= !matches!(c, '*' | '_' | '~');
            self.toggle(c);
            after += 1;
        }
        if !self.has_word {
            return after;
        }
        let next = self.lines.next_word[after];
        let Some(following) = self.lines.char(next) else {
            self.push(self.lines.offset(after), true, true);
            return after;
        };
        let dots = run.iter().filter(|c| **c == '.').count();
        let is_ellipsis = dots > 1 || run.iter().any(|c| matches!(c, '…' | '‥'));
        let stands = self.lines.between(after, next);
        let is_end = if stands == Break::Paragraph {
            Some(!is_ellipsis)
        } else if is_inside || is_closed || is_ellipsis || is_greek_question {
            Some(false)
        } else {
            let is_apart =
                stands == Break::Line || self.lines.char(after).is_some_and(char::is_whitespace);
            self.reading(start, &run, is_apart, following)
        };
        if let Some(is_sure) = is_end {
            self.push(self.lines.offset(after), is_sure, true);
        }
        after
    }

    /// Tells whether a mark, outside of quotations and inside of a paragraph, ends a sentence for sure, perhaps, or not.
    fn reading(&self, start: usize, run: &[char], is_apart: bool, next: char) -> Option<bool> {
        let is_stop = run == ['.'];
        let word = self.lines.word_before(start);
        if !is_apart {
            if run.iter().any(|c| needs_no_space(*c)) {
                return Some(true);
            }
            let may_end = word.chars().count() > 1 && next.is_uppercase();
            return (!is_stop || may_end).then_some(false);
        }
        let stop = match is_stop {
            true => stop_after(&word),
            false => Stop::Ordinary,
        };
        if next.is_lowercase() {
            return (stop == Stop::Ordinary).then_some(false);
        }
        match stop {
            Stop::Title => None,
            Stop::Ambiguous => Some(false),
            Stop::Ordinary => {
                let is_short = word.chars().count() <= 4;
                Some(!(is_stop && is_short && next.is_numeric()))
            }
        }
    }

    /// The end that something else than a mark may make, in the gap that begins here: an emoji, a bar, a bullet, a link, and a space in a
    /// script that has none between words.
    fn gap(&mut self, at: usize) {
        let next = self.lines.next_word[at];
        let Some(following) = self.lines.char(next).filter(|_| next - at <= WIDEST_GAP) else {
            return;
        };
        let gap: Vec<char> = self.lines.chars[at..next].iter().map(|(_, c)| *c).collect();
        if gap.iter().any(|c| is_break(*c) || is_mark(*c)) || !gap.iter().any(|c| c.is_whitespace())
        {
            return;
        }
        let spaces = gap.iter().filter(|c| c.is_whitespace()).count();
        let is_parted = spaces > 1
            || gap
                .iter()
                .any(|c| matches!(c, '|' | '•' | '·' | '\u{3000}'))
            || gap.iter().any(|c| *c > '\u{2190}' && !c.is_whitespace());
        let is_unspaced_pair =
            is_unspaced(following) && self.lines.char(at - 1).is_some_and(is_unspaced);
        if (is_parted && !following.is_lowercase()) || is_unspaced_pair {
            self.push(self.lines.offset(next), false, false);
        }
    }
}

fn is_mark(c: char) -> bool {
    matches!(
        c,
        '.' | '!'
            | '?'
            | '…'
            | '‥'
            | '‽'
            | '‼'
            | '⁇'
            | '⁈'
            | '⁉'
            | '؟'
            | '۔'
            | '।'
            | '॥'
            | '։'
            | '፧'
            | '។'
            | '။'
    ) || needs_no_space(c)
}

/// Marks of scripts that set no space after them.
fn needs_no_space(c: char) -> bool {
    matches!(c, '。' | '．' | '｡' | '！' | '？')
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '“'
            | '”'
            | '’'
            | '\''
            | '«'
            | '»'
            | '」'
            | '』'
            | '`'
            | ')'
            | ']'
            | '）'
            | '】'
            | '*'
            | '_'
            | '~'
            | '\u{fe0f}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text with `|` for a sure end and `¦` for one that may be.
    fn shown(text: &str) -> String {
        let mut shown = String::new();
        let mut begin = 0;
        for end in ends(text) {
            shown.push_str(&text[begin..end.at]);
            shown.push(if end.is_sure { '|' } else { '¦' });
            begin = end.at;
        }
        shown + &text[begin..]
    }

    #[test]
    fn an_end_is_sure_where_every_reader_sees_it() {
        for expected in [
            "We bake.| Come in!| Why not?|",
            "It costs 3.50 a day.| Call 030.|",
            "In the U.S.¦ Embassies open.|",
            "Dr. Moss, e.g. at 8 p.m.¦ Monday.|",
            "“Come!”¦ said Ann.|",
            "(Really!)¦ So it is.|",
            "Wait…¦ what?|",
            "hello.¦ this is it.|",
            "We bake 🍞 ¦Come by|",
            "来てください。|そうですか。|",
            "「来て。」¦と言った。|",
            "สวัสดี ¦ครับ|",
            "Am 3.¦ Mai um 9 Uhr.|",
            "1. Heat the oven.|",
            "Ready!¦Go.|",
            "day.¦Next, Node.js and 3.5 x.y|",
        ] {
            let text: String = expected
                .chars()
                .filter(|c| !matches!(c, '|' | '¦'))
                .collect();
            assert_eq!(shown(&text), expected);
        }
    }

    #[test]
    fn lines_may_end_sentences_and_paragraphs_do() {
        assert_eq!(shown("We bake\nbread.\nCome."), "We bake\n¦bread.|\nCome.|");
        assert_eq!(shown("Our bakery\n\nWe bake."), "Our bakery\n|\nWe bake.|");
        assert_eq!(shown("- eggs\n- milk"), "- eggs\n|- milk|");
        assert_eq!(
            shown("Try:\n```\na. B.\n```\nDone."),
            "Try:\n|```\na.¦ B.¦\n```\nDone.|"
        );
        assert_eq!(shown("1. Mix.\n2. Bake."), "1. Mix.|\n2. Bake.|");
        assert_eq!(shown("We bake\n.\n\nCome\n…"), "We bake\n|.\n\nCome\n|…");
    }

    proptest! {
        #[test]
        fn ends_are_in_order_and_inside(text in "\\PC{0,80}|([a-zA-Z]{1,4}|[.!?…]|[ \n]|\"|[0-9]|`|-){0,80}") {
            let ends = ends(&text);
            prop_assert!(ends.windows(2).all(|pair| pair[0].at < pair[1].at));
            prop_assert!(ends.iter().all(|end| text.is_char_boundary(end.at)));
        }
    }
}
