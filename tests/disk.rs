//! A hub on a full disk, and on a failing one.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use nix::sys::signal::Signal;

use crate::harness::{Process, System, eventually, free_address, get, http_address};

/// A small file system in memory, unmounted on drop.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` if mounting is not permitted.
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=48m", "tmpfs"])
            .arg(at)
            .output();
        if mounted.is_ok_and(|m| m.status.success()) {
            return Some(Self(at.to_owned()));
        }
        eprintln!("NOT TESTED: what a hub does on a full disk, since nothing can be mounted here");
        None
    }

    /// Fills the file system.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = fs::File::create(&path).expect("a file");
        let mut size = 1024 * 1024;
        while size > 0 {
            if file.write_all(&vec![1; size]).is_err() {
                size /= 2;
            }
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Processes that still use it keep it until then.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn task<'a>(id: &'a str, text: &'a str) -> [&'a str; 8] {
    [
        "publish",
        "--to",
        "agent_echo",
        "--task-type",
        "echo",
        "--task",
        id,
        text,
    ]
}

fn state(system: &System, id: &str) -> String {
    let task = system.json(&["tasks", "show", id, "--json"]).remove(0);
    task["status"]["state"].to_string()
}

/// Design part 6, promise 11: writes are refused with an error, reads continue; with free space again, so do writes.
#[test]
fn a_full_disk_is_said_and_survived() {
    let system = System::bare(free_address());
    let Some(disk) = SmallDisk::mount(&system.folder().join(".agenthub")) else {
        return;
    };
    let broker = system.begin_durable_broker_in(&[]);
    let http = http_address(&broker);
    drop(system.start_echo("agent_echo"));
    assert_eq!(system.run(&task("before", "one"), "").code, Some(0));

    let filler = disk.fill();
    // Random, because the log compresses.
    let letters = std::iter::repeat_with(fastrand::alphanumeric);
    let long: String = letters.take(100_000).collect();
    let mut accepted = vec!["before".to_owned()];
    let refused = eventually("a publish is refused", || {
        let id = format!("t{}", accepted.len());
        let published = system.run(&task(&id, &long), "");
        if published.code == Some(0) {
            accepted.push(id);
            return None;
        }
        Some(published)
    });
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("disk"), "{refused:?}");
    assert!(!system.folder().join(".agenthub/reserve").exists());
    assert!(
        state(&system, "before").contains("SUBMITTED"),
        "reads go on"
    );
    let ready = get(&http, "/ready");
    assert!(ready.starts_with("HTTP/1.1 503"), "{ready}");
    assert!(
        ready.contains("the disk of the hub's log is full"),
        "{ready}"
    );
    let metrics = get(&http, "/metrics");
    assert!(metrics.contains("agenthub_log_accepts 0"), "{metrics}");

    fs::remove_file(filler).expect("it is there");
    eventually("publishes are accepted again", || {
        (system.run(&task("after", "two"), "").code == Some(0)).then_some(())
    });
    accepted.push("after".to_owned());
    assert!(get(&http, "/ready").starts_with("HTTP/1.1 200"));
    broker.kill();
    let _broker = system.start_durable_broker();
    for id in &accepted {
        assert!(state(&system, id).contains("SUBMITTED"), "{id}");
    }
    let _echo = system.start_echo("agent_echo");
    eventually("what waited is done", || {
        state(&system, "after").contains("COMPLETED").then_some(())
    });
}

/// promise 11
#[test]
fn what_was_accepted_is_done_on_a_full_disk() {
    let system = System::bare(free_address());
    let Some(disk) = SmallDisk::mount(&system.folder().join(".agenthub")) else {
        return;
    };
    let _broker = system.start_durable_broker();
    drop(system.start_echo("agent_echo"));
    let accepted = ["one", "two", "three"];
    for id in accepted {
        assert_eq!(system.run(&task(id, id), "").code, Some(0));
    }
    disk.fill();
    let letters = std::iter::repeat_with(fastrand::alphanumeric);
    let long: String = letters.take(100_000).collect();
    eventually("a publish is refused", || {
        let published = system.run(&task("new", &long), "");
        (published.code == Some(1)).then_some(())
    });
    let _echo = system.start_echo("agent_echo");
    for id in accepted {
        eventually("it is done", || {
            state(&system, id).contains("COMPLETED").then_some(())
        });
    }
}

