//! Files of a folder without `object_store`: what listings do not show, and reading, for which it changes threads more than once.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use bytes::Bytes;

/// Content of the first of these files that is there. All are looked for in one go: handing a look to another thread takes longer than the look.
///
/// # Errors
///
/// That of reading.
pub(crate) async fn first_of<const N: usize>(files: [PathBuf; N]) -> io::Result<Option<Bytes>> {
    let looking = tokio::task::spawn_blocking(move || {
        for file in files {
            match std::fs::read(file) {
                Ok(content) => return Ok(Some(content.into())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    });
    looking.await.map_err(io::Error::other)?
}

/// Removes unfinished files of a day that is over, which a process left that was killed, and the day's folder if nothing else is in it.
///
/// Nothing depends on that: a failure is logged, and the next sweep tries again.
pub(crate) async fn remove_remains(day: &Path) {
    let day = day.to_owned();
    let removed = tokio::task::spawn_blocking(move || {
        for entry in std::fs::read_dir(&day)? {
            let entry = entry?;
            // As `object_store` names files that it has not renamed yet.
            if is_unfinished(&entry.file_name().to_string_lossy()) {
                std::fs::remove_file(entry.path())?;
            }
        }
        match std::fs::remove_dir(&day) {
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed,
        }
    });
    match removed.await {
        Ok(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, "files of a day that is over remain");
        }
        _ => {}
    }
}

/// Length of a file, and its content if it has this length. `None` if there is no such file.
///
/// # Errors
///
/// That of reading.
pub(crate) async fn read(path: PathBuf, length: u64) -> io::Result<Option<(u64, Bytes)>> {
    let reading = tokio::task::spawn_blocking(move || {
        let found = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let found_length = found.metadata()?.len();
        if found_length != length {
            return Ok(Some((found_length, Bytes::new())));
        }
        let mut content = Vec::new();
        found.take(length).read_to_end(&mut content)?;
        Ok(Some((content.len() as u64, content.into())))
    });
    reading.await.map_err(io::Error::other)?
}

/// The failure of a folder as one of a store.
pub(crate) fn failed(source: io::Error) -> object_store::Error {
    object_store::Error::Generic {
        store: "folder",
        source: source.into(),
    }
}

fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
