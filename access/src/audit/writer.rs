//! The thread that writes the audit.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

use tokio::sync::oneshot;

use super::{
    line::Entry,
    repeats::Repeats,
    trail::{AuditSettings, Trail},
};

/// Maximum number of acts that wait for the disk.
const ACTS: usize = 1024;

/// Error of an act that cannot be recorded: it is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing was done, as the audit cannot record it: {0}")]
pub struct Unrecorded(String);

/// The audit of a running server. Clones are the same; what waits is written when the last one is dropped.
#[derive(Clone, Debug)]
pub struct Audit(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    acts: Vec<(Entry, oneshot::Sender<Result<(), Unrecorded>>)>,
    notes: Repeats,
    is_over: bool,
}

impl Audit {
    /// Opens the audit in its folder, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// It cannot be read or written.
    pub fn open(settings: AuditSettings) -> std::io::Result<Self> {
        let mut trail = Trail::new(settings);
        trail.open()?;
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let thread = thread.spawn(move || of_thread.write(trail))?;
        Ok(Self(Arc::new(Handle {
            shared,
            thread: Some(thread),
        })))
    }

    /// Records something soon: it waits for nothing. Of a process that is killed, what came within the last moment is lost.
    pub fn note(&self, entry: Entry) {
        let shared = &self.0.shared;
        shared.waiting().notes.add(entry, Instant::now());
        shared.wake.notify_one();
    }

    /// Records an act that is about to be done. It is on the disk on return.
    ///
    /// # Errors
    ///
    /// It cannot be recorded, and may not be done.
    pub async fn act(&self, entry: Entry) -> Result<(), Unrecorded> {
        let (written, is_written) = oneshot::channel();
        {
            let mut waiting = self.0.shared.waiting();
            if waiting.acts.len() >= ACTS {
                let why = format!("{ACTS} entries wait for the disk");
                return Err(Unrecorded(why));
            }
            waiting.acts.push((entry, written));
        }
        self.0.shared.wake.notify_one();
        let ended = |_| Err(Unrecorded("its writer has ended".to_owned()));
        is_written.await.unwrap_or_else(ended)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.waiting().is_over = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, mut trail: Trail) {
        let mut has_failed = false;
        loop {
            let (acts, notes, is_over) = self.next();
            let mut entries = notes;
            let of_notes: u64 = entries.iter().map(|(_, count)| count).sum();
            let (asked, answers): (Vec<_>, Vec<_>) = acts.into_iter().unzip();
            entries.extend(asked.into_iter().map(|entry| (entry, 1)));
            let written = match entries.is_empty() {
                true => Ok(()),
                false => trail.append(&entries, SystemTime::now()),
            };
            if let Err(error) = &written {
                self.waiting().notes.lose(of_notes);
                if !has_failed {
                    tracing::error!("the audit cannot be written: {error}");
                }
            }
            has_failed = written.is_err();
            let written = written.map_err(|error| Unrecorded(error.to_string()));
            for answer in answers {
                // Nobody waits for it any more.
                let _ = answer.send(written.clone());
            }
            if is_over {
                return;
            }
        }
    }

    /// Waits for what is to be written.
    #[allow(clippy::type_complexity)] // one caller
    fn next(
        &self,
    ) -> (
        Vec<(Entry, oneshot::Sender<Result<(), Unrecorded>>)>,
        Vec<(Entry, u64)>,
        bool,
    ) {
        let mut waiting = self.waiting();
        loop {
            let now = Instant::now();
            let wait = waiting.notes.wait(now);
            if waiting.is_over {
                let acts = std::mem::take(&mut waiting.acts);
                return (acts, waiting.notes.rest(), true);
            }
            if !waiting.acts.is_empty() || wait == Some(Duration::ZERO) {
                let acts = std::mem::take(&mut waiting.acts);
                return (acts, waiting.notes.due(now), false);
            }
            let hour = Duration::from_secs(3600);
            let waited = self.wake.wait_timeout(waiting, wait.unwrap_or(hour));
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::audit::verify;

    fn entry(allowed: bool) -> Entry {
        Entry {
            allowed,
            ..Entry::of_audit("call", "r".to_owned(), "a rule")
        }
    }

    #[tokio::test]
    async fn an_act_is_on_the_disk_on_return_and_notes_at_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = AuditSettings::in_folder(folder.path());
        let audit = Audit::open(settings.clone()).expect("it opens");
        audit.act(entry(true)).await.expect("it is recorded");
        let head = |is: &str| {
            verify(&settings.folder, None)
                .expect(is)
                .head
                .map(|(line, _)| line)
        };
        assert_eq!(head("one line"), Some(1));
        for _ in 0..10 {
            audit.note(entry(false));
        }
        let other = audit.clone();
        drop(audit);
        other.act(entry(true)).await.expect("it is recorded");
        drop(other);
        assert_eq!(head("and the rest"), Some(4));
    }

    /// Issue 25: what cannot be recorded is not done.
    #[tokio::test]
    async fn an_act_that_cannot_be_written_is_refused_until_it_can() {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = AuditSettings::in_folder(folder.path());
        let audit = Audit::open(settings.clone()).expect("it opens");
        audit.act(entry(true)).await.expect("it is recorded");
        let aside = folder.path().join("aside");
        fs::rename(&settings.folder, &aside).expect("it is renamed");
        fs::write(&settings.folder, "a file").expect("it is written");
        let refused = audit.act(entry(true)).await.expect_err("no folder");
        assert!(
            refused.to_string().starts_with("nothing was done"),
            "{refused}"
        );
        audit.note(entry(false));
        let refused = audit.act(entry(true)).await;
        refused.expect_err("no folder");
        fs::remove_file(&settings.folder).expect("it is removed");
        fs::rename(&aside, &settings.folder).expect("it is renamed");
        audit.act(entry(true)).await.expect("it is recorded");
        drop(audit);
        let report = verify(&settings.folder, None).expect("unbroken");
        assert_eq!(
            report.head.map(|(line, _)| line),
            Some(3),
            "and that one note was lost"
        );
    }
}
