//! Room on the disk that is kept for what was accepted already.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Its name in the log's folder.
const FILE: &str = "reserve";

/// A file that is given up when the disk is full, so that what was accepted can still be written.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    bytes: u64,
    is_there: bool,
}

impl Reserve {
    /// Knows a reserve that is in the folder; makes none.
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

    /// Makes it where it is missing, if there is clearly room for it. Returns whether it is there.
    pub(super) fn make(&mut self) -> bool {
        if !self.is_there {
            let is_clear = free(&self.path).is_none_or(|free| free >= self.bytes + self.bytes / 8);
            self.is_there = is_clear && self.fill().is_ok();
        }
        if !self.is_there {
            // What there is of it takes room.
            let _ = fs::remove_file(&self.path);
        }
        self.is_there
    }

    /// Removes it. Returns whether that made room.
    pub(super) fn give_up(&mut self) -> bool {
        let was_there = std::mem::take(&mut self.is_there);
        fs::remove_file(&self.path).is_ok() && was_there
    }

    /// Real blocks, not a hole: the file system sets them aside, or they are written.
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

/// Bytes that this user can still write beside `path`; `None` if the system does not tell.
fn free(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path.parent()?).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
