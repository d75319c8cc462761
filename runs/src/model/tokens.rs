//! Estimates of the length of texts in tokens.

/// Estimated tokens of `text`: one for every four ASCII characters and one for every other character, rounded up.
///
/// English prose is estimated a little high, which is the safe side for a budget; scripts without spaces are estimated
/// about right. It is no tokenizer: leave a margin of a tenth.
pub fn estimate_tokens(text: &str) -> usize {
    let ascii = text.chars().filter(char::is_ascii).count();
    let other = text.chars().count() - ascii;
    ascii.div_ceil(4) + other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_four_ascii_characters_and_every_other_character_as_one() {
        for (text, tokens) in [
            ("", 0),
            ("a", 1),
            ("four", 1),
            ("fives", 2),
            ("日本語", 3),
            ("naïve", 2),
        ] {
            assert_eq!(estimate_tokens(text), tokens, "{text:?}");
        }
    }
}
