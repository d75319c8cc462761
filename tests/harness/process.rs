//! A process of the binary under test.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use super::{PATIENCE, within};

/// A running process, killed on drop.
pub(crate) struct Process {
    child: Child,
    name: String,
    lines: Receiver<String>,
    stderr: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Output lines of a program with `--json` that has done what these arguments say.
    pub(crate) fn json(&self, args: &[&str]) -> Vec<Value> {
        assert_eq!(self.code, Some(0), "{args:?}: {self:?}");
        let lines = self.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
            .collect()
    }
}

impl Process {
    /// Starts the binary in `folder`, with the hub's address as its only setting.
    pub(crate) fn start(folder: &Path, hub: &str, args: &[&str]) -> Self {
        Self::start_in(&[], folder, hub, args)
    }

    /// The same with additional environment variables.
    pub(crate) fn start_in(
        environment: &[(&str, &PathBuf)],
        folder: &Path,
        hub: &str,
        args: &[&str],
    ) -> Self {
        let command = Command::new(env!("CARGO_BIN_EXE_agenthub"));
        Self::spawn(command, environment, folder, hub, args)
    }

    /// Starts the binary in `folder` through another program, which executes it.
    pub(crate) fn start_beneath(
        program: &str,
        before: &[&str],
        folder: &Path,
        args: &[&str],
    ) -> Self {
        let mut command = Command::new(program);
        command.args(before).arg(env!("CARGO_BIN_EXE_agenthub"));
        Self::spawn(command, &[], folder, "", args)
    }

    /// Starts another program in `folder`.
    pub(crate) fn start_other(
        program: impl AsRef<OsStr>,
        folder: &Path,
        hub: &str,
        args: &[&str],
    ) -> Self {
        Self::spawn(Command::new(program), &[], folder, hub, args)
    }

    fn spawn(
        mut command: Command,
        environment: &[(&str, &PathBuf)],
        folder: &Path,
        hub: &str,
        args: &[&str],
    ) -> Self {
        remove_settings(&mut command);
        let mut child = command
            .args(args)
            .current_dir(folder)
            .env("AGENTHUB_HUB", hub)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stdout = child.stdout.take().expect("it is piped");
        let mut errors = child.stderr.take().expect("it is piped");
        let (tx, lines) = channel();
        let stderr = Arc::new(Mutex::new(String::new()));
        let into = stderr.clone();
        let readers = vec![
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if tx.send(line).is_err() {
                        return;
                    }
                }
            }),
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = errors.read(&mut buffer) {
                    into.lock()
                        .expect("no reader panics")
                        .push_str(&String::from_utf8_lossy(&buffer[..n]));
                }
            }),
        ];
        Self {
            child,
            name: format!("agenthub {}", args.join(" ")),
            lines,
            stderr,
            readers,
        }
    }

    /// The next output line.
    pub(crate) fn line(&self, what: &str) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            panic!(
                "`{}` did not print {what}; it said: {}",
                self.name,
                self.said()
            )
        })
    }

    /// The next output line that contains this text.
    pub(crate) fn line_with(&self, text: &str) -> String {
        loop {
            let line = self.line(&format!("a line with \"{text}\""));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// The next output line, if available.
    pub(crate) fn printed(&self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// The content of standard error so far.
    pub(crate) fn said(&self) -> String {
        self.stderr.lock().expect("no reader panics").clone()
    }

    /// Writes a line to its standard input.
    pub(crate) fn type_line(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("it is piped");
        writeln!(stdin, "{line}").expect("it reads");
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("it runs");
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was killed");
    }

    /// Writes this input and waits until it ends by itself.
    pub(crate) fn finish(self, input: &str) -> Finished {
        self.finish_within(PATIENCE, input)
    }

    /// The same for a program that takes longer than others.
    pub(crate) fn finish_within(mut self, patience: Duration, input: &str) -> Finished {
        if let Some(mut stdin) = self.child.stdin.take() {
            // A program that reads no input may have ended already.
            let _ = stdin.write_all(input.as_bytes());
        }
        self.ended(patience)
    }

    /// Waits until it ends by itself.
    pub(crate) fn wait(self) -> Finished {
        self.ended(PATIENCE)
    }

    fn ended(mut self, patience: Duration) -> Finished {
        let name = self.name.clone();
        let status = within(patience, &format!("`{name}` has ended"), || {
            self.child.try_wait().expect("it was started")
        });
        // What it has started may have its output, too.
        within(patience, &format!("all of `{name}` has ended"), || {
            self.readers
                .iter()
                .all(JoinHandle::is_finished)
                .then_some(())
        });
        for reader in self.readers.drain(..) {
            reader.join().expect("readers do not panic");
        }
        let stdout: Vec<String> = self.lines.try_iter().collect();
        Finished {
            code: status.code(),
            stdout: stdout.join("\n"),
            stderr: self.said(),
        }
    }
}

/// Removes from the environment of a program what this machine sets for its own. Proxies are no way to a hub on this machine.
pub(crate) fn remove_settings(command: &mut Command) {
    for (key, _) in std::env::vars() {
        if key.starts_with("AGENTHUB_")
            || key.starts_with("GCP_")
            || key.starts_with("GOOGLE_")
            || key.starts_with("OTEL_")
            || key.starts_with("VERTEX_")
            || key.to_ascii_uppercase().ends_with("_PROXY")
            || key == "RUST_LOG"
        {
            command.env_remove(key);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
