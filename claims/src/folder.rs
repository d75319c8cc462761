//! What listings of a folder do not show.

use std::path::Path;

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

fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
