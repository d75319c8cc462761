//! Notices that the files of a folder have changed: at once where the system tells, and with a look every few seconds in any case, as not
//! every file system does.

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

/// The folders of skills that the system is asked to tell of.
const FOLDERS: usize = 256;

/// What can be told of files without reading them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Print(BTreeSet<(PathBuf, u64, Option<SystemTime>, i64)>);

/// Sends whenever files of the folder may have changed since the last time, and once at the beginning. Returns when nobody listens.
pub(super) async fn watch(dir: PathBuf, changed: mpsc::Sender<()>) {
    let (hints, mut hinted) = mpsc::channel(1);
    let mut watcher = watcher(hints);
    let mut followed = BTreeSet::new();
    let mut known = None;
    loop {
        let print = settled(&dir, &mut hinted).await;
        if known.as_ref() != Some(&print) {
            known = Some(print);
            if changed.send(()).await.is_err() {
                return;
            }
        }
        let is_told = match &mut watcher {
            Some(watcher) => follow(watcher, &dir, &mut followed).await,
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
    followed: &mut BTreeSet<PathBuf>,
) -> bool {
    let at = dir.to_owned();
    let wanted = spawn_blocking(move || {
        let folders = entries(&at).into_iter().filter(|(_, meta)| meta.is_dir());
        let folders = folders.map(|(path, _)| path).take(FOLDERS);
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
        let mut print = BTreeSet::new();
        for (path, meta) in entries(&dir) {
            if meta.is_dir() {
                let skill = path.join("SKILL.md");
                if let Ok(meta) = fs::metadata(&skill) {
                    print.insert(line(skill, &meta));
                }
            }
            print.insert(line(path, &meta));
        }
        Print(print)
    })
    .await
    .unwrap_or_default()
}

/// The folders and Markdown files in a folder, but for what is hidden.
fn entries(dir: &Path) -> Vec<(PathBuf, Metadata)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
        .filter_map(|entry| {
            let path = entry.path();
            let meta = fs::metadata(&path).ok()?;
            let is_ours = meta.is_dir() || path.extension().is_some_and(|e| e == "md");
            is_ours.then_some((path, meta))
        })
        .collect()
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
