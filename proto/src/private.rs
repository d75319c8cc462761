//! Files with mode 0600: they contain what agents say to each other.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

/// Opens a file for appending, and creates it if missing. Removes other users' permissions from an existing file.
///
/// # Errors
///
/// Those of the file system.
pub fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        /// Read and write for the owner alone.
        const OWNER: u32 = 0o600;
        let file = options.mode(OWNER).open(path)?;
        let mut permissions = file.metadata()?.permissions();
        if permissions.mode() & 0o077 != 0 {
            permissions.set_mode(OWNER);
            file.set_permissions(permissions)?;
        }
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn nobody_else_may_read_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        fs::write(&path, "old").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
        for path in [path, folder.path().join("new")] {
            append(&path).expect("a file");
            let mode = fs::metadata(&path)
                .expect("it is there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
        let old = fs::read_to_string(folder.path().join("log"));
        assert_eq!(old.expect("it is ours"), "old");
    }
}
