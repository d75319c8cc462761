//! The write-ahead log as a file: where it ends, and what stands behind that. SQLite drops what was never finished without a word.

use std::{
    fmt,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The header, and the header of each frame.
const HEADER: usize = 32;
const FRAME: usize = 24;

/// The end of a write-ahead log that SQLite does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Where it begins in the file.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
}

/// The file, for syncing it. It stays the same one as long as a connection is open.
#[derive(Clone)]
pub(crate) enum Wal {
    File(Arc<File>),
    /// What syncs it on a disk that is none.
    #[cfg(test)]
    Simulated(Arc<dyn Fn() -> io::Result<()> + Send + Sync>),
}

impl Wal {
    /// Of a database that is open.
    pub(super) fn open(database: &Path) -> io::Result<Self> {
        Ok(Self::File(Arc::new(File::open(path(database))?)))
    }

    /// Makes safe what was written.
    pub(super) fn sync(&self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sync_all(),
            #[cfg(test)]
            Self::Simulated(sync) => sync(),
        }
    }
}

impl fmt::Debug for Wal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wal")
    }
}

/// The write-ahead log of a database.
pub(super) fn path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

/// Looks at the write-ahead log of a database that nobody writes to. What cannot be read is no matter of its end.
pub(crate) fn torn(database: &Path) -> Option<Torn> {
    find(&std::fs::read(path(database)).ok()?)
}

/// Says what the hub drops.
pub(super) fn warn(database: &Path, torn: Option<Torn>) {
    if let Some(Torn { offset, bytes }) = torn {
        tracing::warn!(
            file = %path(database).display(),
            offset,
            bytes,
            "the end of the write-ahead log was never finished, or is damaged: it is dropped"
        );
    }
}

/// What stands behind the last commit, if it was written after that.
fn find(file: &[u8]) -> Option<Torn> {
    let torn_at = |offset: usize| Torn {
        offset: offset as u64,
        bytes: (file.len() - offset) as u64,
    };
    let (header, _) = file.split_at_checked(HEADER)?;
    let is_big_endian = match number(header, 0) {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return Some(torn_at(0)),
    };
    let mut sums = checksum([0, 0], &header[..24], is_big_endian);
    if sums != [number(header, 24), number(header, 28)] {
        return Some(torn_at(0));
    }
    let size = FRAME + usize::try_from(number(header, 8)).ok()?;
    let mut committed = HEADER;
    let frames = file[HEADER..].chunks_exact(size).enumerate();
    for (index, frame) in frames {
        sums = checksum(sums, &frame[..8], is_big_endian);
        sums = checksum(sums, &frame[FRAME..], is_big_endian);
        if frame[8..16] != header[16..24] || sums != [number(frame, 16), number(frame, 20)] {
            break;
        }
        if number(frame, 4) > 0 {
            committed = HEADER + (index + 1) * size;
        }
    }
    // Frames of an earlier round through the file have other salts.
    let salts = file.get(committed + 8..committed + 16)?;
    (*salts == header[16..24]).then(|| torn_at(committed))
}

/// Goes on with SQLite's checksum, which takes two numbers at a time.
fn checksum([mut a, mut b]: [u32; 2], bytes: &[u8], is_big_endian: bool) -> [u32; 2] {
    let word = |bytes: &[u8; 4]| match is_big_endian {
        true => u32::from_be_bytes(*bytes),
        false => u32::from_le_bytes(*bytes),
    };
    let (words, _) = bytes.as_chunks::<4>();
    let (pairs, _) = words.as_chunks::<2>();
    for [x, y] in pairs {
        a = a.wrapping_add(word(x)).wrapping_add(b);
        b = b.wrapping_add(word(y)).wrapping_add(a);
    }
    [a, b]
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes[at..].first_chunk().copied();
    u32::from_be_bytes(four.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A write-ahead log of two commits, and where the second one begins.
    fn wal() -> (Vec<u8>, usize) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x.db");
        let database = rusqlite::Connection::open(&file).expect("it opens");
        let run = |sql: &str| database.execute_batch(sql).expect("it is good");
        run("PRAGMA journal_mode = WAL; CREATE TABLE t (x)");
        let first = std::fs::read(path(&file)).expect("it is there").len();
        run("INSERT INTO t VALUES (randomblob(10000))");
        (std::fs::read(path(&file)).expect("it is there"), first)
    }

    #[test]
    fn a_whole_write_ahead_log_is_not_torn() {
        let (wal, first) = wal();
        assert!(wal.len() > first);
        assert_eq!(find(&wal), None);
        assert_eq!(find(&wal[..first]), None, "the second commit is not there");
        assert_eq!(find(&[]), None);
    }

    #[test]
    fn what_stands_behind_the_last_commit_is_torn() {
        let (wal, first) = wal();
        for end in [first + 16, first + 100, wal.len() - 1] {
            let expected = Torn {
                offset: first as u64,
                bytes: (end - first) as u64,
            };
            assert_eq!(find(&wal[..end]), Some(expected));
        }
        let mut flipped = wal.clone();
        flipped[first + 50] ^= 1;
        assert_eq!(find(&flipped).map(|t| t.offset), Some(first as u64));
        let mut flipped = wal;
        flipped[3] ^= 0x40;
        assert_eq!(find(&flipped).map(|t| t.offset), Some(0));
    }

    #[test]
    fn frames_of_an_earlier_round_are_no_damage() {
        let (mut wal, first) = wal();
        wal[first + 8] ^= 1;
        assert_eq!(find(&wal), None);
    }
}
