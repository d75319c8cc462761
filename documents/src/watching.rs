//! Notices that the files of a folder have changed: at once where the system tells, and with a look every few seconds in any case, as not
//! every file system does.
//!
//! Files that are being written come to rest in `settled`, by looks too, and not in a debouncer of what the system tells: where it tells of
//! nothing, that would hold nothing back.

use std::{
    collections::BTreeSet,
    fs::{self, Metadata},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::{
    sync::mpsc,
    task::spawn_blocking,
    time::{Instant, sleep, timeout},
};

/// The pause between two looks where the system tells of changes, and where it does not.
const LOOK: Duration = Duration::from_secs(3);
const LOOK_ALONE: Duration = Duration::from_millis(500);

/// Files that did not change for so long have been written.
const QUIET: Duration = Duration::from_millis(150);

/// Files that do not come to rest are read this often nevertheless.
const RESTLESS: Duration = Duration::from_secs(2);

/// The folders in a folder that the system is asked to tell of.
const FOLDERS: usize = 256;

/// Parts of a folder that are watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The files that are read.
    pub read: Vec<PathBuf>,
    /// The files that are only listed.
    pub listed: Vec<PathBuf>,
    /// Further folders in which such files may come to be.
    pub folders: Vec<PathBuf>,
}

/// Traits of files that are told without reading them. Two of them differ if a file has changed in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Print {
    read: BTreeSet<(PathBuf, u64, Option<SystemTime>, i64)>,
    listed: BTreeSet<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Print {
    /// The print of what a folder holds. Looks at the files.
    pub fn of(contents: Contents) -> Self {
        let read = contents.read.into_iter().filter_map(|path| {
            let meta = fs::metadata(&path).ok()?;
            Some(line(path, &meta))
        });
        Self {
            read: read.collect(),
            listed: contents.listed.into_iter().collect(),
            folders: contents.folders,
        }
    }
}

/// Sends whenever files of the folder may have changed since the last time, and once at the beginning. `contents` finds what is watched in the
/// folder; one that cannot be read has nothing. Returns when nobody listens.
pub async fn watch(dir: PathBuf, contents: fn(&Path) -> Contents, changed: mpsc::Sender<()>) {
    look(dir, contents, changed, watcher).await;
}

async fn look(
    dir: PathBuf,
    contents: fn(&Path) -> Contents,
    changed: mpsc::Sender<()>,
    watcher: impl FnOnce(mpsc::Sender<()>) -> Option<RecommendedWatcher>,
) {
    // Kept to the end: with no sender, waiting for a hint would be no pause where the system tells of nothing.
    let (hints, mut hinted) = mpsc::channel(1);
    let mut watcher = watcher(hints.clone());
    let mut followed = BTreeSet::new();
    let mut known = None;
    loop {
        let print = settled(&dir, contents, &mut hinted).await;
        if known.as_ref() != Some(&print) {
            known = Some(print.clone());
            if changed.send(()).await.is_err() {
                return;
            }
        }
        let is_told = match &mut watcher {
            Some(watcher) => follow(watcher, &dir, &print, &mut followed),
            None => false,
        };
        let pause = match is_told {
            true => LOOK,
            false => LOOK_ALONE,
        };
        tokio::select! {
            () = changed.closed() => return,
            _ = timeout(pause, hinted.recv()) => {}
        }
    }
}

/// The files, when they have come to rest.
async fn settled(
    dir: &Path,
    contents: fn(&Path) -> Contents,
    hinted: &mut mpsc::Receiver<()>,
) -> Print {
    let begin = Instant::now();
    let mut print = print(dir, contents).await;
    loop {
        sleep(QUIET).await;
        // What was told until now is part of the next look.
        while hinted.try_recv().is_ok() {}
        let next = self::print(dir, contents).await;
        if next == print || begin.elapsed() >= RESTLESS {
            return next;
        }
        print = next;
    }
}

fn watcher(hints: mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    let told = move |event: notify::Result<notify::Event>| {
        if !event.is_ok_and(|event| event.kind.is_access()) {
            // Where one waits, another says no more.
            let _ = hints.try_send(());
        }
    };
    match notify::recommended_watcher(told) {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            tracing::warn!(%error, "the system does not tell when files change: they are looked at every half second");
            None
        }
    }
}

/// Has the system tell of the folder and of the folders in it. Says whether it does.
fn follow(
    watcher: &mut RecommendedWatcher,
    dir: &Path,
    print: &Print,
    followed: &mut BTreeSet<PathBuf>,
) -> bool {
    let listed: BTreeSet<&Path> = print.listed.iter().filter_map(|f| f.parent()).collect();
    let folders = print.folders.iter().map(PathBuf::as_path);
    let folders = folders.chain(listed).take(FOLDERS).chain([dir]);
    let wanted: BTreeSet<PathBuf> = folders.map(Path::to_owned).collect();
    followed.retain(|path| wanted.contains(path));
    for path in &wanted {
        // Saying it again does no harm, and is needed where the folder is another of the same name.
        match watcher.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) => _ = followed.insert(path.clone()),
            Err(error) => {
                tracing::debug!(%error, path = %path.display(), "not told of");
                followed.remove(path);
            }
        }
    }
    followed.contains(dir)
}

async fn print(dir: &Path, contents: fn(&Path) -> Contents) -> Print {
    let dir = dir.to_owned();
    spawn_blocking(move || Print::of(contents(&dir)))
        .await
        .unwrap_or_default()
}

fn line(path: PathBuf, meta: &Metadata) -> (PathBuf, u64, Option<SystemTime>, i64) {
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt;
        meta.ctime_nsec() ^ meta.ino().cast_signed()
    };
    #[cfg(not(unix))]
    let changed = 0;
    (path, meta.len(), meta.modified().ok(), changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn where_the_system_tells_of_nothing_there_is_a_pause_between_looks() {
        fn one(dir: &Path) -> Contents {
            Contents {
                read: vec![dir.join("a.md")],
                ..Contents::default()
            }
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (changed, mut changes) = mpsc::channel(1);
        let looking = look(folder.path().to_owned(), one, changed, |_| None);
        let begin = Instant::now();
        let edit = async {
            for n in 0..3 {
                changes.recv().await.expect("it goes on looking");
                fs::write(folder.path().join("a.md"), "x".repeat(n + 1)).expect("a file");
            }
        };
        tokio::select! {
            () = looking => {}
            () = edit => {}
        }
        assert!(begin.elapsed() >= LOOK_ALONE * 2, "{:?}", begin.elapsed());
    }
}
