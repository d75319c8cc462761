//! A draft, read once: its sentences, words and marks.

use std::ops::Range;

use serde_json::json;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::{
    asking,
    count::Count,
    emoji::{self, Picture},
    folded::{Folded, excerpt, line},
    items,
    marks::{self, Marks},
    measured::Measured,
    words,
};
use super::{
    script::is_unspaced,
    sentences::{End, ends},
};

/// A text of which a greater share of letters is in scripts without spaces has no words that formulas can count.
const MOST_UNSPACED: f64 = 0.1;

/// A sentence by one way of parting the text. At least one word begins in it.
#[derive(Clone, Debug)]
pub(crate) struct Sentence {
    /// Its place in the draft.
    pub(crate) range: Range<usize>,
    /// Its words, in [`Text::words`].
    pub(crate) words: Range<usize>,
}

/// A draft.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) raw: String,
    pub(crate) folded: Folded,
    pub(crate) marks: Marks,
    /// The sentences by the reading that ends them wherever one may end.
    pub(crate) sentences: Vec<Sentence>,
    /// The sentences by the reading that ends them only where one surely ends.
    long_sentences: Vec<Sentence>,
    /// Places of the prose's words.
    words: Vec<Range<usize>>,
    counts: Vec<Count>,
}

impl Text {
    pub(crate) fn new(raw: &str) -> Self {
        let marks = Marks::new(raw);
        let words = words::places(&marks.prose);
        let ends = ends(&marks.prose);
        let mut text = Self {
            raw: raw.to_owned(),
            folded: Folded::new(raw),
            sentences: parted(&words, ends.iter()),
            long_sentences: parted(&words, ends.iter().filter(|end| end.is_sure)),
            marks,
            words,
            counts: Vec::new(),
        };
        text.counts = Measured::ALL.map(|what| text.counted(what, &ends)).into();
        text
    }

    /// Number of them in the draft.
    pub(crate) fn count(&self, what: Measured) -> Count {
        let at = Measured::ALL.iter().position(|&m| m == what);
        let count = at.and_then(|at| self.counts.get(at));
        count.cloned().unwrap_or_default()
    }

    fn counted(&self, what: Measured, ends: &[End]) -> Count {
        let Self { raw, marks, .. } = self;
        match what {
            Measured::Characters => characters(raw),
            Measured::Words => self.count_words(),
            Measured::Sentences => count_sentences(raw, ends),
            Measured::Lines => lines(raw),
            Measured::Items => items::count(raw),
            Measured::Links => marks::count(raw, &marks.links, "link"),
            Measured::Hashtags => marks::count(raw, &marks.hashtags, "hashtag"),
            Measured::Mentions => marks::count(raw, &marks.mentions, "mention"),
            Measured::Emoji => pictures(raw),
            Measured::Exclamations => asking::count(raw, marks, '!', false),
            Measured::ExclamationMarks => asking::count(raw, marks, '!', true),
            Measured::Questions => asking::count(raw, marks, '?', false),
            Measured::QuestionMarks => asking::count(raw, marks, '?', true),
        }
    }

    /// Links, hashtags and mentions are words to some, and tags and blocks of code to few.
    fn count_words(&self) -> Count {
        let Self { raw, marks, .. } = self;
        let reading = words::count(raw, &marks.prose, &self.words);
        let in_code = self.words.iter();
        let in_code = in_code.filter(|word| marks::is_in(&marks.blocks, word.start));
        let low = reading.low.saturating_sub(in_code.count());
        let more = [&marks.links, &marks.hashtags, &marks.mentions];
        let shown = more.into_iter().flatten().map(|mark| mark.place.clone());
        let shown = shown.min_by_key(|place| place.start);
        let more: usize = more.iter().map(|marks| marks.len()).sum();
        Count::between(low, reading.high + more + marks.tags, || {
            let of_mark = || {
                let place = shown?;
                let number = line(raw, place.start);
                let there = json!(excerpt(&raw[place]));
                Some(format!("{there}, line {number}, is a word or not"))
            };
            let doubt = reading.doubt.or_else(of_mark);
            doubt.unwrap_or_else(|| "code and tags are words or not".to_owned())
        })
    }

