//! LIX: readability of a text, by a formula that needs no language.
//!
//! LIX (C. H. Björnsson, *Läsbarhet*, 1968) is the mean number of words in a sentence plus the share of long words, those of more than six
//! letters, in per cent. Below 30 a text is easy, around 40 it is ordinary prose, from 50 it is hard, from 60 very hard.

use super::{
    count::{Count, Range},
    measured::Measured,
    parsed::{Text, letters},
};

/// With fewer words the formula says nothing.
const FEWEST_WORDS: u64 = 10;

/// A text whose words have fewer letters in the mean has no words that can be told apart by spaces, and the formula does not fit it.
const SHORTEST_WORDS: f64 = 2.0;

/// The numbers of the formula. Its words are what stands between spaces.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lix {
    pub(crate) words: u64,
    pub(crate) sentences: Count,
    pub(crate) long_words: u64,
}

impl Lix {
    /// The lowest and the highest value, by where sentences may end.
    pub(crate) fn value(&self) -> Range {
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
pub(crate) fn lix(text: &Text) -> Result<Lix, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn letters_with_marks_count_once() {
        let composed = "Größere Säle können überall über Nacht für alle geöffnet sein.";
        let decomposed: String =
            unicode_normalization::UnicodeNormalization::nfd(composed).collect();
        let value = |text: &str| lix(&Text::new(text)).map(|lix| lix.value());
        assert_eq!(value(composed), Ok(Range::exactly(10.0 + 30.0)));
        assert_eq!(value(&decomposed), value(composed));
    }
}
