//! Requests that are a sum of numbers: the stand-in can count, and needs nobody for it.
//!
//! The grammar is small, so that a date, a telephone number, a score or a size is no sum: `-`, `/` and `x` stand between blanks, signs
//! between numbers in digits, and no number has a blank, a comma or a zero in front.

mod fraction;

use num_traits::{CheckedAdd as _, CheckedDiv as _, CheckedMul as _, Zero as _};

use crate::{Undone, numerals};
use fraction::Fraction;

/// The longest request that is read, in bytes.
const LONGEST: usize = 400;

/// Words that may stand before a sum, behind "please" or not.
const BEFORE: [&[&str]; 9] = [
    &["what", "is"],
    &["what", "are"],
    &["what's"],
    &["whats"],
    &["how", "much", "is"],
    &["how", "much", "are"],
    &["calculate"],
    &["compute"],
    &[],
];

/// Signs that may stand without blanks.
const CLOSE: [char; 5] = ['*', '×', '+', '÷', '='];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Plus,
    Minus,
    Times,
    Over,
}

/// The answer to words that are a sum and nothing else, and how much of it is undone, as all is where there is no result; `None` of others.
pub(super) fn answer(words: &str) -> Option<(String, Option<Undone>)> {
    let words = words.trim();
    if words.len() > LONGEST {
        return None;
    }
    let tokens = tokens(question(words));
    let sum = without_head(&tokens);
    let value = value(sum)?;
    let asked = sum.join(" ");
    Some(match value {
        Some(value) => {
            let result = fraction::text(value);
            let text = format!(
                "{asked} is {result}. (The offline stand-in counted that; it is no language model.)"
            );
            (text, None)
        }
        None => {
            let text =
                format!("{asked} has no result, or one that is too long to be counted here.");
            (text, Some(Undone::All))
        }
    })
}

/// The words without what ends a question: one of `=`, `?` and `.`, or `= ?`. More dots are a series that goes on.
fn question(words: &str) -> &str {
    let end = |words| str::strip_suffix(words, ['?', '.']).map(str::trim_end);
    let words = end(words).unwrap_or(words);
    let words = words.strip_suffix('=').unwrap_or(words);
    words.trim_end()
}

/// Words, numbers and signs in lower case, as blanks and the signs of [`CLOSE`] part them.
fn tokens(words: &str) -> Vec<String> {
    let words = words.to_lowercase().replace('’', "'");
    let mut tokens = Vec::new();
    for mut rest in words.split_whitespace() {
        while let Some((at, sign)) = rest.char_indices().find(|(_, c)| CLOSE.contains(c)) {
            let behind = at + sign.len_utf8();
            let parts = [&rest[..at], &rest[at..behind]];
            tokens.extend(parts.iter().filter(|part| !part.is_empty()).copied());
            rest = &rest[behind..];
        }
        tokens.extend((!rest.is_empty()).then_some(rest));
    }
    tokens.into_iter().map(str::to_owned).collect()
}

/// The tokens behind the words that ask for a sum.
fn without_head(tokens: &[String]) -> &[String] {
    let is_please = tokens.first().is_some_and(|token| token == "please");
    let tokens = &tokens[usize::from(is_please)..];
    let begins = |head: &&&[&str]| {
        tokens.len() >= head.len() && tokens.iter().zip(**head).all(|(said, word)| said == word)
    };
    let head = BEFORE.iter().find(begins).map_or(0, |head| head.len());
    &tokens[head..]
}

/// Products first, then what is added and taken away; inside, `None` where there is no result. A number alone is no sum.
fn value(mut sum: &[String]) -> Option<Option<Fraction>> {
    let (mut total, mut is_sum) = (Some(Fraction::zero()), false);
    let mut before = sum.first()?;
    let mut term = Some(number(&mut sum)?);
    while !sum.is_empty() {
        let operation = operation(before, &mut sum)?;
        before = sum.first()?;
        let next = number(&mut sum)?;
        match operation {
            Operation::Times => term = term.and_then(|term| term.checked_mul(&next)),
            Operation::Over => term = term.and_then(|term| term.checked_div(&next)),
            Operation::Plus | Operation::Minus => {
                total = plus(total, term);
                term = match operation {
                    Operation::Minus => Some(-next),
                    _ => Some(next),
                };
            }
        }
        is_sum = true;
    }
    is_sum.then(|| plus(total, term))
}

fn plus(one: Option<Fraction>, other: Option<Fraction>) -> Option<Fraction> {
    one?.checked_add(&other?)
}

/// A number in digits, with a minus sign right before it or none, or in words up to a thousand.
fn number(sum: &mut &[String]) -> Option<Fraction> {
    let (first, rest) = sum.split_first()?;
    *sum = rest;
    match is_in_digits(first) {
        true => fraction::read(first),
        false if first.starts_with(char::is_alphabetic) => {
            Some(Fraction::from_integer(numerals::number(first)?.into()))
        }
        false => None,
    }
}

fn is_in_digits(token: &str) -> bool {
    token.ends_with(|c: char| c.is_ascii_digit())
}

