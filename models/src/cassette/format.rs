//! Format of a recording: JSON Lines, the first of which says what the file is.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::super::{Completion, ModelError, Request};

/// Value of the first line's field `format`.
pub(super) const FORMAT: &str = "agenthub-recording";

/// The version that is written, and the only one that is read.
pub(super) const VERSION: u32 = 1;

/// The largest recording, in bytes: it is read into memory.
pub(super) const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    format: String,
    version: u32,
    /// The model that was recorded first.
    pub(super) model: String,
    /// True if it called tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) calls_tools: bool,
    /// Beginning of the recording, as RFC 3339 has it.
    recorded: String,
}

impl Header {
    pub(super) fn new(model: &str, calls_tools: bool, now: SystemTime) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            model: model.to_owned(),
            calls_tools,
            recorded: agenthub_proto::event::timestamp(now).to_string(),
        }
    }
}

/// Every other line: a request, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The model that was asked.
    pub(super) model: String,
    pub(super) request: Request,
    pub(super) ended: Ended,
}

/// Outcome of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    /// The model answered.
    Answer {
        completion: Completion,
        /// The characters of each piece that the text came in.
        pieces: Vec<usize>,
    },
    /// The model did not answer.
    Error(ModelError),
    /// Whoever asked gave up before there was an answer.
    Abandoned,
}

/// The reason why a file is no recording that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("is empty: nothing was recorded into it")]
    Empty,
    #[error("is no recording of a model: its first line does not say so")]
    Foreign,
    #[error("has format version {0}, and this program reads version {VERSION}: record it again")]
    Version(u32),
    #[error("is damaged in line {line}: {why}; record it again")]
    Damaged { line: usize, why: String },
}

/// A recording.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recording {
    pub(super) header: Header,
    /// The requests, each with the number of its line.
    pub(super) entries: Vec<(usize, Entry)>,
    /// True if the last line was broken off while it was written. It is left out.
    pub(super) is_torn: bool,
}

/// One line of a recording.
pub(super) fn line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("requests and answers are JSON");
    line.push('\n');
    line
}

/// Reads a recording. A last line that was broken off is left out.
///
/// # Errors
///
/// The text is none, or damaged.
pub(super) fn read(text: &str) -> Result<Recording, Unreadable> {
    let mut lines = (1..).zip(text.split_inclusive('\n'));
    let Some((_, first)) = lines.next() else {
        return Err(Unreadable::Empty);
    };
    let mut recording = Recording {
        header: header(first)?,
        entries: Vec::new(),
        is_torn: false,
    };
    for (number, line) in lines {
        match serde_json::from_str(line) {
            Ok(entry) => recording.entries.push((number, entry)),
            Err(_) if line.trim().is_empty() => {}
            Err(_) if !line.ends_with('\n') => recording.is_torn = true,
            Err(error) => {
                return Err(Unreadable::Damaged {
                    line: number,
                    why: error.to_string(),
                });
            }
        }
    }
    Ok(recording)
}

fn header(line: &str) -> Result<Header, Unreadable> {
    #[derive(Deserialize)]
    struct Kind {
        format: String,
        version: u32,
    }
    match serde_json::from_str::<Kind>(line) {
        Ok(kind) if kind.format != FORMAT => Err(Unreadable::Foreign),
        Err(_) => Err(Unreadable::Foreign),
        Ok(kind) if kind.version != VERSION => Err(Unreadable::Version(kind.version)),
        Ok(_) => serde_json::from_str(line).map_err(|error| Unreadable::Damaged {
            line: 1,
            why: error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::PromptMessage;

    fn header() -> Header {
        Header::new("openai/m", true, SystemTime::UNIX_EPOCH)
    }

    fn entry(ended: Ended) -> Entry {
        Entry {
            model: "openai/m".into(),
            request: Request::new(vec![PromptMessage::user("hi")]),
            ended,
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let answer = Ended::Answer {
            completion: Completion {
                text: "hello".into(),
                ..Completion::default()
            },
            pieces: vec![2, 3],
        };
        let limited = Ended::Error(ModelError::RateLimited {
            message: "slow down".into(),
            retry_after: Some(Duration::from_millis(1_500)),
        });
        let entries = [answer, limited, Ended::Abandoned].map(entry);
        let text: String = [line(&header())]
            .into_iter()
            .chain(entries.iter().map(line))
            .collect();
        let recording = read(&text).expect("it was written so");
        assert_eq!(recording.header, header());
        assert_eq!(recording.header.recorded, "1970-01-01T00:00:00Z");
        let numbered: Vec<_> = (2..).zip(entries).collect();
        assert_eq!(recording.entries, numbered);
        assert!(!recording.is_torn);
    }

    #[test]
    fn a_last_line_that_was_broken_off_is_left_out_wherever_it_was() {
        let whole = [line(&header()), line(&entry(Ended::Abandoned))].concat();
        let last = line(&entry(Ended::Error(ModelError::Refused("nö".into()))));
        for end in (1..last.len() - 1).filter(|end| last.is_char_boundary(*end)) {
            let recording = read(&format!("{whole}{}", &last[..end])).expect("the rest is right");
            assert_eq!(recording.entries.len(), 1, "{end}");
            assert!(recording.is_torn, "{end}");
        }
        let all = read(&format!("{whole}{}", last.trim_end())).expect("nothing is missing");
        assert_eq!((all.entries.len(), all.is_torn), (2, false));
    }

    #[test]
    fn what_is_no_recording_is_said() {
        let later = line(&header()).replace("\"version\":1", "\"version\":7");
        let damaged = [&*line(&header()), "{\n", &*line(&entry(Ended::Abandoned))].concat();
        for (text, part) in [
            ("", "is empty"),
            ("name = 'agent'\n", "no recording"),
            ("{\"format\":\"else\",\"version\":1}\n", "no recording"),
            (&later, "version 7"),
            (&damaged, "line 2"),
        ] {
            let said = read(text).expect_err(text).to_string();
            assert!(said.contains(part) && !said.contains('\n'), "{said}");
        }
    }
}
