//! Replacing a file as a whole, so that a crash leaves the old one or the new one.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

/// Puts a file with these bytes in place of the one with this name; gives it, open at its end. Once this returns, it is safe.
///
/// # Errors
///
/// It cannot be written. The old file is there, unless the folder alone could not be synced.
pub(super) fn replace_file(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let beside = folder.join(format!("{name}.new"));
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, folder.join(name))?;
    File::open(folder)?.sync_all()?;
    Ok(file)
}
