//! Journals in which the runs of an agent outlive its process.

mod database;
mod others;

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, Write},
    path::Path,
    sync::Arc,
    time::Duration,
};

use agenthub_cortex::{CORTEX, Others};
use agenthub_proto::slug::slug;
use agenthub_sdk::{
    AgentBuilder,
    runs::{
        Journal,
        journal::{MemoryJournal, SqliteJournal},
    },
};
use agenthub_terminal::usage::WrongUsage;
use anyhow::Context;
use uuid::Uuid;

use self::{database::WithDatabase, others::Folder};
use crate::settings::{KeepRuns, Settings};

/// The folder of the journals, in the data folder.
const FOLDER: &str = "runs";

/// The journal of one agent. Its file belongs to this process as long as this lives.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The journal; none where nothing is to be written, so that the hub keeps a message until its run is over.
    pub(crate) journal: Option<Arc<dyn Journal>>,
    /// The instance that this process is: the same for every process that uses the file, one after the other, so that the next one
    /// takes up at once what the last one left. Without a file another one each time.
    pub(crate) instance: String,
    /// The journals of other agents with the same data folder.
    pub(crate) others: Option<Arc<dyn Others>>,
    /// Retention of the runs once they are over, if it was set.
    pub(crate) keep: Option<Duration>,
    _lock: Option<File>,
}

impl Kept {
    /// The journal of this agent in the data folder, if there is one.
    ///
    /// # Errors
    ///
    /// Another process uses it, or the files cannot be used; in one line that says which.
    pub(crate) async fn open(
        data: Option<&Path>,
        keep: &KeepRuns,
        agent: &str,
    ) -> anyhow::Result<Self> {
        let keep = keep.time(agent);
        let Some(data) = data else {
            return Ok(Self {
                journal: None,
                instance: instance(agent),
                others: None,
                keep,
                _lock: None,
            });
        };
        let (folder, agent) = (data.join(FOLDER), agent.to_owned());
        tokio::task::spawn_blocking(move || Self::open_in(&folder, keep, &agent)).await?
    }

    /// The journal of the agent that carries workflows out: in the database that the settings name, if they name one.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open), and the database cannot be reached.
    pub(crate) async fn of_workflows(settings: &Settings) -> anyhow::Result<Self> {
        let agent = agenthub_workflow::NAME;
        let kept = Self::open(settings.data(), &settings.keep_runs, agent).await?;
        Ok(match &settings.journal {
            None => kept,
            Some(database) => Self {
                journal: Some(database::open(database).await?),
                ..kept
            },
        })
    }

    /// Cortex's own journal, and those of others: of the data folder, and of the database that the settings name.
    ///
    /// # Errors
    ///
    /// Those of [`of_workflows`](Self::of_workflows).
    pub(crate) async fn of_cortex(settings: &Settings) -> anyhow::Result<Self> {
        let kept = Self::open(settings.data(), &settings.keep_runs, CORTEX).await?;
        let Some(database) = &settings.journal else {
            return Ok(kept);
        };
        let others = WithDatabase {
            folder: kept.others.clone(),
            database: database::open(database).await?,
        };
        Ok(Self {
            others: Some(Arc::new(others)),
            ..kept
        })
    }

    /// The agent, with its runs kept here.
    pub(crate) fn lasting(&self, agent: AgentBuilder) -> AgentBuilder {
        let agent = agent.instance_id(&*self.instance);
        let agent = match self.keep {
            Some(keep) => agent.keep_runs(keep),
            None => agent,
        };
        match &self.journal {
            Some(journal) => agent.journal(journal.clone()),
            None => agent,
        }
    }

    /// The journal; one in memory where the runs are not kept in a file.
    pub(crate) fn journal_or_memory(&mut self) -> Arc<dyn Journal> {
        let journal = self
            .journal
            .get_or_insert_with(|| Arc::new(MemoryJournal::default()));
        Arc::clone(journal)
    }

    /// The same, as a map for those who show the runs.
    pub(crate) fn in_memory(&mut self) -> BTreeMap<String, Arc<dyn Journal>> {
        BTreeMap::from([("memory".to_owned(), self.journal_or_memory())])
    }

