//! Check that an audit is as it was written: each line has to follow the one before, by its number and by its hash.
//!
//! A chain cannot show that its newest lines are gone: the [`Head`] beside it does. Neither shows that somebody wrote all of it again: for that, keep
//! the hash of its end elsewhere, and ask for it as a [`KnownHead`].

use std::{fs, io, path::Path, str::FromStr};

use super::{
    head::{Head, InvalidHead},
    line::{Digest, InvalidDigest, Line},
    trail::{HEAD_BEGUN, RECOVERED, REMOVED, TrailFile, lines, lock},
};

/// The hash of a line that was kept elsewhere: `HASH` or `LINE:HASH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownHead {
    line: Option<u64>,
    digest: Digest,
}

impl FromStr for KnownHead {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let split = text.split_once(':');
        let line = split.and_then(|(line, _)| line.parse().ok());
        let digest = match (split, line) {
            (Some((_, digest)), Some(_)) => digest.parse()?,
            _ => text.parse()?,
        };
        Ok(Self { line, digest })
    }
}

/// An audit that is unbroken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of its files.
    pub files: usize,
    /// Number of its first line; those before were removed as they were old.
    pub first: u64,
    /// Number and hash of its last line.
    pub head: Option<(u64, Digest)>,
    /// Lines that a crash has cut off, as the lines after them say.
    pub cut_off: Vec<u64>,
    /// The last line has no end: a crash cut it off, or somebody.
    pub is_unfinished: bool,
    /// Line of the head that is kept beside the lines; an audit of an older hub has none before its next line.
    pub checked_head: Option<u64>,
    /// Line with which a head was begun again: of the lines before it, some may be gone from their end. Only of the latest time.
    pub head_begun: Option<u64>,
    /// Line of the head that was kept elsewhere.
    pub known_head: Option<u64>,
}

/// The first place where the audit is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Tampered {
    /// Lines are missing.
    #[error("lines {from} to {to} are missing: {why}")]
    Missing {
        /// The first one.
        from: u64,
        /// The last one.
        to: u64,
        /// The reason.
        why: String,
    },
    /// A line has the number of another one.
    #[error(
        "{place}: the line says that it is number {found}: lines before it were removed, added or moved"
    )]
    Number {
        /// The file and line.
        place: String,
        /// Its number.
        found: u64,
    },
    /// The hash is not that of the line before.
    #[error("{place}: it does not follow the line before, one of both was changed")]
    Changed {
        /// The file and line.
        place: String,
    },
    /// Something else stands where a line should.
    #[error(
        "{place}: that is no line of an audit, and the next line does not say that a crash cut it off"
    )]
    Unreadable {
        /// The file and line.
        place: String,
    },
    /// A file begins with a line that is in the file before.
    #[error("{name}: the file begins at a line that another file has")]
    Overlap {
        /// The file.
        name: String,
    },
    /// The line of the head has another hash.
    #[error(
        "line {0} has another hash than the head that is kept beside the lines: it, or a line before it, was changed, or all were written anew"
    )]
    HeadDiffers(u64),
    /// Something else stands in the place of the head.
    #[error("the file `head` beside the lines was changed: it names no line")]
    InvalidHead,
    /// The head that was kept elsewhere is of no line.
    #[error(
        "no line has the hash {0:?}: the line of which it was kept is gone, or was changed, or was removed because of its age"
    )]
    KnownHead(Digest),
    /// The line of the head that was kept elsewhere has another hash.
    #[error(
        "line {0} has another hash than the one that was kept of it: it, or a line before it, was changed"
    )]
    KnownHeadDiffers(u64),
}

