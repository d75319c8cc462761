//! The files of the audit. Several processes write them, each under a lock: the server, and commands beside it.
//!
//! A file is named by the number of its first line. Lines are only ever appended, and a file of full size is followed by another one, whose first
//! line has the hash of the last line before. A line that was cut off by a crash stays: it counts as a line, and the next one says that it was.
//! The head goes on with the lines, unless it is none of theirs: then it stays, as what tells of that.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{
    head::Head,
    line::{Digest, Entry, Line, time},
};
use crate::private_files::{make_folder, private};

/// Action of the line after one that was cut off.
pub(super) const RECOVERED: &str = "audit.recovered";

/// Action of the line that says that no head stood beside those before it.
pub(super) const HEAD_BEGUN: &str = "audit.head-begun";

/// Action of the line that says up to which line older ones were removed.
pub(super) const REMOVED: &str = "audit.removed";

/// Folder and retention of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSettings {
    /// The folder of its files.
    pub folder: PathBuf,
    /// Time for which lines are kept.
    pub age: Duration,
    /// Bytes up to which they are kept, whatever their age.
    pub bytes: u64,
}

impl AuditSettings {
    /// Those of a data folder: 90 days and 1 GiB.
    pub fn in_folder(data: &Path) -> Self {
        Self {
            folder: data.join("audit"),
            age: Duration::from_secs(90 * 24 * 3600),
            bytes: 1 << 30,
        }
    }

    /// Size of a file after which another one begins.
    fn file_bytes(&self) -> u64 {
        (self.bytes / 64).clamp(4096, 16 << 20)
    }
}

/// Appends one entry, durably, from a command beside the server.
///
/// # Errors
///
/// It cannot be written.
pub fn append(settings: AuditSettings, entry: Entry) -> io::Result<()> {
    Trail::new(settings).append(&[(entry, 1)], SystemTime::now())
}

/// A file of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrailFile {
    /// Number of its first line.
    pub(super) first: u64,
    pub(super) path: PathBuf,
}

impl TrailFile {
    /// All of them in order.
    pub(super) fn all(folder: &Path) -> io::Result<Vec<Self>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let is_one = path.extension().is_some_and(|end| end == "jsonl");
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let first = stem.filter(|stem| is_one && stem.len() == 20);
            if let Some(first) = first.and_then(|stem| stem.parse().ok()) {
                if !entry.file_type()?.is_file() {
                    // It may have no end.
                    let why = format!("{} is no file: take it away", path.display());
                    return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                }
                files.push(Self { first, path });
            }
        }
        files.sort_by_key(|file| file.first);
        Ok(files)
    }

    fn named(folder: &Path, first: u64) -> Self {
        Self {
            first,
            path: folder.join(format!("{first:020}.jsonl")),
        }
    }
}

/// Locks the files against writers, or with other readers.
pub(super) fn lock(folder: &Path) -> io::Result<File> {
    let lock = private(&folder.join("lock"), false)?;
    lock.lock()?;
    Ok(lock)
}

/// End of the chain as it was written last.
#[derive(Clone, Debug, PartialEq, Eq)]
struct End {
    /// Number of the first line of the file that is written.
    file: u64,
    /// Its length.
    len: u64,
    /// Number of the next line.
    next: u64,
    digest: Digest,
    /// The last line has no line break.
    is_cut_off: bool,
}

/// The files, opened for writing.
#[derive(Debug)]
pub(super) struct Trail {
    settings: AuditSettings,
    end: Option<End>,
    /// The head is a line of the chain, or there is none.
    head_holds: bool,
}

impl Trail {
    pub(super) fn new(settings: AuditSettings) -> Self {
        Self {
            settings,
            end: None,
            head_holds: true,
        }
    }

    /// Makes the folder and finds the end.
    pub(super) fn open(&mut self) -> io::Result<()> {
        make_folder(&self.settings.folder)?;
        let _lock = lock(&self.settings.folder)?;
        self.end = Some(self.found_end()?);
        Ok(())
    }

    /// Appends entries with their numbers, durably. Of those that cannot be written nothing stays.
    pub(super) fn append(&mut self, entries: &[(Entry, u64)], now: SystemTime) -> io::Result<()> {
        make_folder(&self.settings.folder)?;
        let _lock = lock(&self.settings.folder)?;
        let mut end = self.found_end()?;
        let is_rotated = end.len >= self.settings.file_bytes();
        if is_rotated && !end.is_cut_off {
            end.file = end.next;
            end.len = 0;
        }
        let removed = match end.len {
            0 => self.outdated(now)?,
            _ => Vec::new(),
        };
        let begin = end.clone();
        let mut text = Vec::new();
        if std::mem::take(&mut end.is_cut_off) {
            text.push(b'\n');
            let which = format!("line {}", end.next - 1);
            let rule = "the line before was cut off while it was written";
            end.push(&mut text, Entry::of_audit(RECOVERED, which, rule), 1, now);
        }
        if self.head_holds && end.next > 1 && Head::found(&self.settings.folder)?.is_none() {
            let which = format!("lines 1 to {}", end.next - 1);
            let rule = "no head stood beside them";
            end.push(&mut text, Entry::of_audit(HEAD_BEGUN, which, rule), 1, now);
        }
        if let Some(last) = removed.last() {
            let which = format!("lines 1 to {}", last.1);
            let rule = "older than is kept, or more";
            end.push(&mut text, Entry::of_audit(REMOVED, which, rule), 1, now);
        }
        for (entry, count) in entries {
            end.push(&mut text, entry.clone().clean(), *count, now);
        }
        self.write(&begin, &text)?;
        end.len = begin.len + text.len() as u64;
        self.keep_head(&end);
        self.end = Some(end);
        for (file, _) in removed {
            fs::remove_file(&file.path)?;
        }
        Ok(())
    }

