//! What of a text's clarity can be computed: sentences that are too long, and words that stand twice in a row.

use serde_json::json;

use super::{
    check::{Check, Issue},
    fix::Fix,
    folded::{excerpt, line},
    text::Text,
};

/// The most words that a sentence may have: about twice the mean of ordinary prose.
const MOST_WORDS: u64 = 30;

/// How many doubled words are shown.
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
    let Some(longest) = text.longest_sentence() else {
        return check.not_checked("the draft has no sentence");
    };
    let words = longest.words.len() as u64;
    let quoted = json!(excerpt(text.sentence(longest)));
    let place = line(&text.raw, longest.range.start);
    let evidence = format!(
        "the longest sentence has {words} words, at most {MOST_WORDS} wanted: {quoted} (line {place})"
    );
    if words <= MOST_WORDS {
        return check.pass(evidence);
    }
    let over = (words - MOST_WORDS) as f64 / MOST_WORDS as f64;
    let wrong = format!("a sentence has {words} words (line {place}: {quoted})");
    let issue = Issue::new("long_sentence", wrong, Fix::ShortSentences(MOST_WORDS));
    check.scored(1.0 - over).fail(evidence, issue)
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
        let draft = |n| Text::new(&format!("Fine.\n{}.", words(n)));
        assert_eq!(sentences(&draft(30)).verdict, Verdict::Pass);
        let check = sentences(&draft(45));
        assert_eq!((check.verdict, check.score), (Verdict::Fail, Some(0.5)));
        let issue = check.issue.expect("an issue").sentence();
        assert!(issue.starts_with("long_sentence: a sentence has 45 words (line 2: \"word"));
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
