//! The lines and paragraphs of a text, character by character.

/// Characters of a line that are looked at for the words of a list's item.
const WIDEST_GAP: usize = 64;

/// Characters of a word before a full stop that are looked at.
const LONGEST_WORD: usize = 40;

/// A line break, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Break {
    None,
    /// The next line may go on.
    Line,
    /// An empty line, a list item or a heading follows.
    Paragraph,
}

/// The characters of a text, by their number.
pub(super) struct Lines {
    /// With the byte at which each begins.
    pub(super) chars: Vec<(usize, char)>,
    /// For each character, the next letter or digit from it on.
    pub(super) next_word: Vec<usize>,
    /// For each character, how many line breaks and how many breaks of paragraphs are before it.
    breaks: Vec<(usize, usize)>,
    length: usize,
}

impl Lines {
    pub(super) fn new(text: &str) -> Self {
        let chars: Vec<(usize, char)> = text.char_indices().collect();
        let count = chars.len();
        let mut next_word = vec![count; count + 1];
        for at in (0..count).rev() {
            next_word[at] = match chars[at].1.is_alphanumeric() {
                true => at,
                false => next_word[at + 1],
            };
        }
        let mut lines = Self {
            chars,
            next_word,
            breaks: Vec::with_capacity(count + 1),
            length: text.len(),
        };
        let (mut broken, mut paragraphs) = (0, 0);
        for at in 0..count {
            lines.breaks.push((broken, paragraphs));
            if is_break(lines.chars[at].1) {
                broken += 1;
                paragraphs += usize::from(lines.opens_a_paragraph(at + 1));
            }
        }
        lines.breaks.push((broken, paragraphs));
        lines
    }

    pub(super) fn char(&self, at: usize) -> Option<char> {
        self.chars.get(at).map(|(_, c)| *c)
    }

    pub(super) fn offset(&self, at: usize) -> usize {
        self.chars
            .get(at)
            .map_or(self.length, |(offset, _)| *offset)
    }

    /// True if the line that begins here is empty, an item of a list, a heading, a quotation or the edge of a block of code.
    pub(super) fn opens_a_paragraph(&self, start: usize) -> bool {
        let mut at = start;
        while self
            .char(at)
            .is_some_and(|c| c == ' ' || c == '\t' || c == '\r')
        {
            at += 1;
        }
        let is_spaced = |at| self.char(at).is_none_or(char::is_whitespace);
        match self.char(at) {
            None => true,
            Some(c) if is_break(c) => true,
            Some('-' | '*' | '•' | '–' | '+' | '>' | '·') => is_spaced(at + 1),
            Some('#') => {
                let mut after = at;
                while self.char(after) == Some('#') {
                    after += 1;
                }
                is_spaced(after)
            }
            Some('`' | '~') => self.is_fence(start),
            Some(c) if c.is_ascii_digit() => self.after_number(at).is_some(),
            Some(_) => false,
        }
    }

    /// Behind the number of a list's item that begins here: `1. ` or `1) `, with something after it.
    pub(super) fn after_number(&self, start: usize) -> Option<usize> {
        let mut at = start;
        while self.char(at).is_some_and(|c| c.is_ascii_digit()) {
            at += 1;
        }
        let is_short = (1..=3).contains(&(at - start));
        let is_marker = matches!(self.char(at), Some('.' | ')'));
        let is_spaced = matches!(self.char(at + 1), Some(' ' | '\t'));
        let goes_on = self.chars.get(at + 1..).is_some_and(|rest| {
            let rest = rest.iter().map(|(_, c)| *c).take_while(|c| !is_break(*c));
            rest.take(WIDEST_GAP).any(char::is_alphanumeric)
        });
        (is_short && is_marker && is_spaced && goes_on).then_some(at + 1)
    }

    pub(super) fn is_fence(&self, line: usize) -> bool {
        let rest = self.chars.get(line..).unwrap_or_default();
        let mut rest = rest.iter().map(|(_, c)| *c);
        let first = rest.find(|c| *c != ' ' && *c != '\t');
        matches!(first, Some('`' | '~')) && rest.next() == first && rest.next() == first
    }

    pub(super) fn between(&self, at: usize, next: usize) -> Break {
        let ((lines, paragraphs), (lines_next, paragraphs_next)) =
            (self.breaks[at], self.breaks[next]);
        match (lines_next > lines, paragraphs_next > paragraphs) {
            (_, true) => Break::Paragraph,
            (true, _) => Break::Line,
            _ => Break::None,
        }
    }

    pub(super) fn word_before(&self, at: usize) -> String {
        let before = self.chars[..at].iter().rev().map(|(_, c)| *c);
        let word = before.take_while(|c| !c.is_whitespace()).take(LONGEST_WORD);
        let mut word: Vec<char> = word.collect();
        word.reverse();
        word.into_iter().collect()
    }
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
