//! The end of the audit, for people who look at it.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use super::{
    line::Line,
    trail::{TrailFile, lines},
};

/// Bytes that are read at once.
const CHUNK: u64 = 1 << 20;

/// Lines from a place on, as they come.
#[derive(Debug)]
pub struct Tail {
    folder: PathBuf,
    /// Number of the first line of the file that is read.
    file: u64,
    offset: u64,
}

impl Tail {
    /// Begins so that at least `last` lines of those that are wanted come, if there are that many.
    ///
    /// # Errors
    ///
    /// The files cannot be read.
    pub fn begin(
        folder: &Path,
        last: usize,
        is_wanted: impl Fn(&Line) -> bool,
    ) -> io::Result<(Self, Vec<Line>)> {
        let files = TrailFile::all(folder)?;
        let mut newest_first: Vec<Line> = Vec::new();
        let mut tail = Self {
            folder: folder.to_owned(),
            file: files.first().map_or(1, |file| file.first),
            offset: 0,
        };
        for (at, file) in files.iter().rev().enumerate() {
            let bytes = std::fs::read(&file.path)?;
            let whole = bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |end| end + 1);
            if at == 0 {
                tail.file = file.first;
                tail.offset = whole as u64;
            }
            let mut found: Vec<Line> = lines(&bytes[..whole])
                .filter_map(|line| serde_json::from_slice(line).ok())
                .filter(&is_wanted)
                .collect();
            found.reverse();
            newest_first.extend(found);
            if newest_first.len() >= last {
                break;
            }
        }
        newest_first.truncate(last);
        newest_first.reverse();
        Ok((tail, newest_first))
    }

    /// The lines that came since, some at a time; none once there are no more for now.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    #[allow(clippy::should_implement_trait)] // it goes on after nothing has come
    pub fn next(&mut self) -> io::Result<Vec<Line>> {
        let files = TrailFile::all(&self.folder)?;
        let Some(file) = files.iter().find(|file| file.first >= self.file) else {
            return Ok(Vec::new());
        };
        if file.first != self.file {
            self.file = file.first;
            self.offset = 0;
        }
        let mut opened = File::open(&file.path)?;
        opened.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        opened.take(CHUNK).read_to_end(&mut bytes)?;
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        if whole == 0 {
            if let Some(after) = files.iter().find(|file| file.first > self.file) {
                self.file = after.first;
                self.offset = 0;
                return self.next();
            }
            return Ok(Vec::new());
        }
        self.offset += whole as u64;
        let read = lines(&bytes[..whole]);
        Ok(read
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::audit::{
        line::Entry,
        trail::{AuditSettings, Trail},
    };

    #[test]
    fn the_last_lines_come_and_those_that_follow_over_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = AuditSettings {
            bytes: 0,
            ..AuditSettings::in_folder(folder.path())
        };
        let mut trail = Trail::new(AuditSettings {
            bytes: 64 * 4096,
            ..settings.clone()
        });
        let mut add = |count: u64| {
            for _ in 0..count {
                let entry = Entry::of_audit("call", "x".repeat(200), "a rule");
                let added = trail.append(&[(entry, 1)], SystemTime::now());
                added.expect("it is written");
            }
        };
        add(30);
        let odd = |line: &Line| line.seq % 2 == 1;
        let (mut tail, last) = Tail::begin(&settings.folder, 11, odd).expect("lines");
        let numbers: Vec<u64> = last.iter().map(|line| line.seq).collect();
        assert_eq!(numbers, [9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29]);
        assert!(tail.next().expect("it reads").is_empty());
        add(30);
        let mut next = 31;
        loop {
            let lines = tail.next().expect("it reads");
            if lines.is_empty() {
                break;
            }
            for line in lines {
                assert_eq!(line.seq, next);
                next += 1;
            }
        }
        assert_eq!(next, 61);
    }
}
