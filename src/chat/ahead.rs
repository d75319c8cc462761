//! Typeahead: whole lines that wait for their turn, and the beginning of the next.

use std::collections::VecDeque;

use super::keys::Key;

/// Lines that wait; more are refused.
const LINES: usize = 256;

/// The longest line, in bytes; what is typed past it is ignored.
const LENGTH: usize = 64 * 1024;

/// The lines typed ahead, first come first served.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    lines: VecDeque<String>,
    line: String,
}

impl Ahead {
    /// Takes a key in. Enter completes a line, unless it is blank; Ctrl-C takes all that waits back, but not the beginning of a
    /// line. Returns the line that found no room.
    pub(super) fn key(&mut self, key: Key) -> Option<String> {
        match key {
            Key::Char(c) if self.line.len() < LENGTH => self.line.push(c),
            Key::Char(_) | Key::Gone => {}
            Key::Backspace => _ = self.line.pop(),
            Key::Clear => self.line.clear(),
            Key::Interrupt => self.lines.clear(),
            Key::Enter => {
                let line = std::mem::take(&mut self.line);
                if line.trim().is_empty() {
                    return None;
                }
                if self.lines.len() == LINES {
                    return Some(line);
                }
                self.lines.push_back(line);
            }
        }
        None
    }

    /// The next whole line.
    pub(super) fn next(&mut self) -> Option<String> {
        self.lines.pop_front()
    }

    /// The line that has been begun.
    pub(super) fn begun(&self) -> &str {
        &self.line
    }

    /// Takes the line that has been begun.
    pub(super) fn take_begun(&mut self) -> String {
        std::mem::take(&mut self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> (Ahead, Vec<String>) {
        let mut ahead = Ahead::default();
        let refused = text.chars().filter_map(|c| {
            ahead.key(match c {
                '\r' => Key::Enter,
                '<' => Key::Backspace,
                '^' => Key::Interrupt,
                c => Key::Char(c),
            })
        });
        let refused = refused.collect();
        (ahead, refused)
    }

    fn lines(mut ahead: Ahead) -> Vec<String> {
        std::iter::from_fn(|| ahead.next()).collect()
    }

    #[test]
    fn a_burst_is_its_lines_in_order() {
        let (ahead, refused) = typed("echo a\r\r \recho cc<\rech");
        assert_eq!(ahead.begun(), "ech");
        assert_eq!(lines(ahead), ["echo a", "echo c"]);
        assert!(refused.is_empty());
    }

    #[test]
    fn an_interrupt_takes_the_waiting_lines_back() {
        let (ahead, _) = typed("one\rtwo\rthr^");
        assert_eq!(ahead.begun(), "thr");
        assert!(lines(ahead).is_empty());
    }

    #[test]
    fn lines_past_the_bound_are_refused() {
        let (ahead, refused) = typed(&format!("{}last\r", "x\r".repeat(LINES)));
        assert_eq!(refused, ["last"]);
        assert_eq!(lines(ahead).len(), LINES);
    }
}
