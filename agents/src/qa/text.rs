//! A draft, read once: its sentences, words and marks.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use super::{folded::Folded, measured::Measured};

/// Marks that end a question.
const QUESTION_MARKS: [char; 4] = ['?', '؟', '՞', '፧'];

/// A link: an address with a scheme, `www.`, `mailto:` or `tel:`; the target of a Markdown or HTML link; an address that begins with `//`; a
/// domain under a common top level; a domain under any other, with a path.
const LINK: &str = concat!(
    r"(?i)[a-z][a-z0-9+.\-]*://\S+|\b(?:www\.|mailto:|tel:)\S+|\bhref\s*=\s*\S+|\]\([^)\s]+",
    r#"|(?:^|[\s"'(<])(//\w[\w.\-]*\.\w\S*)"#,
    r"|(?:^|[^\w.@＠/\-])((?:[\p{L}\d][\p{L}\d\-]*\.)+",
    r"(?:(?:com|org|net|edu|gov|int|info|biz|app|dev|io|ai|co|me|tv|eu|uk|us|de|fr|es|it|nl|be|at|ch|dk|se|no|fi|pl|pt|cz|ie|ca|au|nz|jp|",
    r"cn|in|br|ru|shop|store|blog|online|site|xyz|club|link|page|cloud|tech|news|example|test)\b(?:[:/?#]\S*)?|[a-z]{2,24}/\S*))"
);

/// A sentence, by Unicode's rules (UAX #29). At least one word begins in it; a line break ends it.
#[derive(Clone, Debug)]
pub(super) struct Sentence {
    /// Where it stands in the draft.
    pub(super) range: Range<usize>,
    /// Its words, in [`Text::words`].
    pub(super) words: Range<usize>,
}

/// A draft.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) raw: String,
    pub(super) folded: Folded,
    /// The draft with spaces for links, hashtags and mentions. Places are the same.
    prose: String,
    pub(super) sentences: Vec<Sentence>,
    /// Where the words of the prose stand.
    words: Vec<Range<usize>>,
    counts: [u64; Measured::ALL.len()],
}

impl Text {
    pub(super) fn new(raw: &str) -> Self {
        let (prose, marks) = without_marks(raw);
        let mut text = Self {
            raw: raw.to_owned(),
            folded: Folded::new(raw),
            prose,
            sentences: Vec::new(),
            words: Vec::new(),
            counts: [0; Measured::ALL.len()],
        };
        text.words = words(&text.prose);
        let mut first = 0;
        for (start, sentence) in text.prose.split_sentence_bound_indices() {
            let range = start..start + sentence.len();
            let begun = text.words.partition_point(|word| word.start < range.end);
            if begun > first {
                let words = first..begun;
                text.sentences.push(Sentence { range, words });
            }
            first = begun;
        }
        text.counts = Measured::ALL.map(|what| text.counted(what, marks));
        text
    }

    /// How many the draft has.
    pub(super) fn count(&self, what: Measured) -> u64 {
        let at = Measured::ALL.iter().position(|&m| m == what);
        at.map_or(0, |at| self.counts[at])
    }

    fn counted(&self, what: Measured, marks: [u64; 3]) -> u64 {
        let count = match what {
            Measured::Characters => self.raw.chars().count(),
            Measured::Words => self.words.len(),
            Measured::Sentences => self.sentences.len(),
            Measured::Lines => self.raw.lines().filter(|l| !l.trim().is_empty()).count(),
            Measured::Links => return marks[0],
            Measured::Hashtags => return marks[1],
            Measured::Mentions => return marks[2],
            Measured::Emoji => self.raw.graphemes(true).filter(|g| is_emoji(g)).count(),
            Measured::Exclamations => self.raw.nfkc().filter(|&c| c == '!').count(),
            Measured::Questions => {
                let marks = self.raw.nfkc().filter(|c| QUESTION_MARKS.contains(c));
                marks.count()
            }
        };
        count as u64
    }