/// A sign, which needs digits on both sides, or the word of an operation.
fn operation(before: &str, sum: &mut &[String]) -> Option<Operation> {
    let words: Vec<&str> = sum.iter().take(2).map(String::as_str).collect();
    let (count, operation) = match words[..] {
        ["multiplied", "by"] => (2, Operation::Times),
        ["divided", "by"] => (2, Operation::Over),
        ["times", ..] => (1, Operation::Times),
        ["plus", ..] => (1, Operation::Plus),
        ["minus", ..] => (1, Operation::Minus),
        [sign, next] if is_in_digits(before) && is_in_digits(next) => (1, of_sign(sign)?),
        _ => return None,
    };
    *sum = &sum[count..];
    Some(operation)
}

fn of_sign(sign: &str) -> Option<Operation> {
    match sign {
        "*" | "×" | "x" => Some(Operation::Times),
        "+" => Some(Operation::Plus),
        "-" | "−" => Some(Operation::Minus),
        "/" | "÷" => Some(Operation::Over),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// spec: ORC-2.1
    #[test]
    fn sums_are_counted() {
        for (words, result) in [
            ("What is 7 times 6?", "7 times 6 is 42."),
            ("what's 7*6", "7 * 6 is 42."),
            ("seven times six", "seven times six is 42."),
            ("How much is 12 + 3 x 2 - 1?", "12 + 3 x 2 - 1 is 17."),
            ("0.1 plus 0.2 =", "0.1 plus 0.2 is 0.3."),
            ("2 + 2 = ?", "2 + 2 is 4."),
            ("Please compute 7 divided by 2.", "7 divided by 2 is 3.5."),
            ("twenty-one times two", "twenty-one times two is 42."),
            ("ninety minus fifty", "ninety minus fifty is 40."),
            ("-3 - -3", "-3 - -3 is 0."),
            ("2 - 3 - 4 x 2", "2 - 3 - 4 x 2 is -9."),
            ("10 / 4 / 5", "10 / 4 / 5 is 0.5."),
        ] {
            let (said, undone) = answer(words).unwrap_or_default();
            assert_eq!(undone, None, "{words}");
            assert!(said.starts_with(result), "{words}: {said}");
        }
    }

    /// spec: ORC-2.1
    #[test]
    fn results_are_exact_or_said_to_be_rounded() {
        for (words, result) in [
            ("999999999999999 * 9", "is 8999999999999991."),
            ("9007199254740993 + 0.1", "is 9007199254740993.1."),
            ("7 / 3", "is 7/3, about 2.333333333."),
            ("-2 / 3", "is -2/3, about -0.666666667."),
            ("1 / 3 * 3", "is 1."),
            (
                "-18446744073709551616 * 9223372036854775808 / -2 + 0",
                "is 85070591730234615865843651857942052864.",
            ),
            ("1 / 30000000000", "is 1/30000000000."),
            ("1 / 10000000000", "is 0.0000000001."),
        ] {
            let (said, undone) = answer(words).unwrap_or_default();
            assert_eq!(undone, None, "{words}");
            assert!(said.contains(&format!("{result} (")), "{words}: {said}");
        }
    }

    /// spec: ORC-2.1
    #[test]
    fn what_is_no_sum_or_has_no_result_is_left_alone() {
        for words in [
            "",
            "42",
            "What is an agent?",
            "7 times",
            "7 times six cats",
            "Write 3 lines about 4 cats",
            "x + y",
            "1 + 1.2.3",
            "--1 + 1",
            "- 3 + 1",
            "2026-11-25",
            "25/11/2026",
            "11/25",
            "555-1234",
            "+49 30 123456",
            "call 555-1234",
            "1.2.3-4",
            "v1.2 - 3",
            "/usr/bin/2",
            "3-5",
            "2/3?",
            "24/7",
            "7 - eleven",
            "seven - eleven",
            "seven - 3",
            "1 000",
            "1 000 + 1",
            "1,000 + 1",
            "1.000 + 1",
            "007 * 2",
            "1920x1080",
            "4x4",
            "7 times 6!",
            "1 + 2 + ...",
            "1 + 2...",
            "1 + 1 = 3",
            "2 ** 3",
            "2 ^ 3",
            "1e3 + 1",
            "5 % 2",
            "10% + 1",
            "$5 + $6",
            "7 over 2",
            "is the 7 - 3",
            "the 7 - 3",
            "how many 7 times 6",
            "3 – 5",
            "9:30 - 10:30",
            "(1 + 2) * 3",
            &"-".repeat(1_000_000),
            &"1 + ".repeat(1_000_000),
        ] {
            assert_eq!(answer(words), None, "{}", &words[..words.len().min(40)]);
        }
    }

    /// spec: ORC-2.1
    #[test]
    fn a_sum_without_a_result_is_said_to_have_none() {
        for words in [
            "1 / 0",
            "7 / 0 + 1",
            "0 / 0",
            "1 - 2 / 0",
            "99999999999999999999 * 99999999999999999999",
            "-18446744073709551616 * 9223372036854775808 - 1",
        ] {
            let (said, undone) = answer(words).unwrap_or_default();
            assert!(said.contains("has no result"), "{words}: {said}");
            assert_eq!(undone, Some(Undone::All), "{words}");
        }
    }

    proptest! {
        #[test]
        fn any_words_are_survived(words in ".{0,40}|[0-9x*/+. -]{0,20}") {
            let _ = answer(&words);
        }
    }
}
