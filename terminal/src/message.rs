//! Messages that people give on standard input.

use std::io::Read;

use anyhow::{Context, bail};

/// The longest message, in bytes.
const MAX_LENGTH: u64 = 1024 * 1024;

/// The text of a message, without the line breaks at its end.
///
/// # Errors
///
/// It is empty, too long, or no UTF-8; or it cannot be read.
pub fn read(input: impl Read) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = input.take(MAX_LENGTH + 1).read_to_string(&mut text);
    read.context("standard input cannot be read as text")?;
    let text = text.trim_end_matches(['\n', '\r']);
    match text.len() as u64 {
        0 => bail!("there is nothing on standard input to say"),
        length if length > MAX_LENGTH => bail!("a message takes {MAX_LENGTH} bytes at most"),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_without_its_last_line_break() {
        assert_eq!(read(&b"a\nb\n"[..]).expect("text"), "a\nb");
        let refused = |input: &[u8]| read(input).expect_err("it is refused").to_string();
        assert!(refused(b"\n").contains("nothing"));
        assert!(refused(&vec![b'x'; 1024 * 1024 + 1]).contains("at most"));
        assert!(refused(b"\xff").contains("as text"));
    }
}
