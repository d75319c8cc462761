//! A file that is given up when the disk is full, so that what was accepted can still be written.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

pub(super) const FILE: &str = "reserve";
const BYTES: u64 = 32 * 1024 * 1024;

/// Makes the reserve file. Returns whether there was room for it.
pub(super) fn make(path: &Path) -> bool {
    let made = File::create(path).and_then(|file| {
        // Real blocks, not a hole.
        let zeros = vec![0; 1024 * 1024];
        let mut left = BYTES;
        while left > 0 {
            io::Write::write_all(&mut &file, &zeros)?;
            left -= zeros.len() as u64;
        }
        file.sync_all()
    });
    if made.is_err() {
        let _ = fs::remove_file(path);
    }
    made.is_ok()
}
