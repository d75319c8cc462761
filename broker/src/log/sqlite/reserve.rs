//! Reserve of disk space for accepted work.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// File name in the log's folder.
const FILE: &str = "reserve";

/// A file that is deleted when the disk is full, so that accepted work can still be written.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    bytes: u64,
    is_there: bool,
}

impl Reserve {
    /// Finds an existing reserve in the folder; creates none.
    pub(super) fn new(folder: &Path, bytes: u64) -> Self {
        let path = folder.join(FILE);
        let is_there = fs::metadata(&path).is_ok_and(|m| m.len() == bytes);
        Self {
            path,
            bytes,
            is_there,
        }
    }

    pub(super) fn is_there(&self) -> bool {
        self.is_there
    }

    /// Creates a missing reserve, if there is clearly enough space. Returns whether it exists.
    pub(super) fn make(&mut self) -> bool {
        if !self.is_there {
            let is_clear = free(&self.path).is_none_or(|free| free >= self.bytes + self.bytes / 8);
            self.is_there = is_clear && self.fill().is_ok();
        }
        if !self.is_there {
            // A partial file takes space.
            let _ = fs::remove_file(&self.path);
        }
        self.is_there
    }

    /// Deletes the reserve. Returns whether that freed space.
    pub(super) fn give_up(&mut self) -> bool {
        let was_there = std::mem::take(&mut self.is_there);
        fs::remove_file(&self.path).is_ok() && was_there
    }

    /// Allocates real blocks instead of a hole: with fallocate, or by writing.
    fn fill(&self) -> io::Result<()> {
        let mut file = File::create(&self.path)?;
        #[cfg(target_os = "linux")]
        let is_there =
            rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, self.bytes)
                .is_ok();
        #[cfg(not(target_os = "linux"))]
        let is_there = false;
        if !is_there {
            io::copy(&mut io::Read::take(io::repeat(0), self.bytes), &mut file)?;
            file.flush()?;
        }
        file.sync_all()
    }
}

/// Bytes that this user can still write beside `path`; `None` if unknown.
fn free(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path.parent()?).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
