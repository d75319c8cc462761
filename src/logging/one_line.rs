//! Events of the log as one line each, whatever agents and callers have written into them: their line breaks and control characters are
//! escaped, as JSON escapes them.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, Write},
};

use agenthub_proto::direction::is_direction;
use tracing_subscriber::fmt::MakeWriter;

/// A writer of whole events.
#[derive(Clone, Debug)]
pub(super) struct OneLine<W> {
    writer: W,
    /// The log itself is coloured.
    is_coloured: bool,
}

impl<W> OneLine<W> {
    pub(super) fn new(writer: W, is_coloured: bool) -> Self {
        Self {
            writer,
            is_coloured,
        }
    }
}

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for OneLine<W> {
    type Writer = OneLine<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        OneLine::new(self.writer.make_writer(), self.is_coloured)
    }
}

impl<W: Write> Write for OneLine<W> {
    /// `tracing` gives an event as a whole.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        self.writer
            .write_all(escaped(&text, self.is_coloured).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The event in one line. Colours stay where the log has its own: `tracing` has escaped those of others already.
fn escaped(event: &str, is_coloured: bool) -> Cow<'_, str> {
    let (text, end) = match event.strip_suffix('\n') {
        Some(text) => (text, "\n"),
        None => (event, ""),
    };
    let is_break = |c: char| matches!(c, '\u{2028}' | '\u{2029}');
    let is_harmful = |c: char| c.is_control() && c != '\t' || is_break(c) || is_direction(c);
    if !text.contains(is_harmful) {
        return Cow::Borrowed(event);
    }
    let mut line = String::with_capacity(event.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = if is_coloured { colour(rest) } else { 0 };
        if colour > 0 {
            line += &rest[..colour];
            rest = &rest[colour..];
            continue;
        }
        match c {
            '\n' => line += "\\n",
            '\r' => line += "\\r",
            c if is_harmful(c) => {
                // Writing to a text cannot fail.
                let _ = write!(line, "\\u{:04x}", u32::from(c));
            }
            c => line.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(line + end)
}

/// Length of the code for a colour or weight with which a text begins, or 0.
fn colour(text: &str) -> usize {
    let Some(codes) = text.strip_prefix("\u{1b}[") else {
        return 0;
    };
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';');
    match end {
        Some(end) if codes[end..].starts_with('m') => end + 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 25: whatever is logged of others is in the line of its event.
    #[test]
    fn words_of_others_begin_no_line_and_command_no_terminal() {
        for (event, expected) in [
            ("INFO all is well\n", "INFO all is well\n"),
            (
                "WARN a\nERROR the hub was hacked\r\n\n",
                "WARN a\\nERROR the hub was hacked\\r\\n\n",
            ),
            (
                "a\u{1b}[2Jb\u{7}c\u{9b}d\u{7f}\n",
                "a\\u001b[2Jb\\u0007c\\u009bd\\u007f\n",
            ),
            ("a\u{202e}b\tc", "a\\u202eb\tc"),
            ("a\u{200f}b\u{2028}c", "a\\u200fb\\u2028c"),
            ("\u{1b}[31mred\u{1b}[0m\n", "\\u001b[31mred\\u001b[0m\n"),
        ] {
            assert_eq!(escaped(event, false), expected);
        }
        let own = "\u{1b}[2mnow\u{1b}[0m \u{1b}[31mERROR\u{1b}[0m a\u{1b}[2Jb\u{1b}]0;x\nc\n";
        let kept = "\u{1b}[2mnow\u{1b}[0m \u{1b}[31mERROR\u{1b}[0m a\\u001b[2Jb\\u001b]0;x\\nc\n";
        assert_eq!(escaped(own, true), kept);
    }

    #[test]
    fn an_event_of_tracing_is_one_line() {
        #[derive(Clone, Default)]
        struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().expect("nobody panics").write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for is_coloured in [false, true] {
            let shared = Shared::default();
            let writer = shared.clone();
            let log = tracing_subscriber::fmt()
                .with_ansi(is_coloured)
                .with_writer(OneLine::new(move || writer.clone(), is_coloured))
                .finish();
            tracing::subscriber::with_default(log, || {
                let evil = "x\nERROR \u{1b}[2J\u{9b}2J\u{1b}[8mhidden";
                tracing::info!(agent = evil, said = ?evil, "{evil}");
            });
            let bytes = shared.0.lock().expect("nobody panics").clone();
            let text = String::from_utf8(bytes).expect("text");
            assert_eq!(text.matches('\n').count(), 1, "{text:?}");
            assert!(
                text.ends_with('\n') && !text.contains("\u{1b}[2J"),
                "{text:?}"
            );
            assert!(
                !text.contains("\u{1b}[8m") && !text.contains('\u{9b}'),
                "{text:?}"
            );
        }
    }
}
