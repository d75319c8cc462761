//! Tasks elsewhere by the tasks of the hub that they are for, over restarts: a message that was handed on is not handed on again.
//!
//! One file, a line for each change. The last line of a process that was killed may be torn; it is left out.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::replace_file::replace_file;

/// Name of the file in the data folder.
const FILE: &str = "outside-tasks.jsonl";

/// Retention of tasks that nobody has said to have ended.
const KEEP: Duration = Duration::from_secs(30 * 24 * 3600);

/// Lines of forgotten tasks after which the file is written anew.
const MAX_WASTE: usize = 10_000;

/// A task elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoteTask {
    /// Its id there; empty if its message was under way as the task was cancelled.
    pub(super) id: String,
    /// Its context there.
    pub(super) context_id: String,
    /// The last message that was handed on.
    pub(super) message_id: String,
    /// Agent that it is with, as the hub knows it; empty in files of older hubs.
    #[serde(default)]
    pub(super) agent: String,
    /// Message that the handler was called with which handed it on.
    #[serde(default)]
    pub(super) handled: String,
    /// Answers to questions of the agent that this handler has handed on.
    #[serde(default)]
    pub(super) answers: u32,
    /// Time of that, in seconds since 1970.
    pub(super) at: u64,
}

#[derive(Serialize, Deserialize)]
struct Line {
    task: String,
    /// The task elsewhere; `None` once it has ended.
    handed: Option<RemoteTask>,
}

/// The tasks, and where they are kept.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    folder: Option<PathBuf>,
    file: Option<File>,
    known: HashMap<String, RemoteTask>,
    /// Lines of the file that say nothing any more.
    waste: usize,
    /// The last line may have been written in part.
    is_torn: bool,
}

impl Tasks {
    /// Reads the file, and writes it anew without what is over.
    ///
    /// # Errors
    ///
    /// It cannot be read or written.
    pub(super) fn open(folder: Option<&Path>) -> io::Result<Self> {
        let mut known = HashMap::new();
        if let Some(folder) = folder {
            let text = match fs::read(folder.join(FILE)) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                Err(error) => return Err(error),
            };
            for line in text.split(|byte| *byte == b'\n') {
                let Ok(line) = serde_json::from_slice::<Line>(line) else {
                    continue;
                };
                match line.handed {
                    Some(handed) => known.insert(line.task, handed),
                    None => known.remove(&line.task),
                };
            }
        }
        let mut tasks = Self {
            folder: folder.map(Path::to_owned),
            file: None,
            known,
            waste: 0,
            is_torn: false,
        };
        tasks.rewrite()?;
        Ok(tasks)
    }

    pub(super) fn get(&self, task: &str) -> Option<RemoteTask> {
        self.known.get(task).cloned()
    }

    /// The tasks with an agent, in the order of the hub's ids of them.
    pub(super) fn of(&self, agent: &str) -> Vec<(String, RemoteTask)> {
        let of = self.known.iter().filter(|(_, task)| task.agent == agent);
        let mut of: Vec<_> = of.map(|(id, task)| (id.clone(), task.clone())).collect();
        of.sort_by(|(one, _), (other, _)| one.cmp(other));
        of
    }

    /// Notes that a message was handed on. Once this returns, it is safe.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(super) fn hand(&mut self, task: &str, handed: RemoteTask) -> io::Result<()> {
        self.write(&Line {
            task: task.to_owned(),
            handed: Some(handed.clone()),
        })?;
        if let Some(file) = &self.file {
            file.sync_data()?;
        }
        if self.known.insert(task.to_owned(), handed).is_some() {
            self.waste += 1;
        }
        Ok(())
    }

    /// Forgets a task that has ended. A crash may bring it back, which does no harm.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(super) fn forget(&mut self, task: &str) -> io::Result<()> {
        if self.known.remove(task).is_none() {
            return Ok(());
        }
        self.waste += 1;
        if self.waste > MAX_WASTE {
            return self.rewrite();
        }
        self.write(&Line {
            task: task.to_owned(),
            handed: None,
        })
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut bytes = line.to_bytes()?;
        if self.is_torn {
            // What is there of the last one is a line of its own, which nobody can read.
            bytes.insert(0, b'\n');
        }
        self.is_torn = true;
        file.write_all(&bytes)?;
        self.is_torn = false;
        Ok(())
    }

    /// Writes the file anew, without what is over. If it cannot be written, the one that is there goes on.
    fn rewrite(&mut self) -> io::Result<()> {
        let oldest = now().saturating_sub(KEEP.as_secs());
        self.known.retain(|_, handed| handed.at >= oldest);
        if let Some(folder) = &self.folder {
            let mut bytes = Vec::new();
            for (task, handed) in &self.known {
                let line = Line {
                    task: task.clone(),
                    handed: Some(handed.clone()),
                };
                bytes.extend(line.to_bytes()?);
            }
            self.file = Some(replace_file(folder, FILE, &bytes)?);
            self.is_torn = false;
        }
        self.waste = 0;
        Ok(())
    }
}