    fn open_in(folder: &Path, keep: Option<Duration>, agent: &str) -> anyhow::Result<Self> {
        let mut private = fs::DirBuilder::new();
        private.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private
            .create(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let (instance, lock) = lock(folder, agent)?;
        let path = folder.join(format!("{}.db", slug(agent)));
        let journal = SqliteJournal::open(&path)
            .with_context(|| format!("cannot keep the runs of {agent} in {}", path.display()))?;
        Ok(Self {
            journal: Some(Arc::new(journal)),
            instance,
            others: Some(Arc::new(Folder::new(folder, &path))),
            keep,
            _lock: Some(lock),
        })
    }
}

/// All journals of a data folder, to be read only, by the names of their files. None where there is no such folder.
///
/// # Errors
///
/// The folder cannot be read.
pub(crate) async fn all(data: &Path) -> io::Result<BTreeMap<String, Arc<dyn Journal>>> {
    let path = data.join(FOLDER);
    let looking = tokio::task::spawn_blocking(move || match path.is_dir() {
        true => Folder::new(&path, Path::new("")).look(),
        false => Ok(BTreeMap::new()),
    });
    looking.await.map_err(io::Error::other)?
}

/// The journal of the agent that carries workflows out, which other processes may use as well.
///
/// # Errors
///
/// There is none, or it cannot be used.
pub(crate) async fn shared(settings: &Settings) -> anyhow::Result<Arc<dyn Journal>> {
    let agent = agenthub_workflow::NAME;
    if let Some(database) = &settings.journal {
        return database::open(database).await;
    }
    let Some(data) = settings.data() else {
        let why = "a run that is to be carried out is in a data folder: leave out --ephemeral";
        return Err(WrongUsage(why.to_owned()).into());
    };
    let path = data.join(FOLDER).join(format!("{}.db", slug(agent)));
    if !path.is_file() {
        return Err(WrongUsage(format!(
            "there are no runs of {agent} in the data folder {}: name another one with --data DIR",
            data.display()
        ))
        .into());
    }
    let opening = tokio::task::spawn_blocking(move || {
        let journal = SqliteJournal::open(&path);
        journal.with_context(|| format!("cannot use the runs in {}", path.display()))
    });
    Ok(Arc::new(opening.await??))
}

/// Another process has the files of an agent.
#[derive(Debug, thiserror::Error)]
#[error(
    "{agent} runs already with the data folder {data}: stop that process, or give this one a folder of its own (--data DIR) or none \
     (--ephemeral)"
)]
pub(crate) struct InUse {
    agent: String,
    data: String,
}

/// Takes an agent's files, and says which instance uses them: what the lock file holds, which is made where it is missing.
fn lock(folder: &Path, agent: &str) -> anyhow::Result<(String, File)> {
    let path = folder.join(format!("{}.lock", slug(agent)));
    let problem = || format!("cannot use {}", path.display());
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .with_context(problem)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let data = folder.parent().unwrap_or(folder).display().to_string();
            let agent = agent.to_owned();
            return Err(InUse { agent, data }.into());
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(problem),
    }
    let mut found = String::new();
    // What cannot be read is written anew.
    let _ = file.read_to_string(&mut found);
    let found = found.trim();
    if Uuid::parse_str(found.rsplit('.').next().unwrap_or_default()).is_ok() {
        return Ok((found.to_owned(), file));
    }
    let instance = instance(agent);
    file.rewind()
        .and_then(|()| file.set_len(0))
        .and_then(|()| file.write_all(instance.as_bytes()))
        .and_then(|()| file.sync_all())
        .with_context(problem)?;
    Ok((instance, file))
}

fn instance(agent: &str) -> String {
    format!("{}.{}", slug(agent), Uuid::new_v4())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_has_one_process_at_a_time_and_always_the_same_instance() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keep = KeepRuns::default();
        let open = || Kept::open(Some(folder.path()), &keep, "An Agent");
        let first = open().await.expect("nobody uses it");
        let refused = open().await.expect_err("the first one uses it").to_string();
        for part in ["An Agent", "--data", &folder.path().display().to_string()] {
            assert!(refused.contains(part), "{part} in {refused}");
        }
        let other = Kept::open(Some(folder.path()), &KeepRuns::default(), "another").await;
        assert!(other.is_ok(), "agents do not share their files: {other:?}");

        // Hosts that share a database have folders of their own, and so each reads results as a group of its own.
        let elsewhere = tempfile::tempdir().expect("a temporary folder");
        let host = Kept::open(Some(elsewhere.path()), &keep, "An Agent").await;
        assert_ne!(host.expect("nobody uses it").instance, first.instance);

        let instance = first.instance.clone();
        drop(first);
        let again = open().await.expect("the first one is gone");
        assert_eq!(again.instance, instance);
    }

    #[tokio::test]
    async fn what_was_half_written_is_written_anew() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join(FOLDER)).expect("a folder");
        fs::write(folder.path().join("runs/a.lock"), "a.0123").expect("a file");
        let first = Kept::open(Some(folder.path()), &KeepRuns::default(), "a")
            .await
            .expect("free");
        let written = fs::read_to_string(folder.path().join("runs/a.lock")).expect("a file");
        assert_eq!(written, first.instance);
        assert_ne!(written, "a.0123");
    }

    #[tokio::test]
    async fn without_a_folder_every_process_is_another_instance() {
        let one = Kept::open(None, &KeepRuns::default(), "a")
            .await
            .expect("nothing is opened");
        let two = Kept::open(None, &KeepRuns::default(), "a")
            .await
            .expect("nothing is opened");
        assert!(one.journal.is_none());
        assert_ne!(one.instance, two.instance);
    }
}
