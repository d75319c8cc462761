//! Messages that people give on standard input.

use std::io::Read;

use anyhow::Context;

use crate::usage::WrongUsage;

/// The longest message, in bytes.
const MAX_LENGTH: u64 = 1024 * 1024;

/// The text of a message, without the line breaks at its end.
///
/// # Errors
///
/// It is blank or too long, which is [`WrongUsage`], or no UTF-8; or it cannot be read.
pub fn read(input: impl Read) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = input.take(MAX_LENGTH + 1).read_to_string(&mut text);
    read.context("standard input cannot be read as text")?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.len() as u64 > MAX_LENGTH {
        let why = format!("a message takes {MAX_LENGTH} bytes at most");
        return Err(WrongUsage(why).into());
    }
    if text.trim().is_empty() {
        let why = "there is nothing on standard input to say";
        return Err(WrongUsage(why.to_owned()).into());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_without_its_last_line_break() {
        assert_eq!(read(&b"a\nb\n"[..]).expect("text"), "a\nb");
        let refused = |input: &[u8]| read(input).expect_err("it is refused").to_string();
        for blank in [&b""[..], b"\n", b" \t\n"] {
            assert!(refused(blank).contains("nothing"), "{blank:?}");
        }
        assert!(refused(&vec![b'x'; 1024 * 1024 + 1]).contains("at most"));
        assert!(refused(b"\xff").contains("as text"));
    }
}