impl Line {
    fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed(id: &str, at: u64) -> RemoteTask {
        RemoteTask {
            id: id.into(),
            context_id: "c".into(),
            message_id: "m".into(),
            agent: "far".into(),
            at,
            ..RemoteTask::default()
        }
    }

    #[test]
    fn tasks_are_known_over_restarts_until_they_have_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || Tasks::open(Some(folder.path())).expect("it is read");
        let mut tasks = open();
        for id in ["a", "b"] {
            tasks
                .hand(id, handed("there", now()))
                .expect("it is written");
        }
        tasks
            .hand("b", handed("elsewhere", now()))
            .expect("it is written");
        tasks.hand("old", handed("x", 1)).expect("it is written");
        tasks.forget("a").expect("it is written");
        drop(tasks);
        // A process was killed while it wrote.
        let path = folder.path().join(FILE);
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .expect("it is there");
        file.write_all(b"{\"task\": \"c\", \"han")
            .expect("it is written");
        for _ in 0..2 {
            let tasks = open();
            assert_eq!(tasks.get("a"), None);
            assert_eq!(tasks.get("b").map(|h| h.id), Some("elsewhere".into()));
            assert_eq!(tasks.get("old"), None);
        }
        let lines = fs::read_to_string(&path).expect("text").lines().count();
        assert_eq!(lines, 1);
    }

    #[test]
    fn a_file_that_cannot_be_replaced_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || Tasks::open(Some(folder.path())).expect("it is read");
        let mut tasks = open();
        tasks.hand("a", handed("there", now())).expect("written");
        let beside = folder.path().join(format!("{FILE}.new"));
        fs::create_dir(&beside).expect("it is in the way");
        assert!(tasks.rewrite().is_err());
        assert!(tasks.get("a").is_some());
        tasks.hand("b", handed("there", now())).expect("written");
        drop(tasks);
        fs::remove_dir(&beside).expect("it is there");
        let mut tasks = open();
        assert!(tasks.get("a").is_some() && tasks.get("b").is_some());
        tasks.rewrite().expect("it is written");
        tasks.hand("c", handed("there", now())).expect("written");
        assert!(open().get("c").is_some());
    }

    #[test]
    fn a_line_that_was_written_in_part_takes_none_of_the_next_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || Tasks::open(Some(folder.path())).expect("it is read");
        let mut tasks = open();
        tasks.hand("a", handed("there", now())).expect("written");
        let path = folder.path().join(FILE);
        let full = File::open(&path).expect("it is there");
        let file = tasks.file.replace(full);
        // As on a disk that was full in the middle of it.
        tasks
            .hand("b", handed("there", now()))
            .expect_err("no room");
        tasks.file = file;
        let file = tasks.file.as_mut().expect("there is one");
        file.write_all(b"{\"task\": \"b\", \"han").expect("written");
        tasks.hand("c", handed("there", now())).expect("written");
        let tasks = open();
        let known = ["a", "b", "c"].map(|task| tasks.get(task).is_some());
        assert_eq!(known, [true, false, true]);
    }

    #[test]
    fn lines_that_say_nothing_any_more_are_left_out_in_time() {
        let mut tasks = Tasks::open(None).expect("nothing is read");
        tasks.hand("old", handed("x", 1)).expect("kept");
        for _ in 0..=MAX_WASTE {
            tasks.hand("a", handed("there", now())).expect("kept");
        }
        assert_eq!(tasks.waste, MAX_WASTE);
        tasks.forget("a").expect("kept");
        assert_eq!((tasks.known.len(), tasks.waste), (0, 0));
    }
}
