//! Ids that an agent cannot take.

/// The fault of an id that nobody may take, as the rest of a sentence. Patterns and placeholders have a meaning in a policy, and an id that looks like another
/// one, or like none, leads people astray.
pub fn fault_of_agent_id(id: &str) -> Option<&'static str> {
    let is_hidden = |c: char| {
        // Zero width, direction, and marks that are not drawn.
        matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if id.contains('*') {
        return Some("holds `*`, which stands for any characters in a policy");
    }
    if id.contains(['{', '}']) {
        return Some("holds a brace, which stands for a placeholder such as {self} in a policy");
    }
    if id.chars().any(|c| c.is_control() || is_hidden(c)) {
        return Some("holds a character that is not seen");
    }
    let is_odd_blank = |c: char| c.is_whitespace() && c != ' ';
    if id.trim() != id || id.contains("  ") || id.contains(is_odd_blank) {
        return Some("has blanks at its ends, or more than one within");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_no_pattern_and_looks_like_itself_alone() {
        for good in ["agent_echo", "a.b-c~d@1", "Ünïcode is fine", "a/b:c", "名"] {
            assert_eq!(fault_of_agent_id(good), None, "{good}");
        }
        for bad in [
            "*",
            "a*",
            "{self}",
            "a}",
            " a",
            "a ",
            " ",
            "a  b",
            "a\tb",
            "a\u{a0}b",
            "a\u{200b}",
            "\u{202e}a",
            "a\u{feff}",
            "a\nb",
            "a\u{2028}b",
        ] {
            assert!(fault_of_agent_id(bad).is_some(), "{}", bad.escape_debug());
        }
    }
}
