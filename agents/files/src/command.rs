//! A tool that is a program: the input on its stdin, the result on its stdout.

use std::{
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use agenthub_mcp::Group;
use agenthub_sdk::{Failure, ToolContext};
use rustix::process::Signal;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process,
    time::{sleep, timeout},
};

/// Variables of the agent's environment that a program sees, besides those that its file names.
const ENVIRONMENT: [&str; 8] = [
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ",
];

/// The most of a result that is read, in bytes. Of a longer one the beginning is told, and how much is left out.
const MAX_OUTPUT: usize = 256 * 1024;

/// The beginning that is told of a longer one, in bytes: less than what a model is told of any result.
const MAX_BEGINNING: usize = 60 * 1024;

/// The end of what a program says on stderr that is told when it fails, in bytes: as much as a task's status shows.
const MAX_ERROR: usize = 400;

/// Time for a program to end that is told to, before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// A program and how it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// The program and its arguments.
    pub(crate) line: Vec<String>,
    /// Working folder, in which a relative path of the program begins.
    pub(crate) folder: PathBuf,
    /// Further variables that are passed on.
    pub(crate) environment: Vec<String>,
    /// Its deadline.
    pub(crate) timeout: Duration,
}

impl Command {
    /// The program, where it is named by its path.
    pub(crate) fn program(&self) -> PathBuf {
        let program = self.line.first().map(Path::new).unwrap_or(Path::new(""));
        match program.components().count() {
            0 | 1 => program.to_owned(),
            _ => self.folder.join(program),
        }
    }

    /// True if there is such a program.
    pub(crate) fn is_there(&self) -> bool {
        let program = self.program();
        let is_bare = program.components().count() == 1 && !program.is_absolute();
        let paths = std::env::var_os("PATH").unwrap_or_default();
        match is_bare {
            true => std::env::split_paths(&paths).any(|path| path.join(&program).is_file()),
            false => program.is_file(),
        }
    }

    /// Runs it for a call of the tool. The call's key is in `AGENTHUB_IDEMPOTENCY_KEY`, so that what must not happen twice can be told
    /// from a second call; its task and conversation are in `AGENTHUB_TASK_ID` and `AGENTHUB_CONTEXT_ID`.
    ///
    /// # Errors
    ///
    /// It cannot be started, takes too long, or ends with anything but 0; with the end of what it says on stderr.
    pub(crate) async fn call(&self, context: ToolContext, input: Value) -> Result<Value, Failure> {
        let variables = [
            ("AGENTHUB_IDEMPOTENCY_KEY", context.idempotency_key()),
            ("AGENTHUB_TASK_ID", context.task_id().to_owned()),
            ("AGENTHUB_CONTEXT_ID", context.context_id().to_owned()),
        ];
        self.run(&variables, &input, context.cancelled()).await
    }

    /// Runs it until it ends, is cancelled or has had its time. Whatever it has started ends with it. Dropping the future kills it, and so does the end of
    /// this process.
    async fn run(
        &self,
        variables: &[(&str, String)],
        input: &Value,
        cancelled: impl Future<Output = ()>,
    ) -> Result<Value, Failure> {
        let mut running = self.start(variables)?;
        let group = Group::of(&running);
        let input = format!("{input}\n");
        let finished = finish(&mut running, input.as_bytes(), &group);
        tokio::pin!(finished);
        let stopped = tokio::select! {
            finished = &mut finished => return self.result(finished?),
            () = cancelled => Failure::cancelled("it was cancelled"),
            () = sleep(self.timeout) => {
                let limit = self.timeout.as_secs();
                Failure::failed(format!("{} did not end within {limit} s", self.line[0]))
            }
        };
        group.signal(Signal::TERM);
        // What it says at its end is of no use to anybody.
        let _ = timeout(GRACE, finished).await;
        Err(stopped)
    }

    fn start(&self, variables: &[(&str, String)]) -> Result<process::Child, Failure> {
        let passed = self.environment.iter().map(String::as_str);
        let passed = ENVIRONMENT.into_iter().chain(passed);
        let passed = passed.filter_map(|name| Some((name, std::env::var_os(name)?)));
        process::Command::new(self.program())
            .args(&self.line[1..])
            .current_dir(&self.folder)
            .env_clear()
            .envs(passed)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Failure::failed(format!("cannot start {}: {error}", self.line[0])))
    }

    fn result(&self, finished: Finished) -> Result<Value, Failure> {
        if finished.status.success() {
            return Ok(value(&finished.output, finished.length));
        }
        let error = String::from_utf8_lossy(&finished.error);
        let (program, how) = (&self.line[0], ended(finished.status));
        Err(Failure::failed(match error.trim() {
            "" => format!("{program} {how}"),
            error => format!("{program} {how}: {error}"),
        }))
    }
}

/// Output of a program.
struct Finished {
    status: ExitStatus,
    /// Beginning of what it printed.
    output: Vec<u8>,
    /// Bytes that it printed.
    length: usize,
    error: Vec<u8>,
}

async fn finish(child: &mut process::Child, input: &[u8], group: &Group) -> io::Result<Finished> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A program need not read what it is given.
            let _ = stdin.write_all(input).await;
        }
    };
    let end = async {
        let status = child.wait().await;
        // What it left running would keep its pipes open.
        group.signal(Signal::KILL);
        status
    };
    let ((), output, error, status) = tokio::join!(feed, head(stdout), tail(stderr), end);
    let (output, length) = output?;
    Ok(Finished {
        status: status?,
        output,
        length,
        error: error?,
    })
}

/// The beginning of a stream, all of which is read, and its length.
async fn head(stream: Option<impl AsyncRead + Unpin>) -> io::Result<(Vec<u8>, usize)> {
    let (mut kept, mut length) = (Vec::new(), 0);
    each(stream, |bytes| {
        let room = MAX_OUTPUT - kept.len();
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        length += bytes.len();
    })
    .await?;
    Ok((kept, length))
}

/// The end of a stream.
async fn tail(stream: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    each(stream, |bytes| {
        kept.extend_from_slice(bytes);
        kept.drain(..kept.len().saturating_sub(MAX_ERROR));
    })
    .await?;
    Ok(kept)
}

async fn each(
    stream: Option<impl AsyncRead + Unpin>,
    mut take: impl FnMut(&[u8]),
) -> io::Result<()> {
    let Some(mut stream) = stream else {
        return Ok(());
    };
    let mut buffer = vec![0; 8 * 1024];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            n => take(&buffer[..n]),
        }
    }
}

/// The output, as JSON where it is JSON. `length` is that of all of it.
fn value(output: &[u8], length: usize) -> Value {
    if length > output.len() {
        let beginning = String::from_utf8_lossy(&output[..MAX_BEGINNING]);
        let left_out = length - MAX_BEGINNING;
        return Value::from(format!("{beginning} [… {left_out} bytes left out]"));
    }
    let json = serde_json::from_slice(output).ok();
    // A program that prints `null` has printed something.
    let json = json.filter(|value: &Value| !value.is_null());
    json.unwrap_or_else(|| {
        let text = String::from_utf8_lossy(output);
        Value::from(text.trim_end())
    })
}

fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "did not end well".to_owned(),
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
