//! Files and folders that only their owner may read, changed by one process at a time and as a whole.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

/// Locks a file for a change, in a folder that is made if missing; another process that changes it waits until this is dropped.
pub(crate) fn locked(path: &Path) -> io::Result<File> {
    make_folder(path.parent().unwrap_or(Path::new(".")))?;
    let lock = private(&path.with_extension("lock"), false)?;
    lock.lock()?;
    Ok(lock)
}

/// Replaces a file that only its owner may read; it is on the disk on return.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let next = path.with_extension("next");
    let mut file = private(&next, true)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Makes a folder that only its owner may read.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    // It may have been made meanwhile.
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a file for writing that only its owner may read.
pub(crate) fn private(path: &Path, is_emptied: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(is_emptied);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
