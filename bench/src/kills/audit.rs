//! Audit at the end: calls of the tool, open tasks and runs, and orphaned programs.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::Path,
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;

use super::cast::Cast;

/// States of open tasks.
const OPEN_TASKS: [&str; 3] = ["submitted", "working", "input-required"];
const OPEN_RUNS: [&str; 4] = ["submitted", "working", "awaiting-approval", "cancelling"];

/// Time that a program may outlive its parent.
const OUTLIVES: Duration = Duration::from_secs(5);

/// Calls of the tool.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Calls begun.
    pub(crate) begun: usize,
    /// Calls begun again under their key, after the caller was killed.
    pub(crate) again: usize,
    /// Words printed under more than one key: the same work, requested twice.
    pub(crate) under_two_keys: Vec<String>,
}

impl Calls {
    /// Parses the tool's notes: a key and a word per line.
    pub(crate) fn of(noted: &str) -> Self {
        let mut keys: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (key, word) in noted.lines().filter_map(|line| line.split_once(' ')) {
            *keys.entry(word).or_default().entry(key).or_default() += 1;
        }
        let counts = || keys.values().flat_map(BTreeMap::values);
        let doubled = keys.iter().filter(|(_, keys)| keys.len() > 1);
        Self {
            begun: counts().sum(),
            again: counts().map(|count| count - 1).sum(),
            under_two_keys: doubled.map(|(word, _)| (*word).to_owned()).collect(),
        }
    }

    /// The calls noted in this folder.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self::of(&fs::read_to_string(folder.join("press.begun")).unwrap_or_default())
    }
}

/// Descriptions of open tasks and runs.
///
/// # Errors
///
/// The hub or Cortex cannot be queried.
pub(crate) async fn open(cast: &Cast) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let mut tasks = Vec::new();
    for state in OPEN_TASKS {
        let args = [
            "tasks", "list", "--state", state, "--json", "--first", "100",
        ];
        let listed = cast.printed(&args).await?;
        tasks.extend(listed.iter().map(|line| shown(line, "/status/state")));
    }
    let cortex = cast.cortex_url();
    let mut runs = Vec::new();
    for state in OPEN_RUNS {
        let args = [
            "runs", "list", "--cortex", &cortex, "--all", "--state", state, "--json", "--first",
            "100",
        ];
        let listed = cast.printed(&args).await?;
        runs.extend(listed.iter().map(|line| shown(line, "/state")));
    }
    Ok((tasks, runs))
}

fn shown(line: &str, state: &str) -> String {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    let text = |at: &str| value.pointer(at).and_then(Value::as_str).unwrap_or("?");
    format!("{} ({})", text("/id"), text(state))
}

/// Programs in the folder that no process of the cast has started, or whose parent is gone.
#[derive(Debug, Default)]
pub(crate) struct Orphans {
    /// Time since which each is an orphan.
    since: HashMap<(u32, String), Instant>,
    /// Descriptions of those that were orphans for too long.
    pub(crate) left: BTreeSet<String>,
}

impl Orphans {
    /// Looks for orphans. Works on Linux only.
    pub(crate) fn look(&mut self, folder: &Path, living: &[u32]) {
        let processes = processes();
        let parents: HashMap<u32, u32> = processes.iter().map(|p| (p.id, p.parent)).collect();
        let is_owned = |id: u32| {
            let mut owner = Some(id);
            // Bounded: processes come and go while the parents are read.
            for _ in 0..parents.len() {
                match owner {
                    Some(owner) if living.contains(&owner) => return true,
                    Some(at) => owner = parents.get(&at).copied(),
                    None => return false,
                }
            }
            false
        };
        let here = processes.iter().filter(|p| p.folder.starts_with(folder));
        let lost = here.filter(|p| !is_owned(p.id));
        let lost: Vec<(u32, String)> = lost.map(|p| (p.id, p.command.clone())).collect();
        self.since.retain(|process, _| lost.contains(process));
        for process in lost {
            let since = *self
                .since
                .entry(process.clone())
                .or_insert_with(Instant::now);
            if since.elapsed() > OUTLIVES {
                self.left.insert(format!("{} {}", process.0, process.1));
            }
        }
    }

    /// True if some orphans may still end in time.
    pub(crate) fn is_waiting(&self) -> bool {
        self.since.values().any(|since| since.elapsed() <= OUTLIVES)
    }
}

/// A process as the operating system shows it.
struct ProcessInfo {
    id: u32,
    parent: u32,
    folder: std::path::PathBuf,
    command: String,
}

fn processes() -> Vec<ProcessInfo> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(seen).collect()
}

fn seen(id: u32) -> Option<ProcessInfo> {
    let of = |what: &str| format!("/proc/{id}/{what}");
    let status = fs::read_to_string(of("status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    // A zombie has ended.
    if field("State:")?.trim().starts_with('Z') {
        return None;
    }
    let command = fs::read(of("cmdline")).ok()?;
    Some(ProcessInfo {
        id,
        parent: field("PPid:")?.trim().parse().ok()?,
        folder: fs::read_link(of("cwd")).ok()?,
        command: String::from_utf8_lossy(&command).replace('\0', " "),
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_call_again_is_told_from_the_same_work_asked_for_twice() {
        let noted = "k1 w-1\nk2 w-2\nk1 w-1\nk3 w-2\ntorn";
        let expected = Calls {
            begun: 4,
            again: 1,
            under_two_keys: vec!["w-2".to_owned()],
        };
        assert_eq!(Calls::of(noted), expected);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_without_an_owner_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = Command::new("sleep")
            .arg("60")
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut orphans = Orphans::default();
        let folder = folder.path().canonicalize().expect("it is there");
        orphans.look(&folder, &[child.id()]);
        assert!(!orphans.is_waiting(), "its owner lives: {orphans:?}");
        orphans.look(&folder, &[]);
        assert!(orphans.is_waiting(), "{orphans:?}");
        for since in orphans.since.values_mut() {
            *since -= OUTLIVES * 2;
        }
        orphans.look(&folder, &[]);
        assert_eq!(orphans.left.len(), 1, "{orphans:?}");
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
}