    /// The lines are written: a head that cannot be kept is no reason to say that they are not.
    fn keep_head(&self, end: &End) {
        let head = Head {
            line: end.next - 1,
            digest: end.digest,
        };
        if self.head_holds
            && let Err(error) = head.keep(&self.settings.folder)
        {
            tracing::error!("the head of the audit cannot be kept: {error}");
        }
    }

    fn write(&self, begin: &End, text: &[u8]) -> io::Result<()> {
        let path = TrailFile::named(&self.settings.folder, begin.file).path;
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        let written = file.write_all(text).and_then(|()| file.sync_data());
        if let Err(error) = written {
            // Nobody was told of it. What stays nevertheless is known for what was cut off.
            let _ = file.set_len(begin.len);
            return Err(error);
        }
        match begin.len {
            0 => File::open(&self.settings.folder)?.sync_all(),
            _ => Ok(()),
        }
    }

    /// End of the chain: as it was, or as other writers, a crash or somebody's hand have left it.
    fn found_end(&mut self) -> io::Result<End> {
        let files = TrailFile::all(&self.settings.folder)?;
        if let (Some(end), Some(newest)) = (&self.end, files.last())
            && (end.file, end.len) == (newest.first, fs::metadata(&newest.path)?.len())
        {
            let end = end.clone();
            if !self.head_holds {
                self.head_holds = Head::found(&self.settings.folder)?.is_none();
            }
            return Ok(end);
        }
        let found = End::of(&files)?;
        let head = Head::found(&self.settings.folder)?;
        let head = match head {
            None => {
                self.head_holds = true;
                None
            }
            Some(head) => {
                let held = std::mem::replace(&mut self.head_holds, false);
                if let Ok(head) = head {
                    let digest = digest_of(&files, head.line)?;
                    self.head_holds = digest.is_none_or(|digest| digest == head.digest);
                }
                if held && !self.head_holds {
                    tracing::error!(
                        "the audit in {} was changed: `agenthub audit verify` says where",
                        self.settings.folder.display()
                    );
                }
                head.ok().filter(|_| self.head_holds)
            }
        };
        let head = head.map(|head| (head.line + 1, head.digest));
        let known = self.end.as_ref().map(|known| (known.next, known.digest));
        let furthest = head.into_iter().chain(known).max_by_key(|(next, _)| *next);
        Ok(match furthest {
            // Lines are gone: the gap stays to be seen.
            Some((next, digest)) if next > found.next => End {
                file: next,
                len: 0,
                next,
                digest,
                is_cut_off: false,
            },
            _ => found,
        })
    }

    /// Files of which nothing needs to be kept, oldest first, each with its last line. The newest is never one.
    fn outdated(&self, now: SystemTime) -> io::Result<Vec<(TrailFile, u64)>> {
        let files = TrailFile::all(&self.settings.folder)?;
        let mut sizes = Vec::new();
        for file in &files {
            sizes.push(fs::metadata(&file.path)?.len());
        }
        let mut left: u64 = sizes.iter().sum();
        let mut found = Vec::new();
        for (pair, size) in files.windows(2).zip(sizes) {
            // Its last line is as old as the file.
            let changed = fs::metadata(&pair[0].path)?.modified()?;
            let age = now.duration_since(changed).unwrap_or_default();
            if age <= self.settings.age && left <= self.settings.bytes {
                break;
            }
            left -= size;
            found.push((pair[0].clone(), pair[1].first - 1));
        }
        Ok(found)
    }
}

impl End {
    fn push(&mut self, text: &mut Vec<u8>, entry: Entry, count: u64, now: SystemTime) {
        let line = Line {
            seq: self.next,
            time: time(now),
            entry,
            count,
            previous: self.digest,
        };
        let bytes = line.bytes();
        self.digest = Digest::of(&bytes);
        self.next += 1;
        text.extend_from_slice(&bytes);
        text.push(b'\n');
    }

    /// The end of what is in files.
    fn of(files: &[TrailFile]) -> io::Result<Self> {
        let newest = files.last();
        let mut end = Self {
            file: newest.map_or(1, |newest| newest.first),
            len: 0,
            next: newest.map_or(1, |newest| newest.first),
            digest: Digest::ZERO,
            is_cut_off: false,
        };
        for (at, file) in files.iter().rev().enumerate() {
            let bytes = fs::read(&file.path)?;
            if at == 0 {
                end.len = bytes.len() as u64;
            }
            let Some(last) = lines(&bytes).last() else {
                continue;
            };
            end.digest = Digest::of(last);
            end.next = file.first + lines(&bytes).count() as u64;
            end.is_cut_off = at == 0 && !bytes.ends_with(b"\n");
            break;
        }
        Ok(end)
    }
}

/// Hash of a line, if it is there.
fn digest_of(files: &[TrailFile], line: u64) -> io::Result<Option<Digest>> {
    let Some(file) = files.iter().rfind(|file| file.first <= line) else {
        return Ok(None);
    };
    let bytes = fs::read(&file.path)?;
    let at = usize::try_from(line - file.first).unwrap_or(usize::MAX);
    Ok(lines(&bytes).nth(at).map(Digest::of))
}

/// The lines of a file; the last one may have no line break.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}
