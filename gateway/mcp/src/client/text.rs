//! Texts of others, bounded.

/// The beginning of a text, at most so many bytes of it, and how much is left out.
pub(super) fn head(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max_bytes);
    format!("{} [… {} bytes left out]", &text[..end], text.len() - end)
}

/// The beginning of a text on one line, without control characters.
pub(super) fn line(text: &str, max_bytes: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let mut line = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        let room = max_bytes.saturating_sub(line.len());
        if word.len() > room {
            line.push_str(&word[..word.floor_char_boundary(room)]);
            line.push('…');
            break;
        }
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_and_says_so() {
        assert_eq!(head("ää", 4), "ää");
        assert_eq!(head("ääb", 3), "ä [… 3 bytes left out]");
        assert_eq!(line(" a\n\u{1b}b\t", 9), "a b");
        assert_eq!(line(&"xy ".repeat(900_000), 10), "xy xy xy x…");
        assert_eq!(line("äää", 3), "ä…");
    }
}