/// Replacement of the system's sync calls: they fail while a file of the first name exists, and block while one of the
/// second exists, beside which they leave a trace.
const FAULTY_SYNC: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int is_there(const char *flag) { return flag && !access(flag, F_OK); }
static int fails(void) {
    const char *stall = getenv("STALL_SYNC");
    if (is_there(stall)) {
        char trace[4096];
        snprintf(trace, sizeof trace, "%s.stalled", stall);
        close(open(trace, O_CREAT | O_WRONLY, 0600));
    }
    while (is_there(stall)) usleep(10000);
    if (!is_there(getenv("FAIL_SYNC"))) return 0;
    errno = EIO;
    return 1;
}
int fsync(int fd) { return fails() ? -1 : syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return fails() ? -1 : syscall(SYS_fdatasync, fd); }
"#;

/// A system whose hub uses the replaced sync calls.
struct FaultySync {
    system: System,
    library: PathBuf,
    fail: PathBuf,
    stall: PathBuf,
    stalled: PathBuf,
}

impl FaultySync {
    fn new() -> Self {
        let system = System::bare(free_address());
        let path = |name: &str| system.folder().join(name);
        let (source, library) = (path("sync.c"), path("sync.so"));
        fs::write(&source, FAULTY_SYNC).expect("it is written");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .status()
            .expect("there is a C compiler, as SQLite needs one");
        assert!(compiled.success());
        Self {
            library,
            fail: path("fail"),
            stall: path("stall"),
            stalled: path("stall.stalled"),
            system,
        }
    }

    fn environment(&self) -> [(&'static str, &PathBuf); 3] {
        [
            ("LD_PRELOAD", &self.library),
            ("FAIL_SYNC", &self.fail),
            ("STALL_SYNC", &self.stall),
        ]
    }

    /// Makes every sync block.
    fn stall(&self) {
        fs::write(&self.stall, "").expect("it is written");
    }

    /// Checks that the hub ends on a signal, though a sync in progress does not return.
    fn ends_stalled(&self, hub: Process) {
        eventually("a sync is under way", || {
            self.stalled.exists().then_some(())
        });
        hub.signal(Signal::SIGTERM);
        let ended = hub.wait();
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("did not end in time"), "{ended:?}");
        for trace in [&self.stall, &self.stalled] {
            fs::remove_file(trace).expect("it is there");
        }
    }
}

/// Design part 6, promise 11: after a failed fsync the hub stops, reports it, and has its state after a restart.
#[cfg(target_os = "linux")]
#[test]
fn a_failed_sync_ends_the_hub_and_loses_nothing() {
    let disk = FaultySync::new();
    let system = &disk.system;
    let broker = system.start_durable_broker_in(&disk.environment());
    assert_eq!(system.run(&task("before", "one"), "").code, Some(0));

    fs::write(&disk.fail, "").expect("it is written");
    let publisher = system.start(&task("unanswered", "two"));
    let ended = broker.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("the hub's log has failed"),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("disk"), "{ended:?}");

    fs::remove_file(&disk.fail).expect("it is there");
    let _broker = system.start_durable_broker();
    assert!(state(system, "before").contains("SUBMITTED"));
    let published = publisher.wait();
    assert_eq!(published.code, Some(0), "it was tried again: {published:?}");
    assert!(state(system, "unanswered").contains("SUBMITTED"));
}

/// Promise 12: neither while the hub serves nor while it starts.
#[cfg(target_os = "linux")]
#[test]
fn a_sync_that_does_not_come_back_keeps_nobody_from_leaving() {
    let disk = FaultySync::new();
    let system = &disk.system;
    let broker = system.start_durable_broker_in(&disk.environment());
    assert_eq!(system.run(&task("before", "one"), "").code, Some(0));
    broker.kill();
    disk.stall();
    disk.ends_stalled(system.begin_durable_broker_in(&disk.environment()));

    let broker = system.start_durable_broker_in(&disk.environment());
    disk.stall();
    let publisher = system.start(&task("unanswered", "two"));
    disk.ends_stalled(broker);
    let _broker = system.start_durable_broker();
    assert!(state(system, "before").contains("SUBMITTED"));
    let published = publisher.wait();
    assert_eq!(published.code, Some(0), "it was tried again: {published:?}");
    assert!(state(system, "unanswered").contains("SUBMITTED"));
}
