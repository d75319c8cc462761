//! The write-ahead log as a file: its end, and bytes after the end. SQLite silently drops an unfinished transaction.

use std::{
    fmt,
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Size of the header, and of the header of each frame.
const HEADER: usize = 32;
const FRAME: usize = 24;
/// SQLite's maximum page size.
const PAGE_MAX: usize = 65_536;

/// The end of a write-ahead log that SQLite does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Its offset in the file.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
}

/// The file, for syncing. It stays the same file while a connection is open.
#[derive(Clone)]
pub(crate) enum Wal {
    File(Arc<File>),
    /// A function that syncs the file, or its folder, on a simulated disk.
    #[cfg(test)]
    Simulated(Arc<dyn Fn(Synced) -> io::Result<()> + Send + Sync>),
}

/// Target of a sync on a simulated disk.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Synced {
    File,
    Folder,
}

impl Wal {
    /// Opens the file of an open database.
    pub(super) fn open(database: &Path) -> io::Result<Self> {
        Ok(Self::File(Arc::new(File::open(path(database))?)))
    }

    /// Syncs the written data.
    pub(super) fn sync(&self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sync_all(),
            #[cfg(test)]
            Self::Simulated(sync) => sync(Synced::File),
        }
    }

    /// Syncs the file's name. SQLite does that only when it syncs the file itself.
    pub(super) fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        match self {
            Self::File(_) => File::open(folder)?.sync_all(),
            #[cfg(test)]
            Self::Simulated(sync) => sync(Synced::Folder),
        }
    }
}

impl fmt::Debug for Wal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wal")
    }
}

/// Path of a database's write-ahead log.
pub(super) fn path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

/// Checks the write-ahead log of a database without a writer. Ignores disk errors.
pub(crate) fn torn(database: &Path) -> Option<Torn> {
    let file = File::open(path(database)).ok()?;
    let bytes = file.metadata().ok()?.len();
    find(BufReader::with_capacity(PAGE_MAX, file), bytes).ok()?
}

/// Logs a warning about the dropped end.
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

/// Finds bytes after the last commit of a write-ahead log that were written after that commit. Reads frame by frame, up
/// to the first invalid one.
fn find(mut file: impl Read, bytes: u64) -> io::Result<Option<Torn>> {
    let torn_at = |offset: u64| Torn {
        offset,
        bytes: bytes - offset,
    };
    let mut header = [0; HEADER];
    if read(&mut file, &mut header)? < HEADER {
        return Ok(None);
    }
    let Some((is_big_endian, page)) = properties(&header) else {
        return Ok(Some(torn_at(0)));
    };
    let mut sums = [number(&header, 24), number(&header, 28)];
    let (mut end, mut committed) = (HEADER as u64, HEADER as u64);
    // Frames of an earlier pass through the file have other salts.
    let mut is_of_this_round = false;
    let mut frame = vec![0; FRAME + page];
    loop {
        let length = read(&mut file, &mut frame)?;
        if end == committed {
            is_of_this_round = length >= 16 && frame[8..16] == header[16..24];
        }
        if length < frame.len() {
            break;
        }
        sums = checksum(sums, &frame[..8], is_big_endian);
        sums = checksum(sums, &frame[FRAME..], is_big_endian);
        if frame[8..16] != header[16..24] || sums != [number(&frame, 16), number(&frame, 20)] {
            break;
        }
        end += frame.len() as u64;
        if number(&frame, 4) > 0 {
            committed = end;
        }
    }
    Ok(is_of_this_round.then(|| torn_at(committed)))
}

/// Byte order of the checksums, and page size; `None` for a damaged header.
fn properties(header: &[u8; HEADER]) -> Option<(bool, usize)> {
    let is_big_endian = match number(header, 0) {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return None,
    };
    let page = usize::try_from(number(header, 8)).ok()?;
    let sums = checksum([0, 0], &header[..24], is_big_endian);
    let is_sound = sums == [number(header, 24), number(header, 28)] && page <= PAGE_MAX;
    is_sound.then_some((is_big_endian, page))
}

/// Reads until the buffer is full, or to the end. Returns the number of bytes.
fn read(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Continues SQLite's checksum, which takes two numbers at a time.
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

    /// A write-ahead log of two commits, and the offset of the second one.
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

    fn found(mut file: &[u8]) -> Option<Torn> {
        let bytes = file.len() as u64;
        find(&mut file, bytes).expect("it can be read")
    }

    #[test]
    fn a_whole_write_ahead_log_is_not_torn() {
        let (wal, first) = wal();
        assert!(wal.len() > first);
        assert_eq!(found(&wal), None);
        assert_eq!(found(&wal[..first]), None, "the second commit is not there");
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn what_stands_behind_the_last_commit_is_torn() {
        let (wal, first) = wal();
        for end in [first + 16, first + 100, wal.len() - 1] {
            let expected = Torn {
                offset: first as u64,
                bytes: (end - first) as u64,
            };
            assert_eq!(found(&wal[..end]), Some(expected));
        }
        let mut flipped = wal.clone();
        flipped[first + 50] ^= 1;
        assert_eq!(found(&flipped).map(|t| t.offset), Some(first as u64));
        let mut flipped = wal;
        flipped[3] ^= 0x40;
        assert_eq!(found(&flipped).map(|t| t.offset), Some(0));
    }

    #[test]
    fn frames_of_an_earlier_round_are_no_damage() {
        let (mut wal, first) = wal();
        wal[first + 8] ^= 1;
        assert_eq!(found(&wal), None);
    }

    /// An endless repetition that counts the bytes read.
    struct Endless<'a> {
        bytes: &'a [u8],
        read: usize,
        largest: usize,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            for byte in &mut *buffer {
                *byte = self.bytes[self.read % self.bytes.len()];
                self.read += 1;
            }
            self.largest = self.largest.max(buffer.len());
            Ok(buffer.len())
        }
    }

    #[test]
    fn no_more_is_read_than_up_to_the_first_frame_that_is_not_valid() {
        let (wal, first) = wal();
        let mut file = Endless {
            bytes: &wal,
            read: 0,
            largest: 0,
        };
        let torn = find(&mut file, u64::MAX).expect("it can be read");
        assert_eq!(torn, None, "the second time, the header is no frame");
        let frame = FRAME + 4096;
        assert_eq!(file.read, wal.len() + frame);
        assert_eq!(file.largest, frame);
        assert!(first < wal.len());
    }
}
