//! The program of a server: started with little of the environment, in a process group of its own, and ended for good.

use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::Signal;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::task::TaskTracker;

use crate::Group;

/// Variables of the environment that a program sees, besides those that the settings name.
const ENVIRONMENT: [&str; 8] = [
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ",
];

/// The end of what a program says on stderr that is told when it fails, in bytes.
const MAX_ERROR: usize = 400;

/// The most of one line of stderr that is logged, in bytes.
const MAX_LINE: usize = 1024;

/// The most that is logged of one program, in bytes.
const MAX_LOGGED: usize = 1024 * 1024;

/// Time for a program whose stdin is closed to end by itself, and then once more after SIGTERM.
const GRACE: Duration = Duration::from_millis(1_500);

/// Time for which the output of an ended program is read.
const READING: Duration = Duration::from_millis(200);

/// A program that runs. Dropping it kills whatever it started.
#[derive(Debug)]
pub(super) struct Program {
    name: String,
    child: Child,
    group: Group,
    said: Said,
    log: JoinHandle<()>,
}

/// The end of what a program said on stderr.
#[derive(Clone, Debug, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Program {
    /// Starts a program for a server. When this process is killed, the program's stdin is closed, at which a server ends.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub(super) fn start(
        server: &str,
        line: &[String],
        folder: Option<&Path>,
        environment: &[String],
        tasks: &TaskTracker,
    ) -> Result<(Self, ChildStdout, ChildStdin), String> {
        let Some((name, arguments)) = line.split_first() else {
            return Err("its command is empty".to_owned());
        };
        let mut command = Command::new(program(name, folder));
        command
            .args(arguments)
            .env_clear()
            .envs(passed_on(environment))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        let mut child = command
            .spawn()
            .map_err(|error| cannot_start(name, &error))?;
        let group = Group::of(&child);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(format!("{name} has no stdin, stdout or stderr"));
        };
        let said = Said::default();
        let log = tasks.spawn(log(server.to_owned(), stderr, said.clone()));
        let started = Self {
            name: name.clone(),
            child,
            group,
            said,
            log,
        };
        Ok((started, stdout, stdin))
    }

    /// Waits until it has ended. Cancel-safe.
    pub(super) async fn ended(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => format!("{} {}", self.name, how(status)),
            Err(error) => format!("{} is out of sight: {error}", self.name),
        }
    }

    /// The end of what it said on stderr before it ended, on one line.
    pub(super) async fn said(&mut self) -> String {
        // Something that it left running may hold stderr open.
        let _ = timeout(READING, &mut self.log).await;
        let said = self.said.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Ends it, now that its stdin is closed, with everything that it has started: by itself, else with SIGTERM, else with SIGKILL.
    pub(super) async fn end(mut self) {
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.group.signal(Signal::TERM);
            if timeout(GRACE, self.child.wait()).await.is_err() {
                self.group.signal(Signal::KILL);
                // Nothing survives that, so this does not take long.
                let _ = timeout(GRACE, self.child.wait()).await;
            }
        }
    }
}

/// The program, where it is named by its path; a bare name is looked for in `PATH`.
fn program(name: &str, folder: Option<&Path>) -> PathBuf {
    let program = Path::new(name);
    match (program.components().count(), folder) {
        (0 | 1, _) | (_, None) => program.to_owned(),
        (_, Some(folder)) => folder.join(program),
    }
}

fn passed_on(environment: &[String]) -> impl Iterator<Item = (String, std::ffi::OsString)> {
    let named = environment.iter().map(String::as_str);
    let names = ENVIRONMENT.into_iter().chain(named);
    names.filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?)))
}

fn cannot_start(name: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!(
                "there is no program {name} on this machine: install it, or correct its command"
            )
        }
        _ => format!("cannot start {name}: {error}"),
    }
}

fn how(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "did not end well".to_owned(),
    }
}

/// Puts what a program says on stderr into the log, and keeps the end of it.
async fn log(server: String, mut stderr: ChildStderr, said: Said) {
    let mut line = Vec::new();
    let mut left = MAX_LOGGED;
    while let Some(bytes) = some(&mut stderr).await {
        said.add(&bytes);
        for byte in bytes {
            match byte {
                b'\n' => logged(&server, &mut line, &mut left),
                byte if line.len() < MAX_LINE => line.push(byte),
                _ => {}
            }
        }
    }
    logged(&server, &mut line, &mut left);
}

impl Said {
    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let too_many = kept.len().saturating_sub(MAX_ERROR);
        kept.drain(..too_many);
    }
}

async fn some(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 4 * 1024];
    let count = stream.read(&mut buffer).await.ok().filter(|n| *n > 0)?;
    buffer.truncate(count);
    Some(buffer)
}

fn logged(server: &str, line: &mut Vec<u8>, left: &mut usize) {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end();
    match left.checked_sub(text.len()) {
        _ if text.is_empty() => {}
        Some(rest) => {
            *left = rest;
            let text = agenthub_sdk::internal::redacted(text);
            tracing::debug!(server, "the MCP server says: {text}");
        }
        None if *left > 0 => {
            *left = 0;
            tracing::debug!(server, "what the MCP server says besides is not logged");
        }
        None => {}
    }
    line.clear();
}
