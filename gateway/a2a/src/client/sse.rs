//! Server-sent events, as far as A2A uses them: the data of each event, whatever lines it came in.

/// The longest event, in bytes.
const MAX_EVENT: usize = 8 * 1024 * 1024;

/// An event is longer than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {MAX_EVENT} bytes")]
pub(super) struct TooLong;

/// Reads events from bytes as they come.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last line ended with CR: a LF that follows belongs to it.
    after_cr: bool,
}

impl Events {
    /// Takes what came and gives the data of the events that it completes.
    ///
    /// # Errors
    ///
    /// [`TooLong`].
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let follows_cr = std::mem::take(&mut self.after_cr);
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.end_of(&line));
                }
                byte => {
                    if self.line.len() + self.data.len() >= MAX_EVENT {
                        return Err(TooLong);
                    }
                    self.line.push(byte);
                }
            }
        }
        Ok(events)
    }

    fn end_of(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then_some(data);
        }
        let value = line.strip_prefix(b"data")?;
        let value = match value {
            [] => value,
            [b':', b' ', rest @ ..] | [b':', rest @ ..] => rest,
            // Another field.
            _ => return None,
        };
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        for size in [1, 3, text.len().max(1)] {
            let mut events = Events::default();
            let mut all = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                all.extend(events.take(piece).expect("they are short"));
            }
            let all: Vec<String> = all
                .into_iter()
                .map(|data| String::from_utf8(data).expect("text"))
                .collect();
            assert_eq!(all, expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn events_are_read_however_they_come() {
        check("data: {\"a\":1}\n\n", &["{\"a\":1}"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata:b\r\r", &["a", "b"]);
        check("data: {\ndata: }\n\n", &["{\n}"]);
        check(": heartbeat\n\nevent: x\nid: 1\ndata: a\n\n", &["a"]);
        check("data\n\ndata:\n\n", &["", ""]);
        check("database: no\n\nretry: 1\n\n", &[]);
        check("data: breaks off\n", &[]);
        check("data: ä\n\n", &["ä"]);
    }

    #[test]
    fn an_event_is_bounded() {
        let mut events = Events::default();
        events.take(b"data: ").expect("short");
        assert_eq!(events.take(&vec![b'x'; MAX_EVENT]), Err(TooLong));
    }
}
