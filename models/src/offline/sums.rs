//! Requests that are a sum of numbers: the stand-in can count, and needs nobody for it.

use crate::numerals;

/// Words that may stand before a sum.
const BEFORE: [&str; 12] = [
    "what",
    "whats",
    "s",
    "is",
    "how",
    "much",
    "many",
    "calculate",
    "compute",
    "please",
    "are",
    "the",
];

/// The words of an operation. Longer ones come first.
const OPERATIONS: [(&[&str], Operation); 14] = [
    (&["multiplied", "by"], Operation::Times),
    (&["divided", "by"], Operation::Over),
    (&["times"], Operation::Times),
    (&["plus"], Operation::Plus),
    (&["minus"], Operation::Minus),
    (&["over"], Operation::Over),
    (&["*"], Operation::Times),
    (&["×"], Operation::Times),
    (&["x"], Operation::Times),
    (&["+"], Operation::Plus),
    (&["-"], Operation::Minus),
    (&["−"], Operation::Minus),
    (&["/"], Operation::Over),
    (&["÷"], Operation::Over),
];

/// The largest result that is told, for `f64` is exact up to there.
const LARGEST: f64 = 1e15;

/// Decimal places of a result.
const PLACES: i32 = 9;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Plus,
    Minus,
    Times,
    Over,
}

/// The answer to words that are a sum and nothing else; `None` of others, and where there is no result.
pub(super) fn answer(words: &str) -> Option<String> {
    let tokens = tokens(words);
    let begins = tokens
        .iter()
        .position(|token| !BEFORE.contains(&&**token))?;
    let sum = &tokens[begins..];
    let value = value(sum)?;
    let asked = sum.join(" ");
    Some(format!(
        "{asked} is {}. (The offline stand-in counted that; it is no language model.)",
        told(value)?
    ))
}

/// Numbers, words and signs. What ends a question is left out.
fn tokens(words: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut current = String::new();
    let mut characters = words
        .trim()
        .trim_end_matches(['?', '.', '!', '=', ' '])
        .chars()
        .peekable();
    while let Some(c) = characters.next() {
        let goes_on = current
            .chars()
            .next()
            .is_some_and(|first| match first.is_ascii_digit() {
                true => {
                    let is_point = c == '.' && characters.peek().is_some_and(char::is_ascii_digit);
                    c.is_ascii_digit() || is_point
                }
                // `twenty-one` is one number.
                false => {
                    let is_hyphen =
                        c == '-' && characters.peek().is_some_and(|c| c.is_alphabetic());
                    c.is_alphabetic() || is_hyphen && first.is_alphabetic()
                }
            });
        if !goes_on && !current.is_empty() {
            tokens.push(std::mem::take(&mut current));
        }
        match c {
            c if c.is_alphanumeric() || goes_on => current.extend(c.to_lowercase()),
            c if c.is_whitespace() || matches!(c, '\'' | '’') => {}
            sign => tokens.push(sign.to_string()),
        }
    }
    tokens.extend((!current.is_empty()).then_some(current));
    tokens
}

/// Products first, then what is added and taken away. A number alone is no sum.
fn value(mut sum: &[String]) -> Option<f64> {
    let mut terms = vec![number(&mut sum)?];
    let mut is_sum = false;
    while !sum.is_empty() {
        let operation = operation(&mut sum)?;
        let next = number(&mut sum)?;
        let last = terms.last_mut()?;
        match operation {
            Operation::Plus => terms.push(next),
            Operation::Minus => terms.push(-next),
            Operation::Times => *last *= next,
            Operation::Over => *last /= next,
        }
        is_sum = true;
    }
    is_sum.then(|| terms.iter().sum())
}

fn number(sum: &mut &[String]) -> Option<f64> {
    let (mut first, mut rest) = sum.split_first()?;
    let is_negative = first == "-" || first == "−";
    if is_negative {
        (first, rest) = rest.split_first()?;
    }
    *sum = rest;
    let sign = if is_negative { -1.0 } else { 1.0 };
    let number: f64 = match first.starts_with(|c: char| c.is_ascii_digit()) {
        true => first.parse().ok()?,
        // Words stop at a thousand.
        false => numerals::number(first)? as f64,
    };
    Some(sign * number)
}

fn operation(sum: &mut &[String]) -> Option<Operation> {
    let (words, operation) = OPERATIONS.iter().find(|(words, _)| {
        sum.len() >= words.len() && sum.iter().zip(*words).all(|(said, word)| said == word)
    })?;
    *sum = &sum[words.len()..];
    Some(*operation)
}

fn told(value: f64) -> Option<String> {
    let scale = 10_f64.powi(PLACES);
    // Nothing is told of what is infinite or no number at all.
    (value.abs() <= LARGEST).then(|| {
        let rounded = match value.fract() == 0.0 {
            true => value,
            false => (value * scale).round() / scale,
        };
        // Zero has no sign.
        (rounded + 0.0).to_string()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_are_counted() {
        for (words, result) in [
            ("What is 7 times 6?", "7 times 6 is 42."),
            ("what's 7*6", "7 * 6 is 42."),
            ("seven times six", "seven times six is 42."),
            ("How much is 12 + 3 x 2 - 1?", "12 + 3 x 2 - 1 is 17."),
            ("0.1 plus 0.2 =", "0.1 plus 0.2 is 0.3."),
            ("Please compute 7 divided by 2.", "7 divided by 2 is 3.5."),
            ("twenty-one times two", "twenty-one times two is 42."),
            ("ninety minus fifty", "ninety minus fifty is 40."),
            ("-3 - -3", "- 3 - - 3 is 0."),
        ] {
            let said = answer(words).unwrap_or_default();
            assert!(said.starts_with(result), "{words}: {said}");
        }
    }

    #[test]
    fn what_is_no_sum_or_has_no_result_is_left_alone() {
        for words in [
            "",
            "42",
            "What is an agent?",
            "1 / 0",
            "7 times",
            "7 times six cats",
            "Write 3 lines about 4 cats",
            "x + y",
            "1 + 1.2.3",
            "999999999999999 * 9",
            "--1 + 1",
            &"-".repeat(1_000_000),
        ] {
            assert_eq!(answer(words), None, "{}", &words[..words.len().min(40)]);
        }
    }

    proptest! {
        #[test]
        fn any_words_are_survived(words in ".{0,40}|[0-9x*/+. -]{0,20}") {
            let _ = answer(&words);
        }
    }
}