    /// The words of the prose, in order: what stands between spaces.
    pub(crate) fn words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.words
            .iter()
            .map(|range| &self.marks.prose[range.clone()])
    }

    /// True if too much of it is in scripts that set no spaces between words.
    pub(crate) fn is_unspaced(&self) -> bool {
        let letters = self.marks.prose.chars().filter(|c| c.is_alphabetic());
        let (mut all, mut unspaced) = (0_u32, 0_u32);
        for letter in letters {
            all += 1;
            unspaced += u32::from(is_unspaced(letter));
        }
        f64::from(unspaced) > f64::from(all) * MOST_UNSPACED
    }

    /// Places of one sentence's words in the draft.
    pub(crate) fn places_of(&self, sentence: &Sentence) -> &[Range<usize>] {
        &self.words[sentence.words.clone()]
    }

    /// Text of a sentence, with everything in it.
    pub(crate) fn sentence(&self, sentence: &Sentence) -> &str {
        &self.raw[sentence.range.clone()]
    }

    /// The draft without links, hashtags, mentions and tags.
    pub(crate) fn prose(&self) -> &str {
        &self.marks.prose
    }

    /// The sentence with the most words, the first of several: by the reading that gives the shortest sentences, and by that which gives the
    /// longest.
    pub(crate) fn longest_sentences(&self) -> Option<[&Sentence; 2]> {
        let longest = |sentences: &'_ [Sentence]| {
            let sentences = sentences.iter().enumerate().rev();
            let longest = sentences.max_by_key(|(_, sentence)| sentence.words.len());
            longest.map(|(at, _)| at)
        };
        let short = self.sentences.get(longest(&self.sentences)?)?;
        let long = self.long_sentences.get(longest(&self.long_sentences)?)?;
        Some([short, long])
    }

    /// The sentences by both readings: those that end wherever one may end, and those that end only where one surely ends.
    pub(crate) fn readings(&self) -> [&[Sentence]; 2] {
        [&self.sentences, &self.long_sentences]
    }
}

/// The sentences between these ends in which words begin.
fn parted<'a>(places: &[Range<usize>], ends: impl Iterator<Item = &'a End>) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let (mut start, mut first) = (0, 0);
    for end in ends {
        let begun = places.partition_point(|word| word.start < end.at);
        if begun > first {
            sentences.push(Sentence {
                range: start..end.at,
                words: first..begun,
            });
        }
        (start, first) = (end.at, begun);
    }
    // No reading ends a sentence in a block of code that nothing closes, nor behind its first line.
    if let Some(last) = places.get(first..).and_then(<[_]>::last) {
        sentences.push(Sentence {
            range: start..last.end,
            words: first..places.len(),
        });
    }
    sentences
}

/// A sentence that no mark ends may be a heading; where a mark may end none, two may be one.
fn count_sentences(raw: &str, ends: &[End]) -> Count {
    let is_counted = |end: &&End| end.is_sure && end.is_marked;
    let low = ends.iter().filter(is_counted).count();
    let low = low.max(usize::from(!ends.is_empty()));
    Count::between(low, ends.len(), || {
        let doubtful = ends.iter().find(|end| !is_counted(end));
        let at = doubtful.map_or(0, |end| end.at);
        let before = raw[..at].trim_end();
        let words = before.split_inclusive(char::is_whitespace).rev().take(3);
        let length: usize = words.map(str::len).sum();
        let start = before.len() - length;
        let number = line(raw, before.len().saturating_sub(1));
        let there = json!(excerpt(&before[start..]));
        format!("one may end after {there}, line {number}, or not")
    })
}

/// As drawn, as code points and in UTF-16, with the space around or without.
fn characters(raw: &str) -> Count {
    let drawn = raw.trim().graphemes(true).count();
    let points = raw.chars().count();
    let units = raw.encode_utf16().count();
    Count::between(drawn, units, || {
        format!(
            "{drawn} as they are drawn, without the space around, {points} code points, {units} units of UTF-16"
        )
    })
}

/// Lines with anything on them; empty ones between them count for some.
fn lines(raw: &str) -> Count {
    let filled = raw.lines().filter(|line| !line.trim().is_empty()).count();
    Count::between(filled, raw.trim().lines().count(), || {
        "empty lines count or not".to_owned()
    })
}

