//! The processes of a program that was started: it leads a group of its own, which ends with it, and with the process that started it.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    sync::{Mutex, OnceLock, PoisonError},
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// Starts the guard, and gives the end of its stdin.
type Start = fn() -> io::Result<Box<dyn Write + Send>>;

/// Command of the guard; it is started when the first group begins.
static START: OnceLock<Start> = OnceLock::new();

/// Pipe by which the guard is told of groups; none where it could not be started.
static GUARD: OnceLock<Option<Mutex<Box<dyn Write + Send>>>> = OnceLock::new();

/// A process group, which is killed when this is dropped; where there is a [guard](guarded_by), also when this process is killed.
#[derive(Debug)]
pub struct Group(Option<Pid>);

impl Group {
    /// The group that this program leads: one that was started with `process_group(0)`.
    pub fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = id.and_then(Pid::from_raw);
        if let Some(group) = group {
            tell('+', group);
        }
        Self(group)
    }

    /// Sends a signal to each process of the group.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // It may be gone already.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(group) = self.0 {
            tell('-', group);
        }
    }
}

/// Has groups guarded by a process that runs [`guard`] and is started so with the first of them. The first call counts.
pub fn guarded_by(start: Start) {
    // An error says that there is one.
    let _ = START.set(start);
}

fn tell(what: char, group: Pid) {
    let Some(start) = START.get() else {
        return;
    };
    let guard = GUARD.get_or_init(|| match start() {
        Ok(stdin) => Some(Mutex::new(stdin)),
        Err(error) => {
            tracing::warn!(%error, "if this process is killed, the programs that it started run on");
            None
        }
    });
    if let Some(guard) = guard {
        let mut stdin = guard.lock().unwrap_or_else(PoisonError::into_inner);
        let line = format!("{what}{}\n", group.as_raw_nonzero());
        if let Err(error) = stdin.write_all(line.as_bytes()) {
            tracing::debug!(%error, "the guard is gone");
        }
    }
}

/// Reads which groups there are, until the process that says so is gone; then it kills those that are left.
pub fn guard(told: impl Read) {
    let mut groups = Vec::new();
    for line in BufReader::new(told).lines().map_while(Result::ok) {
        let (what, id) = line.split_at(line.len().min(1));
        let Some(group) = id.parse().ok().and_then(Pid::from_raw) else {
            continue;
        };
        match what {
            "+" => groups.push(group),
            _ => groups.retain(|g| *g != group),
        }
    }
    for group in groups {
        // It may be gone already.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use tokio::process::Command;

    use super::*;

    #[tokio::test]
    async fn the_guard_kills_what_is_left_and_nothing_else() {
        let start = || {
            let mut sleep = Command::new("sleep");
            sleep.arg("60").process_group(0).kill_on_drop(true);
            sleep.spawn().expect("there is sleep")
        };
        let (mut left, mut over) = (start(), start());
        let id = |child: &Child| child.id().expect("it runs");
        let told = format!("+{}\n+{}\nnonsense\n-{}\n", id(&over), id(&left), id(&over));
        guard(told.as_bytes());
        let ended = left.wait().await.expect("it ends");
        assert_eq!(ended.signal(), Some(9));
        assert_eq!(over.try_wait().expect("it is ours"), None);
    }
}
