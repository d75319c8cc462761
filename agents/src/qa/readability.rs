//! How hard a text is to read, by a formula that needs no language.
//!
//! LIX (C. H. Björnsson, *Läsbarhet*, 1968) is the mean number of words in a sentence plus the share of long words, those of more than six
//! letters, in per cent. Below 30 a text is easy, around 40 it is ordinary prose, from 50 it is hard, from 60 very hard.

use super::{
    check::{Check, Issue},
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

/// How much above the highest LIX the score is 0.
const RANGE: f64 = 25.0;

/// The numbers of the formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lix {
    pub(super) words: u64,
    pub(super) sentences: u64,
    pub(super) long_words: u64,
}

impl Lix {
    pub(super) fn value(self) -> f64 {
        let (words, sentences) = (self.words as f64, self.sentences as f64);
        words / sentences + 100.0 * self.long_words as f64 / words
    }
}

/// The numbers of a text; else why the formula does not fit it.
pub(super) fn lix(text: &Text) -> Result<Lix, String> {
    let words = text.count(Measured::Words);
    if words < FEWEST_WORDS {
        return Err(format!(
            "{words} words are too few for the formula, which needs {FEWEST_WORDS}"
        ));
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

/// Whether the text is as easy to read as is wanted.
pub(super) fn check(text: &Text, wanted: Option<f64>) -> Check {
    let check = Check::new("readability", "Readability (LIX)", 1.0);
    let numbers = match lix(text) {
        Ok(numbers) => numbers,
        Err(why) => return check.not_checked(why),
    };
    let most = wanted.unwrap_or(MAX_LIX);
    let value = numbers.value();
    let evidence = format!(
        "LIX {value:.1}, at most {most} wanted{}: {} words in {} sentences, and {} words are longer than six letters",
        if wanted.is_none() { " by default" } else { "" },
        numbers.words,
        numbers.sentences,
        numbers.long_words,
    );
    let check = check.scored(1.0 - (value - most) / RANGE);
    if value <= most {
        return check.pass(evidence);
    }
    let longest = text.longest_sentence();
    let longest = longest.map_or_else(String::new, |sentence| {
        let quoted = serde_json::json!(excerpt(text.sentence(sentence)));
        let words = sentence.words.len();
        format!(" (longest sentence, {words} words: {quoted})")
    });
    let wrong = format!("LIX is {value:.1} where at most {most} is wanted{longest}");
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
            sentences: 2,
            long_words: 3,
        };
        assert_eq!(numbers, expected);
        assert_eq!(numbers.value(), 35.0);
    }

    #[test]
    fn links_hashtags_and_line_breaks_do_not_make_a_text_harder() {
        let text = "This one has letters\nHere is another sentence of six\nhttps://example.com/very-long-address #Congratulations";
        assert_eq!(lix(&Text::new(text)).map(Lix::value), Ok(35.0));
    }

    #[test]
    fn letters_with_marks_count_once() {
        let composed = "Größere Säle können überall über Nacht für alle geöffnet sein.";
        let decomposed: String =
            unicode_normalization::UnicodeNormalization::nfd(composed).collect();
        let value = |text: &str| lix(&Text::new(text)).map(Lix::value);
        assert_eq!(value(composed), Ok(10.0 + 30.0));
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
        ] {
            assert_eq!(
                check(&Text::new(text), None).verdict,
                Verdict::NotChecked,
                "{text}"
            );
        }
    }
}
