//! The killed processes: a hub, Cortex, a worker whose tool is a program, and a supervisor.

use std::{
    fs::{self, File, OpenOptions},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    process::{Child, Command},
    time::timeout,
};

use crate::program;

/// The worker.
pub(crate) const PRESS: &str = "agent_press";
/// The supervisor.
pub(crate) const CHIEF: &str = "agent_chief";

/// Time in which a process must end on SIGTERM, as the hub and agents promise.
const TO_END: Duration = Duration::from_secs(10);

/// A tool that takes up to a second, and notes the key and the word of each call when it begins and ends.
const PRESS_FILE: &str = r#"
name = 'agent_press'
description = 'Prints a text on the printing press'
[[tool]]
name = 'press'
description = 'Prints a text on the printing press'
command = ['sh', '-c', '''
word=$(grep -o 'w-[0-9]*' | head -n 1)
echo "$AGENTHUB_IDEMPOTENCY_KEY $word" >>press.begun
sleep "0.${word#"${word%?}"}"
echo "$AGENTHUB_IDEMPOTENCY_KEY $word" >>press.done
echo "pressed $word"
''']
input = { type = 'object', required = ['text'], properties = { text = { type = 'string' } } }
"#;

/// Signal that ends a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// SIGKILL.
    Killed,
    /// SIGTERM.
    Terminated,
}

/// All processes, killed on drop.
#[derive(Debug)]
pub(crate) struct Cast {
    program: PathBuf,
    folder: PathBuf,
    hub: SocketAddr,
    cortex: SocketAddr,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    args: Vec<String>,
    /// `None` while it is down.
    child: Option<Child>,
}

impl Cast {
    /// Starts them in a folder.
    ///
    /// # Errors
    ///
    /// The operating system refuses.
    pub(crate) fn start(
        program: PathBuf,
        folder: &Path,
        [hub, cortex]: [SocketAddr; 2],
    ) -> anyhow::Result<Self> {
        fs::write(folder.join("press.toml"), PRESS_FILE).context("the worker's file")?;
        let addresses = [hub, cortex].map(|address| address.to_string());
        let any = "127.0.0.1:0";
        let lead = "Leads everybody";
        let args = [
            &["broker", "--http", any, "--grpc", &addresses[0]][..],
            &["cortex", "--grpc", &addresses[1]],
            &["agent", "run", "press.toml"],
            &[
                "agent",
                "supervisor",
                "--name",
                CHIEF,
                "--description",
                lead,
            ],
        ];
        let member = |args: &[&str]| Member {
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            child: None,
        };
        let mut cast = Self {
            program,
            folder: folder.to_owned(),
            hub,
            cortex,
            members: args.into_iter().map(member).collect(),
        };
        for at in 0..cast.len() {
            cast.begin(at)?;
        }
        Ok(cast)
    }

    /// Number of processes.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The hub's URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.hub)
    }

    /// Cortex's own URL.
    pub(crate) fn cortex_url(&self) -> String {
        format!("http://{}", self.cortex)
    }

    /// Ids of the running processes.
    pub(crate) fn living(&self) -> Vec<u32> {
        let children = self.members.iter().filter_map(|m| m.child.as_ref());
        children.filter_map(Child::id).collect()
    }

    /// Starts a process that is down.
    ///
    /// # Errors
    ///
    /// The operating system refuses.
    pub(crate) fn begin(&mut self, at: usize) -> anyhow::Result<()> {
        let log = self.folder.join(format!("{at}.log"));
        let log: File = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("opening {}", log.display()))?;
        let member = &self.members[at];
        let child = Command::from(program::unset(&self.program))
            .args(&member.args)
            .env("AGENTHUB_HUB", self.url())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {}", self.program.display()))?;
        self.members[at].child = Some(child);
        Ok(())
    }

    /// Ends a process and waits for its end. Returns whether it ended in time.
    ///
    /// # Errors
    ///
    /// It had ended by itself.
    pub(crate) async fn end(&mut self, at: usize, end: End) -> anyhow::Result<bool> {
        let member = &mut self.members[at];
        let Some(mut child) = member.child.take() else {
            return Ok(true);
        };
        if let Some(status) = child.try_wait().context("its state")? {
            bail!(
                "`agenthub {}` ended by itself ({status})",
                member.args.join(" ")
            );
        }
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let pid = pid.and_then(Pid::from_raw).context("it has an id")?;
        let signal = match end {
            End::Killed => Signal::KILL,
            End::Terminated => Signal::TERM,
        };
        kill_process(pid, signal).context("it can be signalled")?;
        if let Ok(status) = timeout(TO_END, child.wait()).await {
            status.context("its end")?;
            return Ok(true);
        }
        child.kill().await.context("it can be killed")?;
        Ok(false)
    }

    /// Runs a command that ends by itself, and returns its output lines.
    ///
    /// # Errors
    ///
    /// It fails.
    pub(crate) async fn printed(&self, args: &[&str]) -> anyhow::Result<Vec<String>> {
        let done = Command::from(program::unset(&self.program))
            .args(args)
            .env("AGENTHUB_HUB", self.url())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let done = timeout(TO_END, done).await.context("it ends in time")??;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            bail!("`agenthub {}` failed: {said}", args.join(" "));
        }
        let text = String::from_utf8_lossy(&done.stdout);
        Ok(text.lines().map(str::to_owned).collect())
    }
}
