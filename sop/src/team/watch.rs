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

use crate::{
    discover::paths,
    loader::files::{files, is_skill, is_skipped},
};

/// The pause between two looks where the system tells of changes, and where it does not.
const LOOK: Duration = Duration::from_secs(3);
const LOOK_ALONE: Duration = Duration::from_millis(500);

/// Files that did not change for so long have been written.
const QUIET: Duration = Duration::from_millis(150);

/// Files that do not come to rest are read this often nevertheless.
const RESTLESS: Duration = Duration::from_secs(2);

/// The folders of skills that the system is asked to tell of.
const FOLDERS: usize = 256;

/// Traits of files that are told without reading them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Print {
    /// The files that are read.
    read: BTreeSet<(PathBuf, u64, Option<SystemTime>, i64)>,
    /// Those that are only listed.
    listed: BTreeSet<PathBuf>,
}

/// Sends whenever files of the folder may have changed since the last time, and once at the beginning. Returns when nobody listens.
pub(super) async fn watch(dir: PathBuf, changed: mpsc::Sender<()>) {
    look(dir, changed, watcher).await;
}

async fn look(
    dir: PathBuf,
    changed: mpsc::Sender<()>,
    watcher: impl FnOnce(mpsc::Sender<()>) -> Option<RecommendedWatcher>,
) {
    // Kept to the end: with no sender, waiting for a hint would be no pause where the system tells of nothing.
    let (hints, mut hinted) = mpsc::channel(1);
    let mut watcher = watcher(hints.clone());
    let mut followed = BTreeSet::new();
    let mut known = None;
    loop {
        let print = settled(&dir, &mut hinted).await;
        if known.as_ref() != Some(&print) {
            known = Some(print.clone());
            if changed.send(()).await.is_err() {
                return;
            }
        }
        let is_told = match &mut watcher {
            Some(watcher) => follow(watcher, &dir, &print, &mut followed).await,
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
async fn settled(dir: &Path, hinted: &mut mpsc::Receiver<()>) -> Print {
    let begin = Instant::now();
    let mut print = print(dir).await;
    loop {
        sleep(QUIET).await;
        // What was told until now is part of the next look.
        while hinted.try_recv().is_ok() {}
        let next = self::print(dir).await;
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
async fn follow(
    watcher: &mut RecommendedWatcher,
    dir: &Path,
    print: &Print,
    followed: &mut BTreeSet<PathBuf>,
) -> bool {
    let at = dir.to_owned();
    let listed: BTreeSet<_> = print.listed.iter().filter_map(|f| f.parent()).collect();
    let listed: Vec<_> = listed.into_iter().map(Path::to_owned).collect();
    let wanted = spawn_blocking(move || {
        let folders = folders(&at).chain(listed).take(FOLDERS);
        folders.chain([at.clone()]).collect::<BTreeSet<_>>()
    });
    let Ok(wanted) = wanted.await else {
        return false;
    };
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

async fn print(dir: &Path) -> Print {
    let dir = dir.to_owned();
    spawn_blocking(move || {
        let mut print = Print::default();
        // A folder that cannot be read looks like one that is empty: either is told when the files are read.
        for path in paths(&dir).unwrap_or_default() {
            if let Some(folder) = path.parent().filter(|_| is_skill(&path)) {
                let listed = files(folder).into_iter().map(|file| folder.join(file));
                print.listed.extend(listed);
            }
            if let Ok(meta) = fs::metadata(&path) {
                print.read.insert(line(path, &meta));
            }
        }
        print
    })
    .await
    .unwrap_or_default()
}

/// The folders in a folder, which may be skills or become some.
fn folders(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| !is_skipped(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
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

    /// spec: SOP-4.1
    #[tokio::test]
    async fn whatever_is_read_of_a_folder_shows_in_its_print() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("form/references")).expect("a folder");
        let mut before = print(folder.path()).await;
        for (name, text) in [
            ("a.md", "x"),
            ("b.MD", "x"),
            ("b.MD", "xy"),
            ("form/skill.md", "x"),
            ("form/skill.md", "xy"),
            ("form/references/one.txt", "x"),
        ] {
            fs::write(at(name), text).expect("a file");
            let after = print(folder.path()).await;
            assert_ne!(after, before, "{name}");
            before = after;
        }
        fs::write(at("c.txt"), "x").expect("a file");
        assert_eq!(print(folder.path()).await, before, "nobody reads that");
    }

    #[tokio::test(start_paused = true)]
    async fn where_the_system_tells_of_nothing_there_is_a_pause_between_looks() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (changed, mut changes) = mpsc::channel(1);
        let looking = look(folder.path().to_owned(), changed, |_| None);
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
