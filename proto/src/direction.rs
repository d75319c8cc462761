//! Characters that nobody sees and that change the direction in which text is read.

/// True for marks of direction, embeddings, overrides and isolates: with one, a text reads as something else than it is (Unicode TR 9, section 2).
pub fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_embeddings_overrides_and_isolates_are_of_direction_and_no_letter_is() {
        let all = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        assert!(all.chars().all(is_direction));
        // Letters, joiners, line separators, and what is beside the ranges.
        let others = "aאع \n\u{61b}\u{61d}\u{200d}\u{2010}\u{2028}\u{2029}\u{202f}\u{2065}\u{206a}";
        assert!(!others.chars().any(is_direction));
    }
}
