//! The head: number and hash of the last line, in a file beside those of the lines, so that it is noticed when the newest lines are gone.
//!
//! Lines are on the disk before it names them, it is written in place and not synced: it is a lower bound, so that a crash leaves it at an older
//! line, which is no tampering.

use std::{
    fmt, fs,
    fs::OpenOptions,
    io::{self, Write as _},
    path::Path,
};

use super::line::Digest;
use crate::private_files::write_private;

/// Name of its file.
const FILE: &str = "head";

/// Number and hash of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Number of the line.
    pub line: u64,
    /// Its hash.
    pub digest: Digest,
}

/// Error of a file in the place of the head that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InvalidHead;

impl Head {
    /// The head that is kept in a folder.
    ///
    /// # Errors
    ///
    /// It cannot be read, or something else stands there.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        match Self::found(folder)? {
            None => Ok(None),
            Some(Ok(head)) => Ok(Some(head)),
            Some(Err(InvalidHead)) => {
                let why = format!("{} is no head of an audit", folder.join(FILE).display());
                Err(io::Error::new(io::ErrorKind::InvalidData, why))
            }
        }
    }

    pub(super) fn found(folder: &Path) -> io::Result<Option<Result<Self, InvalidHead>>> {
        match fs::read_to_string(folder.join(FILE)) {
            Ok(text) => Ok(Some(Self::of(&text).ok_or(InvalidHead))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Some(Err(InvalidHead))),
            Err(error) => Err(error),
        }
    }

    fn of(text: &str) -> Option<Self> {
        let (line, digest) = text.strip_suffix('\n')?.split_once(':')?;
        Some(Self {
            // The number of a line that another one can follow.
            line: line.parse().ok().filter(|line| *line < u64::MAX)?,
            digest: digest.parse().ok()?,
        })
    }

    /// Keeps it.
    pub(super) fn keep(self, folder: &Path) -> io::Result<()> {
        // As long as any other, so that nothing of an older one stays.
        let text = format!("{:020}:{}\n", self.line, self.digest);
        let file = folder.join(FILE);
        match OpenOptions::new().write(true).open(&file) {
            Ok(mut opened) => opened.write_all(text.as_bytes()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                write_private(&file, text.as_bytes())
            }
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_names_a_line_that_another_one_can_follow() {
        let digest = Digest::ZERO;
        for (line, is_one) in [
            ("1", true),
            ("18446744073709551614", true),
            ("18446744073709551615", false),
            ("18446744073709551616", false),
            ("-1", false),
            ("", false),
        ] {
            let head = Head::of(&format!("{line}:{digest}\n"));
            assert_eq!(head.is_some(), is_one, "{line}");
        }
    }
}