/// Errors of verifying.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The audit is not as it was written.
    #[error("the audit was changed: {0}")]
    Tampered(#[from] Tampered),
    /// There is no audit there.
    #[error("there is no audit in {0}: --data names the hub's data folder")]
    None(String),
    /// It cannot be read.
    #[error("cannot read the audit: {0}")]
    Io(#[from] io::Error),
}

/// Verifies the audit in a folder, beside processes that write it.
///
/// # Errors
///
/// See [`VerifyError`].
pub fn verify(folder: &Path, known_head: Option<KnownHead>) -> Result<Report, VerifyError> {
    let none = || VerifyError::None(folder.display().to_string());
    if !folder.is_dir() {
        return Err(none());
    }
    // Nobody writes or removes meanwhile. A file is small; so is the time.
    let _lock = lock(folder)?;
    let files = TrailFile::all(folder)?;
    let head = Head::found(folder)?.transpose();
    let head = head.map_err(|InvalidHead| Tampered::InvalidHead)?;
    if files.is_empty() && head.is_none() {
        return Err(none());
    }
    let first = files.first().map_or(1, |file| file.first);
    let mut chain = Chain::new(first, head, known_head);
    for file in &files {
        let name = file.path.file_name().unwrap_or_default();
        chain.file(file.first, &name.to_string_lossy(), &fs::read(&file.path)?)?;
    }
    Ok(chain.end()?)
}

/// The chain so far.
#[derive(Debug)]
struct Chain {
    report: Report,
    next: u64,
    /// Hash of the line before; none before the first line, of which older ones may have been removed.
    digest: Option<Digest>,
    /// A line that cannot be read, and its place.
    unreadable: Option<(u64, String)>,
    /// Older lines were removed up to here.
    removed: u64,
    head: Option<Head>,
    known_head: Option<KnownHead>,
}

impl Chain {
    fn new(first: u64, head: Option<Head>, known_head: Option<KnownHead>) -> Self {
        Self {
            report: Report {
                first,
                ..Report::default()
            },
            next: first,
            digest: (first == 1).then_some(Digest::ZERO),
            unreadable: None,
            removed: 0,
            head,
            known_head,
        }
    }

    /// Adds the file that begins with this line.
    fn file(&mut self, first: u64, name: &str, bytes: &[u8]) -> Result<(), Tampered> {
        if first > self.next {
            return Err(Tampered::Missing {
                from: self.next,
                to: first - 1,
                why: format!("a file before {name} is gone, or was cut short"),
            });
        }
        if first < self.next {
            let name = name.to_owned();
            return Err(Tampered::Overlap { name });
        }
        self.report.files += 1;
        self.report.is_unfinished = false;
        for (at, line) in lines(bytes).enumerate() {
            let place = format!("{name}:{}", at + 1);
            self.line(line, &place)?;
        }
        self.report.is_unfinished = !bytes.is_empty() && !bytes.ends_with(b"\n");
        Ok(())
    }

    fn line(&mut self, bytes: &[u8], place: &str) -> Result<(), Tampered> {
        let line = serde_json::from_slice::<Line>(bytes);
        if let Some((number, place)) = self.unreadable.take() {
            let is_known = |line: &Line| line.entry.action == RECOVERED;
            if !line.as_ref().is_ok_and(is_known) {
                return Err(Tampered::Unreadable { place });
            }
            self.report.cut_off.push(number);
        }
        match line {
            Err(_) => self.unreadable = Some((self.next, place.to_owned())),
            Ok(line) if line.seq != self.next => {
                return Err(Tampered::Number {
                    place: place.to_owned(),
                    found: line.seq,
                });
            }
            Ok(line) if self.digest.is_some_and(|before| before != line.previous) => {
                return Err(Tampered::Changed {
                    place: place.to_owned(),
                });
            }
            Ok(line) if line.entry.action == REMOVED => {
                let last = line.entry.resource.rsplit(' ').next();
                let last = last.and_then(|last| last.parse().ok()).unwrap_or(0);
                self.removed = self.removed.max(last);
            }
            Ok(line) if line.entry.action == HEAD_BEGUN => self.report.head_begun = Some(self.next),
            Ok(_) => {}
        }
        let digest = Digest::of(bytes);
        if let Some(head) = self.head.filter(|head| head.line == self.next) {
            if head.digest != digest {
                return Err(Tampered::HeadDiffers(self.next));
            }
            self.report.checked_head = Some(self.next);
        }
        if let Some(known_head) = self.known_head {
            if known_head.digest == digest && known_head.line.is_none_or(|line| line == self.next) {
                self.report.known_head = Some(self.next);
            } else if known_head.line == Some(self.next) {
                return Err(Tampered::KnownHeadDiffers(self.next));
            }
        }
        self.digest = Some(digest);
        self.report.head = Some((self.next, digest));
        self.next += 1;
        Ok(())
    }

    fn end(mut self) -> Result<Report, Tampered> {
        if let Some((_, place)) = self.unreadable.take()
            && !self.report.is_unfinished
        {
            return Err(Tampered::Unreadable { place });
        }
        let first = self.report.first;
        if first > 1 && self.removed < first - 1 {
            return Err(Tampered::Missing {
                from: self.removed + 1,
                to: first - 1,
                why: "no line says that they were removed because of their age".to_owned(),
            });
        }
        if let Some(head) = self.head.filter(|head| head.line >= self.next) {
            return Err(Tampered::Missing {
                from: self.next,
                to: head.line,
                why: "the head that is kept beside them says that they were written".to_owned(),
            });
        }
        match self.known_head {
            Some(known_head) if self.report.known_head.is_none() => {
                Err(Tampered::KnownHead(known_head.digest))
            }
            _ => Ok(self.report),
        }
    }
}

#[cfg(test)]
mod tests;
