//! Whole numbers in English words and in digits.

/// A number: digits, with a separator between groups of three or none, or words up to a thousand.
pub const NUMBER: &str = r"(?:\d{1,3}(?:[,' \x{a0}\x{202f}]\d{3}){1,2}|\d{1,7}|(?:an?|one|two|three|five) (?:hundred|thousand)|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen)";

const UNITS: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// The number that a text of the form [`NUMBER`] is; `None` of others.
pub fn number(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        return digits.parse().ok();
    }
    let unit = |word: &str| UNITS.iter().position(|unit| *unit == word);
    let digit = |word: &str| unit(word).filter(|unit| (1..10).contains(unit));
    let (first, second) = match text.split_once(['-', ' ']) {
        Some((first, second)) => (first, Some(second)),
        None => (&*text, None),
    };
    let tens = TENS.iter().position(|tens| *tens == first);
    let number = match (tens, second) {
        (Some(tens), None) => (tens + 2) * 10,
        (Some(tens), Some(second)) => (tens + 2) * 10 + digit(second)?,
        (None, None) => unit(first)?,
        (None, Some(second)) => {
            let factor = match second {
                "hundred" => 100,
                "thousand" => 1_000,
                _ => return None,
            };
            match first {
                "a" | "an" => factor,
                first => unit(first)? * factor,
            }
        }
    };
    Some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_digits_and_words() {
        for (text, value) in [
            ("7", 7),
            ("1,000", 1_000),
            ("1 000 000", 1_000_000),
            ("Five", 5),
            ("twenty", 20),
            ("thirty-two", 32),
            ("a hundred", 100),
            ("two thousand", 2_000),
        ] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in [
            "",
            "cats",
            "seven three",
            "twenty zero",
            "thirty twelve",
            "some hundred",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
