//! A server under comparison: a fresh process on a free port, with its CPU time and memory.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

/// Time until a server listens.
const START: Duration = Duration::from_secs(20);

/// Interval of attempts.
const AGAIN: Duration = Duration::from_millis(2);

/// A running server, killed on drop.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    /// Time from its start until it listened.
    pub(super) took: Duration,
}

impl Server {
    /// Starts a program, and waits until it listens on the address.
    ///
    /// # Errors
    ///
    /// It cannot be started, ends, or does not listen in time; with the end of its output.
    pub(crate) async fn start(
        mut command: Command,
        address: SocketAddr,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let log = folder.join("server.log");
        let output = fs::File::create(&log).context("a file for what a server says")?;
        let began = Instant::now();
        let child = command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("starting {:?}", command.get_program()))?;
        let mut server = Self {
            child,
            address,
            took: Duration::ZERO,
        };
        while TcpStream::connect(address).await.is_err() {
            let ended = server.child.try_wait()?;
            if ended.is_some() || began.elapsed() > START {
                let said = fs::read_to_string(&log).unwrap_or_default();
                bail!(
                    "{:?} does not listen at {address}: {said}",
                    command.get_program()
                );
            }
            sleep(AGAIN).await;
        }
        server.took = began.elapsed();
        Ok(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// CPU time of all its live threads so far.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        cpu_of(self.child.id())
    }

    /// Memory in use, in bytes.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub(crate) fn memory(&self) -> anyhow::Result<u64> {
        memory_of(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// CPU time of all live threads of a process so far.
///
/// # Errors
///
/// It has ended.
pub(super) fn cpu_of(process: u32) -> anyhow::Result<Duration> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).context("the process has ended")?;
    let mut nanos = 0;
    for task in tasks {
        // A thread may end meanwhile.
        let stat = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        nanos += stat
            .split(' ')
            .next()
            .and_then(|on_cpu| on_cpu.parse::<u64>().ok())
            .unwrap_or_default();
    }
    Ok(Duration::from_nanos(nanos))
}

/// Memory in use by a process, in bytes.
///
/// # Errors
///
/// It has ended.
pub(super) fn memory_of(process: u32) -> anyhow::Result<u64> {
    let status =
        fs::read_to_string(format!("/proc/{process}/status")).context("the process has ended")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kib = line.and_then(|l| l.trim().split(' ').next()?.parse::<u64>().ok());
    Ok(kib.context("its memory is not known")? * 1024)
}

/// A free loopback address.
///
/// # Errors
///
/// There is none.
pub(super) fn free() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("a free port")?;
    Ok(listener.local_addr()?)
}
