//! High-water mark of acknowledged records, in a file beside the log: without it, a truncated log looks like a shorter
//! one.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use crate::log::LogId;

/// File name in the log's folder.
pub(super) const FILE: &str = "acknowledged";
/// Id, position, checksum.
const BYTES: usize = 16;

/// The file. It is written in place and never synced: it is a lower bound, so what a power cut leaves of it is enough.
#[derive(Debug)]
pub(super) struct Acknowledged {
    file: File,
    log: LogId,
    position: u64,
}

impl Acknowledged {
    /// Opens or creates the file. An unreadable file, or one of another log, bounds nothing.
    ///
    /// # Errors
    ///
    /// The file cannot be created or read.
    pub(super) fn open(path: &Path, log: LogId) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let mut bytes = [0; BYTES];
        let position = match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => read(&bytes, log).unwrap_or(0),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            Err(error) => return Err(error),
        };
        Ok(Self {
            file,
            log,
            position,
        })
    }

    /// A lower bound of the last acknowledged position.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Records that records up to here are durable. A failure is harmless.
    pub(super) fn advance(&mut self, position: u64) {
        self.position = position;
        let _ = self.file.write_all_at(&write(self.log, position), 0);
    }
}

/// Reads the file without changing it.
pub(super) fn noted(path: &Path, log: LogId) -> u64 {
    let bytes = std::fs::read(path).ok();
    let bytes = bytes.and_then(|b| <[u8; BYTES]>::try_from(b).ok());
    bytes.and_then(|b| read(&b, log)).unwrap_or(0)
}

fn write(log: LogId, position: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..4].copy_from_slice(&log.number().to_le_bytes());
    bytes[4..12].copy_from_slice(&position.to_le_bytes());
    let sum = crc32fast::hash(&bytes[..12]);
    bytes[12..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn read(bytes: &[u8; BYTES], log: LogId) -> Option<u64> {
    let position = u64::from_le_bytes(bytes[4..12].try_into().ok()?);
    (write(log, position) == *bytes).then_some(position)
}
