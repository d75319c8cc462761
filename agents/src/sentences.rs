//! The sentences of a text.

use unicode_segmentation::UnicodeSegmentation;

/// The sentences, by Unicode's rules (UAX #29), without the space around them. A line break ends one.
pub(crate) fn of(text: &str) -> Vec<&str> {
    text.lines()
        .flat_map(|line| line.split_sentence_bounds())
        .map(str::trim)
        .filter(|sentence| sentence.chars().any(char::is_alphanumeric))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_their_marks_and_at_line_breaks() {
        let text = "It costs 3.50 a day. Really?\n- Yes! …\nno end";
        assert_eq!(
            of(text),
            ["It costs 3.50 a day.", "Really?", "- Yes!", "no end"]
        );
        assert_eq!(of(" \n "), [""; 0]);
    }
}
