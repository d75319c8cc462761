//! Readability of a text, by a formula that needs no language.
//!
//! LIX (C. H. Björnsson, *Läsbarhet*, 1968) is the mean number of words in a sentence plus the share of long words, those of more than six
//! letters, in per cent. Below 30 a text is easy, around 40 it is ordinary prose, from 50 it is hard, from 60 very hard.

use super::{
    check::{Check, Issue},
    count::{Count, Range},
    fix::Fix,
    folded::excerpt,
    measured::Measured,
    text::{Text, letters},
};

/// The highest LIX that passes unless the payload says otherwise: the border to what is hard to read.
pub(super) const MAX_LIX: f64 = 50.0;

/// With fewer words the formula says nothing.
const FEWEST_WORDS: u64 = 10;

/// A text whose words have fewer letters in the mean has no words that can be told apart by spaces, and the formula does not fit it.
const SHORTEST_WORDS: f64 = 2.0;

/// Excess over the highest LIX at which the score is 0.
const RANGE: f64 = 25.0;

/// The numbers of the formula. Its words are what stands between spaces.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lix {
    pub(super) words: u64,
    pub(super) sentences: Count,
    pub(super) long_words: u64,
}

impl Lix {
    /// The lowest and the highest value, by where sentences may end.
    pub(super) fn value(&self) -> Range {
        let words = self.words as f64;
        let value =
            |sentences: u64| words / sentences as f64 + 100.0 * self.long_words as f64 / words;
        Range {
            low: value(self.sentences.high),
            high: value(self.sentences.low),
        }
    }
}

/// The numbers of a text; else why the formula does not fit it.
pub(super) fn lix(text: &Text) -> Result<Lix, String> {
    let words = text.words().len() as u64;
    if words < FEWEST_WORDS {
        return Err(format!(
            "{words} words are too few for the formula, which needs {FEWEST_WORDS}"
        ));
    }
    if text.is_unspaced() {
        return Err(
            "the text is in a script without spaces between words: the formula does not fit it"
                .to_owned(),
        );
    }
    let sizes: Vec<usize> = text.words().map(letters).collect();
    let mean = sizes.iter().sum::<usize>() as f64 / words as f64;
    if mean < SHORTEST_WORDS {
        return Err(format!(
            "the words have {mean:.1} letters in the mean: the formula does not fit such a text"
        ));
    }
    Ok(Lix {
        words,
        sentences: text.count(Measured::Sentences),
        long_words: sizes.iter().filter(|&&size| size > 6).count() as u64,
    })
}

/// Checks whether the text is as easy to read as is wanted.
pub(super) fn check(text: &Text, wanted: Option<f64>) -> Check {
    let check = Check::new("readability", "Readability (LIX)", 1.0);
    let numbers = match lix(text) {
        Ok(numbers) => numbers,
        Err(why) => return check.not_checked(why),
    };
    let most = wanted.unwrap_or(MAX_LIX);
    let value = numbers.value();
    let shown = match value.low == value.high {
        true => format!("{:.1}", value.low),
        false => format!("{:.1} to {:.1}", value.low, value.high),
    };
    let evidence = format!(
        "LIX {shown}, at most {most} wanted{}: {} words in {}; longer than six letters: {} {}",
        if wanted.is_none() { " by default" } else { "" },
        numbers.words,
        numbers.sentences.told(Measured::Sentences),
        numbers.long_words,
        Measured::Words.noun(numbers.long_words),
    );
    let check = match (value.high <= most, value.low > most) {
        (true, _) => {
            return check
                .scored(1.0 - (value.high - most) / RANGE)
                .pass(evidence);
        }
        (_, true) => check.scored(1.0 - (value.low - most) / RANGE),
        _ => return check.not_checked(evidence),
    };
    let longest = text.longest_sentences();
    let longest = longest.map_or_else(String::new, |[sentence, _]| {
        let quoted = serde_json::json!(excerpt(text.sentence(sentence)));
        let words = sentence.words.len();
        format!(" (longest sentence, {words} words: {quoted})")
    });
    let wrong = format!("LIX is {shown} where at most {most} is wanted{longest}");
    check.fail(
        evidence,
        Issue::new("hard_to_read", wrong, Fix::Easier(most)),
    )
}

