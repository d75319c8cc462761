//! Measures of a knob.

use super::{
    count::Range,
    lix::lix,
    measured::Measured,
    parsed::{Text, ends_with_a_question, ends_with_an_exclamation, letters},
};

/// The measures that a knob can name, with the values that count as its lowest and highest setting if it does not say: what ordinary
/// texts have at least and at most.
pub const MEASURES: [(&str, f64, f64); 10] = [
    // Words per sentence.
    ("sentence_length", 5.0, 30.0),
    // Letters per word.
    ("word_length", 3.0, 8.0),
    // LIX, see `lix.rs`.
    ("lix", 20.0, 60.0),
    // Characters.
    ("length", 0.0, 1_500.0),
    // Of all sentences.
    ("question_share", 0.0, 0.5),
    // Of all sentences.
    ("exclamation_share", 0.0, 0.5),
    // Emoji per word.
    ("emoji_share", 0.0, 0.2),
    // Hashtags per word.
    ("hashtag_share", 0.0, 0.2),
    // Words with a digit, of all words.
    ("number_share", 0.0, 0.2),
    // Different words, of all words.
    ("word_variety", 0.4, 1.0),
];

/// The lowest and the highest value that a measure gives for a text; `None` where there is nothing to measure.
pub(crate) fn measured(kind: &str, text: &Text) -> Option<Range> {
    let count = |what| text.count(what).range();
    let words = Some(count(Measured::Words)).filter(|words| words.high > 0.0)?;
    let spaced = Some(text.words().len() as f64).filter(|words| *words > 0.0)?;
    // What is told of each word has no sense where spaces do not part words.
    let of_words = |value: f64| (!text.is_unspaced()).then(|| Range::exactly(value));
    Some(match kind {
        "sentence_length" => words.over(count(Measured::Sentences))?,
        "word_length" => of_words(text.words().map(letters).sum::<usize>() as f64 / spaced)?,
        "lix" => lix(text).ok()?.value(),
        "length" => count(Measured::Characters),
        "question_share" => share_of_sentences(text, ends_with_a_question)?,
        "exclamation_share" => share_of_sentences(text, ends_with_an_exclamation)?,
        "emoji_share" => count(Measured::Emoji).over(words)?,
        "hashtag_share" => count(Measured::Hashtags).over(words)?,
        "number_share" => {
            let has_digit = |word: &&str| word.chars().any(char::is_numeric);
            of_words(text.words().filter(has_digit).count() as f64 / spaced)?
        }
        "word_variety" => {
            let different: std::collections::HashSet<String> =
                text.words().map(str::to_lowercase).collect();
            of_words(different.len() as f64 / spaced)?
        }
        _ => return None,
    })
}

/// The share of the sentences that are so, by both ways of parting the text into sentences.
fn share_of_sentences(text: &Text, is: fn(&str) -> bool) -> Option<Range> {
    let those = text.readings().map(|sentences| {
        let those = sentences.iter().filter(|s| is(text.sentence(s)));
        those.count() as f64
    });
    let those = Range {
        low: those[0].min(those[1]),
        high: those[0].max(those[1]),
    };
    those.share_of(text.count(Measured::Sentences).range())
}
