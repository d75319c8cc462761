//! Check of a text's readability, by [`lix`](crate::text::lix).

use super::{
    check::{Check, Issue},
    fix::Fix,
};
use crate::text::{folded::excerpt, lix::lix, measured::Measured, parsed::Text};

/// The highest LIX that passes unless the payload says otherwise: the border to what is hard to read.
pub(super) const MAX_LIX: f64 = 50.0;

/// Excess over the highest LIX at which the score is 0.
const RANGE: f64 = 25.0;

/// Checks whether the text is as easy to read as is wanted.
pub(super) fn check(text: &Text, wanted: Option<f64>) -> Check {
    let check = Check::new("readability", "Readability (LIX)", 1.0);
    let check = match wanted {
        Some(_) => check.rule(),
        None => check,
    };
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

    #[test]
    fn where_sentences_may_end_in_two_ways_there_are_two_values() {
        let text = Text::new("This one has letters\nHere is another sentence of six.");
        let verdicts = [35.0, 36.0, 40.0].map(|most| check(&text, Some(most)).verdict);
        assert_eq!(
            verdicts,
            [Verdict::NotChecked, Verdict::NotChecked, Verdict::Pass]
        );
        assert_eq!(check(&text, Some(30.0)).verdict, Verdict::Fail);
        // A limit that the request sets is a rule.
        assert!(check(&text, Some(30.0)).is_rule && !check(&text, None).is_rule);
        let evidence = check(&text, Some(36.0)).evidence;
        assert!(
            evidence
                .starts_with("LIX 35.0 to 40.0, at most 36 wanted: 10 words in 1 to 2 sentences"),
            "{evidence}"
        );
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
