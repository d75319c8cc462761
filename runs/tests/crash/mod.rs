//! Crash tests: a process is killed at every write of its journal, and restarted.
//!
//! The child is this test program itself (`child`). It drives one of the example runs on a journal in a file and kills
//! itself right before or right after the k-th write; effects append a line to a file before they return.

mod child;
mod examples;
mod traces;

use std::{
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use examples::EXAMPLES;
use traces::Trace;

/// Moment of the kill, relative to the write.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Before,
    After,
}

/// Runs the child in this folder, and kills it at this point.
fn run(folder: &Path, example: &str, kill: Option<(u64, Moment)>) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", "crash::child::drives_an_example", "--nocapture"])
        .env(child::FOLDER, folder)
        .env(child::EXAMPLE, example)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some((write, moment)) = kill {
        command.env(child::KILL, format!("{write} {moment:?}"));
    }
    command.status().expect("it starts")
}

/// Kills the child, restarts it, and returns the traces of both.
fn crashed(example: &str, write: u64, moment: Moment) -> (Trace, Trace) {
    let folder = tempfile::tempdir().expect("a folder");
    let killed = run(folder.path(), example, Some((write, moment)));
    let before = Trace::read(folder.path());
    // What comes at the same time is written together, so there may be fewer writes than in another run.
    let is_over = killed.success() && before.writes < write;
    assert!(
        killed.signal() == Some(9) || is_over,
        "{example} {write} {moment:?}: {killed}"
    );
    let ended = run(folder.path(), example, None);
    assert!(ended.success(), "{example} {write} {moment:?}: {ended}");
    (before, Trace::read(folder.path()))
}

/// spec: design 8, issue "Crash anywhere": the outcome is the same, no completed step runs again, an answered model
/// turn is not asked again, each step in flight is dispatched at most once more under the same ids and byte for byte.
#[test]
fn a_run_ends_the_same_wherever_its_process_is_killed() {
    let work = Mutex::new(Vec::new());
    let mut whole = Vec::new();
    for example in EXAMPLES {
        let folder = tempfile::tempdir().expect("a folder");
        let ended = run(folder.path(), example, None);
        assert!(ended.success(), "{example}: {ended}");
        let trace = Trace::read(folder.path());
        assert!(trace.writes > 4, "{example} writes {} times", trace.writes);
        for write in 1..=trace.writes {
            for moment in [Moment::Before, Moment::After] {
                let mut work = work.lock().expect("nobody panicked");
                work.push((whole.len(), *example, write, moment));
            }
        }
        whole.push(trace);
    }
    let taken_up = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some((number, example, write, moment)) =
                        work.lock().expect("nobody panicked").pop()
                    else {
                        return;
                    };
                    let (before, after) = crashed(example, write, moment);
                    let place = format!("{example}, {moment:?} write {write}");
                    let again = after.check(&whole[number], &before, &place);
                    taken_up.fetch_add(again, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(
        taken_up.into_inner() > 10,
        "steps were in flight when the process died"
    );
}
