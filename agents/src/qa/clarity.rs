//! The computable part of a text's clarity: sentences that are too long, and words that stand twice in a row.

use serde_json::json;

use super::{
    check::{Check, Issue},
    fix::Fix,
};
use crate::text::{
    folded::{excerpt, line},
    parsed::{Sentence, Text},
};

/// The most words that a sentence may have: about twice the mean of ordinary prose.
const MOST_WORDS: u64 = 30;

/// Doubled words that are shown, at most.
const SHOWN: usize = 5;

/// The checks, and the question that is left for a model.
pub(super) fn checks(text: &Text) -> Vec<Check> {
    let judged = Check::new("clarity", "Clarity", 1.0).ask(
        "unclear",
        "Is the draft clear: does a reader of its audience understand at the first reading what it says and what to do next?",
    );
    vec![sentences(text), doubled_words(text), judged]
}

fn sentences(text: &Text) -> Check {
    let check = Check::new("clarity.sentences", "Length of sentences", 1.0);
    let Some([short, long]) = text.longest_sentences() else {
        return check.not_checked("the draft has no sentence");
    };
    if text.is_unspaced() {
        return check.not_checked("the draft is in a script without spaces between words");
    }
    let words = |sentence: &Sentence| sentence.words.len() as u64;
    let shown = |sentence: &Sentence| json!(excerpt(text.sentence(sentence)));
    let (low, high) = (words(short), words(long));
    let place = line(&text.raw, start(text, long));
    let count = match low == high {
        true => format!("{low} words"),
        false => format!("{low} to {high} words, by where sentences end"),
    };
    let evidence = format!(
        "the longest sentence has {count}, at most {MOST_WORDS} wanted: {} (line {place})",
        shown(long)
    );
    if high <= MOST_WORDS {
        return check.pass(evidence);
    }
    if low <= MOST_WORDS {
        return check.not_checked(evidence);
    }
    let over = (low - MOST_WORDS) as f64 / MOST_WORDS as f64;
    let place = line(&text.raw, start(text, short));
    let wrong = format!(
        "a sentence has {low} words (line {place}: {})",
        shown(short)
    );
    let issue = Issue::new("long_sentence", wrong, Fix::ShortSentences(MOST_WORDS));
    check.scored(1.0 - over).fail(evidence, issue)
}

/// Place of a sentence's first word.
fn start(text: &Text, sentence: &Sentence) -> usize {
    let first = text.places_of(sentence).first();
    first.map_or(sentence.range.start, |word| word.start)
}

fn doubled_words(text: &Text) -> Check {
    let check = Check::new("clarity.repetition", "Words twice in a row", 0.5);
    if text.words().len() == 0 {
        return check.not_checked("the draft has no words");
    }
    let mut found = Vec::new();
    for sentence in &text.sentences {
        let places = text.places_of(sentence);
        for pair in places.windows(2) {
            let [first, second] = [&text.raw[pair[0].clone()], &text.raw[pair[1].clone()]];
            let gap = &text.raw[pair[0].end..pair[1].start];
            let is_gap = !gap.is_empty() && gap.chars().all(char::is_whitespace);
            let is_word = first.chars().all(char::is_alphabetic);
            if is_gap && is_word && first.to_lowercase() == second.to_lowercase() {
                found.push(pair[0].start..pair[1].end);
            }
        }
    }
    if found.is_empty() {
        return check.pass("no word stands twice in a row");
    }
    let shown = found.iter().take(SHOWN).map(|place| {
        let number = line(&text.raw, place.start);
        let quoted = json!(excerpt(&text.raw[place.clone()]));
        format!("line {number}: {quoted}")
    });
    let shown: Vec<String> = shown.collect();
    let evidence = format!("{} times: {}", found.len(), shown.join(", "));
    let wrong = format!("a word stands twice in a row ({})", shown[0]);
    check.fail(
        evidence,
        Issue::advice("doubled_word", wrong, "write it once"),
    )
}

#[cfg(test)]
mod tests {
    use super::{super::check::Verdict, *};

    /// spec: ORC-2.2
    #[test]
    fn a_sentence_that_is_too_long_is_named() {
        let words = |n: usize| vec!["word"; n].join(" , ");
        let draft = |n: usize| Text::new(&format!("Fine.\nA {}.", words(n - 1)));
        assert_eq!(sentences(&draft(30)).verdict, Verdict::Pass);
        let wrapped = sentences(&Text::new(&format!("{}\n{}.", words(20), words(20))));
        assert_eq!(wrapped.verdict, Verdict::NotChecked, "{}", wrapped.evidence);
        assert!(
            wrapped.evidence.contains("20 to 40 words"),
            "{}",
            wrapped.evidence
        );
        let check = sentences(&draft(45));
        assert_eq!((check.verdict, check.score), (Verdict::Fail, Some(0.5)));
        let issue = check.issue.expect("an issue").sentence();
        assert!(issue.starts_with("long_sentence: a sentence has 45 words (line 2: \"A word"));
        assert_eq!(Fix::read(&issue), Some(Fix::ShortSentences(30)));
    }

    #[test]
    fn a_doubled_word_is_found_across_lines_and_cases() {
        let check = doubled_words(&Text::new("One.\nThe the end, end is is\tnear. Near."));
        assert_eq!(check.verdict, Verdict::Fail);
        assert_eq!(
            check.evidence,
            "2 times: line 2: \"The the\", line 2: \"is is\""
        );
        let check = doubled_words(&Text::new("So-so. 5 5 is no word."));
        assert_eq!(check.verdict, Verdict::Pass);
    }

    #[test]
    fn where_there_are_no_words_nothing_is_checked() {
        for check in checks(&Text::new("😀")) {
            assert_eq!(check.verdict, Verdict::NotChecked);
        }
    }
}