    /// The words of the prose, in order.
    pub(super) fn words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.words.iter().map(|range| &self.prose[range.clone()])
    }

    /// Where the words of one sentence stand in the draft.
    pub(super) fn places_of(&self, sentence: &Sentence) -> &[Range<usize>] {
        &self.words[sentence.words.clone()]
    }

    /// What a sentence says, with everything in it.
    pub(super) fn sentence(&self, sentence: &Sentence) -> &str {
        &self.raw[sentence.range.clone()]
    }

    /// The draft without links, hashtags and mentions.
    pub(super) fn prose(&self) -> &str {
        &self.prose
    }

    /// The sentence with the most words, the first of several.
    pub(super) fn longest_sentence(&self) -> Option<&Sentence> {
        let sentences = self.sentences.iter().rev();
        sentences.max_by_key(|sentence| sentence.words.len())
    }
}

/// Where the words of a text are: what stands between spaces, from its first letter or digit to its last.
fn words(text: &str) -> Vec<Range<usize>> {
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

/// What ends a sentence: all after its last letter or digit.
pub(super) fn ends_with_a_question(sentence: &str) -> bool {
    ending(sentence).nfkc().any(|c| QUESTION_MARKS.contains(&c))
}

pub(super) fn ends_with_an_exclamation(sentence: &str) -> bool {
    ending(sentence).nfkc().any(|c| c == '!')
}

fn ending(sentence: &str) -> &str {
    let last = sentence.rfind(char::is_alphanumeric).unwrap_or(0);
    &sentence[last..]
}

/// The letters of a word.
pub(super) fn letters(word: &str) -> usize {
    word.nfc().filter(|c| c.is_alphabetic()).count()
}

/// The text with spaces for links, hashtags and mentions, and how many there are of each.
fn without_marks(text: &str) -> (String, [u64; 3]) {
    static LINKS: LazyLock<Regex> = LazyLock::new(|| regex(LINK));
    static HASHTAGS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?:^|[^\w&/#＃])([#＃]\w*[\p{L}\p{M}_]\w*)"));
    static MENTIONS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?:^|[^\w.@＠/])([@＠]\w[\w.\-]*)"));
    let mut prose = text.to_owned();
    let mut counts = [0; 3];
    for (regex, count) in [&LINKS, &HASHTAGS, &MENTIONS].into_iter().zip(&mut counts) {
        let mut rest = String::with_capacity(prose.len());
        let mut done = 0;
        for found in regex.captures_iter(&prose) {
            let Some(mark) = found.iter().skip(1).flatten().next().or(found.get(0)) else {
                continue;
            };
            let word = mark.as_str();
            let is_inside = |c: char| c.is_alphanumeric() || c == '/' || c == '_';
            let end = word.rfind(is_inside).map_or(word.len(), |last| {
                last + word[last..].chars().next().map_or(0, char::len_utf8)
            });
            rest.push_str(&prose[done..mark.start()]);
            rest.extend(std::iter::repeat_n(' ', end));
            done = mark.start() + end;
            *count += 1;
        }
        rest.push_str(&prose[done..]);
        prose = rest;
    }
    (prose, counts)
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}

/// Whether these characters, which are drawn as one, are an emoji or a picture that readers call one. Digits, `#`, `*`, `©`, `®` and `™` are
/// only with the selector that makes them one.
fn is_emoji(cluster: &str) -> bool {
    let is_picture = |c: char| {
        let is_plain = c.is_ascii() || matches!(c, '©' | '®' | '™');
        let is_symbol = c.general_category() == GeneralCategory::OtherSymbol
            && matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}');
        !is_plain && (c.is_emoji_char() || is_symbol)
    };
    let mut chars = cluster.chars();
    let is_made_one =
        chars.next().is_some_and(UnicodeEmoji::is_emoji_char) && chars.any(|c| c == '\u{fe0f}');
    is_made_one || cluster.chars().any(is_picture)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(text: &str) -> Vec<(&'static str, u64)> {
        let text = Text::new(text);
        let all = Measured::ALL.map(|what| (what.key(), text.count(what)));
        all.into_iter().filter(|&(_, n)| n > 0).collect()
    }

    /// spec: ORC-2.2
    #[test]
    fn everything_is_counted() {
        let text = "Hello, world! Is it 5 o'clock?\n\nSee https://a.example/x?y=1. #SundayMood (@ann_b) 👩‍👩‍👧 ❤️";
        assert_eq!(
            counts(text),
            [
                ("Characters", 90),
                ("Words", 7),
                ("Sentences", 3),
                ("Lines", 2),
                ("Hashtags", 1),
                ("Links", 1),
                ("Mentions", 1),
                ("Emoji", 2),
                ("Exclamations", 1),
                ("Questions", 2)
            ]
        );
    }

    #[test]
    fn what_only_looks_like_a_mark_is_none() {
        let text = Text::new("C# is #1, mail a@b.example, R&#39;D, 5 @ home, (c) © 2026 1️⃣");
        let marks = [Measured::Hashtags, Measured::Links, Measured::Mentions];
        assert_eq!(marks.map(|what| text.count(what)), [0, 0, 0]);
        assert_eq!(text.count(Measured::Emoji), 1);
    }

    #[test]
    fn links_of_every_form_are_counted() {
        for (text, links) in [
            ("See seedlibrary.example/open for what we have.", 1),
            ("Visit havncycles.example/ride or example.com.", 2),
            ("See [here](/x).", 1),
            ("[https://a.example](https://a.example)", 1),
            ("Get ftp://x.y, mailto:a@b.c", 2),
            ("<a href=\"//x.y\">Here</a>", 1),
            ("Go to //x.example/y", 1),
            (
                "Mail a@b.example at 3.50 a day.Next, e.g. at 8 p.m. with Node.js",
                0,
            ),
        ] {
            assert_eq!(Text::new(text).count(Measured::Links), links, "{text}");
        }
    }

    #[test]
    fn pictures_are_emoji() {
        for emoji in ["☺", "❤", "☎", "✓", "★", "😀", "©️", "🐝"] {
            assert_eq!(Text::new(emoji).count(Measured::Emoji), 1, "{emoji}");
        }
        for other in ["1", "#", "*", "©", "®", "™", "→", "é", "€"] {
            assert_eq!(Text::new(other).count(Measured::Emoji), 0, "{other}");
        }
    }

    #[test]
    fn several_marks_in_a_row_are_all_counted() {
        let text = Text::new("#one #two #três @a @b www.x.example http://y.example");
        let marks = [Measured::Hashtags, Measured::Mentions, Measured::Links];
        assert_eq!(marks.map(|what| text.count(what)), [3, 2, 2]);
        assert_eq!(text.count(Measured::Words), 0);
    }

    #[test]
    fn the_longest_sentence_is_the_first_of_the_longest() {
        let text = Text::new("One two. Three four five. Six seven eight!");
        let longest = text.longest_sentence().map(|s| text.sentence(s).trim());
        assert_eq!(longest, Some("Three four five."));
        assert!(Text::new("…").longest_sentence().is_none());
    }

    #[test]
    fn endings_are_known_behind_quotation_marks_and_in_other_scripts() {
        for question in ["Why?", "“Why?” ", "لماذا؟", "なぜ？", "Why?! 😀"] {
            assert!(ends_with_a_question(question), "{question}");
        }
        assert!(!ends_with_a_question("Why? Because."));
        assert!(ends_with_an_exclamation("Now！"));
        assert!(!ends_with_an_exclamation(""));
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "\\PC{0,200}|(?s).{0,200}|([#@]|www\\.|https?://|\u{200d}|👩|\n|a|\\.){0,60}") {
            let read = Text::new(&text);
            prop_assert_eq!(read.prose().len(), text.len());
            let in_sentences: usize = read.sentences.iter().map(|s| s.words.len()).sum();
            prop_assert_eq!(in_sentences, read.words().len());
        }
    }
}