fn pictures(raw: &str) -> Count {
    let (mut sure, mut all) = (0, 0);
    let mut shown = None;
    for cluster in raw.graphemes(true) {
        let picture = emoji::picture(cluster);
        sure += usize::from(picture == Picture::Emoji);
        all += usize::from(picture != Picture::No);
        if picture == Picture::Sign {
            shown = shown.or(Some(cluster));
        }
    }
    for face in emoji::emoticons(raw) {
        all += 1;
        shown = shown.or(Some(face));
    }
    Count::between(sure, all, || {
        format!(
            "{} may be an emoji or not",
            json!(shown.unwrap_or_default())
        )
    })
}

/// True if a sentence ends with a question: after its last letter or digit.
pub(crate) fn ends_with_a_question(sentence: &str) -> bool {
    ending(sentence).nfkc().any(asking::is_question_mark)
}

pub(crate) fn ends_with_an_exclamation(sentence: &str) -> bool {
    ending(sentence).nfkc().any(|c| c == '!')
}

fn ending(sentence: &str) -> &str {
    let last = sentence.rfind(char::is_alphanumeric).unwrap_or(0);
    &sentence[last..]
}

/// The letters of a word.
pub(crate) fn letters(word: &str) -> usize {
    word.nfc().filter(|c| c.is_alphabetic()).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(text: &str) -> Vec<(&'static str, u64, u64)> {
        let text = Text::new(text);
        let all = Measured::ALL.map(|what| (what.key(), text.count(what)));
        let all = all
            .into_iter()
            .map(|(key, count)| (key, count.low, count.high));
        all.filter(|&(.., high)| high > 0).collect()
    }

    /// spec: ORC-2.2
    #[test]
    fn everything_is_counted() {
        let text = "Hello, world! Is it 5 o'clock?\n\nSee https://a.example/x?y=1. #SundayMood (@ann_b) 👩‍👩‍👧 ❤️";
        assert_eq!(
            counts(text),
            [
                // A family is drawn as one; in UTF-16 it is eight.
                ("Characters", 85, 93),
                ("Words", 7, 10),
                ("Sentences", 3, 3),
                ("Lines", 2, 3),
                ("Items", 0, 2),
                ("Hashtags", 1, 1),
                ("Links", 1, 1),
                ("Mentions", 1, 1),
                ("Emoji", 2, 2),
                ("Exclamations", 1, 1),
                ("ExclamationMarks", 1, 1),
                ("Questions", 1, 1),
                ("QuestionMarks", 1, 2),
            ]
        );
    }

    #[test]
    fn pictures_are_emoji_to_all_or_to_some() {
        for (text, low, high) in [
            ("🐝❤️", 2, 2),
            ("☺ ✓", 0, 2),
            ("Come :)", 0, 1),
            ("© 5 #", 0, 0),
        ] {
            let count = Text::new(text).count(Measured::Emoji);
            assert_eq!((count.low, count.high), (low, high), "{text}");
        }
    }

    #[test]
    fn the_longest_sentence_is_the_first_of_the_longest() {
        let text = Text::new("One two. Three four five. Six seven eight!");
        let [short, long] = text.longest_sentences().expect("sentences");
        assert_eq!(text.sentence(short).trim(), "Three four five.");
        assert_eq!(text.sentence(long).trim(), "Three four five.");
        let wrapped = Text::new("One two\nthree four.");
        let lengths = wrapped.longest_sentences().expect("sentences");
        assert_eq!(lengths.map(|sentence| sentence.words.len()), [2, 4]);
        assert!(Text::new("…").longest_sentences().is_none());
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

    #[test]
    fn words_of_a_block_of_code_that_nothing_closes_are_in_a_sentence() {
        for text in ["```www.", "Look:\n```\ncargo run", "```\na\n\nb"] {
            let read = Text::new(text);
            for sentences in read.readings() {
                let in_sentences: usize = sentences.iter().map(|s| s.words.len()).sum();
                assert_eq!(in_sentences, read.words().len(), "{text:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "\\PC{0,200}|(?s).{0,200}|([#@]|www\\.|https?://|\u{200d}|👩|\n|a|\\.|`|<a>){0,60}") {
            let read = Text::new(&text);
            prop_assert_eq!(read.prose().len(), text.len());
            for sentences in read.readings() {
                let in_sentences: usize = sentences.iter().map(|s| s.words.len()).sum();
                prop_assert_eq!(in_sentences, read.words().len());
            }
            for what in Measured::ALL {
                let count = read.count(what);
                prop_assert!(count.low <= count.high, "{what:?}");
            }
        }
    }
}