#[cfg(test)]
mod tests {
    use super::{super::check::Verdict, *};

    /// Ten words in two sentences, three of them long ("letters", "another", "sentence"): 10 / 2 + 100 * 3 / 10 = 35.
    const PLAIN: &str = "This one has letters. Here is another sentence of six.";

    /// spec: ORC-2.2
    #[test]
    fn the_formula_gives_what_one_gets_by_hand() {
        let numbers = lix(&Text::new(PLAIN)).expect("it fits");
        let expected = Lix {
            words: 10,
            sentences: Count::between(2, 2, String::new),
            long_words: 3,
        };
        assert_eq!(numbers, expected);
        assert_eq!(numbers.value(), Range::exactly(35.0));
    }

    #[test]
    fn links_hashtags_and_line_breaks_do_not_make_a_text_harder() {
        let text = "This one has letters.\nHere is another sentence of six.\nhttps://example.com/very-long-address #Congratulations";
        let value = lix(&Text::new(text)).map(|lix| lix.value());
        assert_eq!(value, Ok(Range::exactly(35.0)));
    }

    #[test]
    fn where_sentences_may_end_in_two_ways_there_are_two_values() {
        let text = Text::new("This one has letters\nHere is another sentence of six.");
        let verdicts = [35.0, 36.0, 40.0].map(|most| check(&text, Some(most)).verdict);
        assert_eq!(
            verdicts,
            [Verdict::NotChecked, Verdict::NotChecked, Verdict::Pass]
        );
        assert_eq!(check(&text, Some(30.0)).verdict, Verdict::Fail);
        let evidence = check(&text, Some(36.0)).evidence;
        assert!(
            evidence
                .starts_with("LIX 35.0 to 40.0, at most 36 wanted: 10 words in 1 to 2 sentences"),
            "{evidence}"
        );
    }

    #[test]
    fn letters_with_marks_count_once() {
        let composed = "Größere Säle können überall über Nacht für alle geöffnet sein.";
        let decomposed: String =
            unicode_normalization::UnicodeNormalization::nfd(composed).collect();
        let value = |text: &str| lix(&Text::new(text)).map(|lix| lix.value());
        assert_eq!(value(composed), Ok(Range::exactly(10.0 + 30.0)));
        assert_eq!(value(&decomposed), value(composed));
    }

    #[test]
    fn the_limit_decides_and_what_is_to_be_done_is_said() {
        let at = check(&Text::new(PLAIN), Some(35.0));
        assert_eq!((at.verdict, at.score), (Verdict::Pass, Some(1.0)));
        let above = check(&Text::new(PLAIN), Some(30.0));
        assert_eq!((above.verdict, above.score), (Verdict::Fail, Some(0.8)));
        let issue = above.issue.expect("an issue").sentence();
        assert_eq!(
            issue,
            "hard_to_read: LIX is 35.0 where at most 30 is wanted (longest sentence, 6 words: \"Here is another sentence of six.\"); \
             bring LIX down to 30."
        );
        assert_eq!(Fix::read(&issue), Some(Fix::Easier(30.0)));
    }

    #[test]
    fn texts_that_the_formula_does_not_fit_are_not_checked() {
        for text in [
            "",
            "😀😀😀",
            "Too short.",
            "我们今天去公园散步然后回家吃饭休息一下。",
            "a b c d e f g h i j k",
            "パン を 買う ため に 店 へ 行き ました 。 明日 また 来て ください ね 。",
        ] {
            assert_eq!(
                check(&Text::new(text), None).verdict,
                Verdict::NotChecked,
                "{text}"
            );
        }
    }
}
