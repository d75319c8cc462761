//! The hub under test: a process that is killed and restarted.

use std::{
    fs::{File, OpenOptions},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use anyhow::{Context as _, bail};

use crate::program;

/// Start parameters of the hub.
#[derive(Clone, Debug)]
pub(crate) struct Launcher {
    binary: PathBuf,
    folder: PathBuf,
    address: SocketAddr,
}

/// A running hub, killed on drop.
#[derive(Debug)]
pub(crate) struct Hub(Child);

impl Launcher {
    /// # Errors
    ///
    /// The program is missing, or no port is free.
    pub(crate) fn new(
        binary: Option<&Path>,
        folder: &Path,
        rng: &mut fastrand::Rng,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            binary: program::find(binary)?,
            folder: folder.to_owned(),
            address: program::free_address(rng)?,
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The output of the hubs.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("hub.log")
    }

    /// Starts the hub with these settings alone. It is ready some time later.
    ///
    /// # Errors
    ///
    /// The operating system refuses.
    pub(crate) fn start(&self) -> anyhow::Result<Hub> {
        let log: File = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log())
            .with_context(|| format!("opening {}", self.log().display()))?;
        let child = program::unset(&self.binary)
            .args(["broker", "--json", "--http", "127.0.0.1:0", "--grpc"])
            .arg(self.address.to_string())
            .arg("--data")
            .arg(self.folder.join("data"))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", self.binary.display()))?;
        Ok(Hub(child))
    }
}

impl Hub {
    /// # Errors
    ///
    /// It has ended by itself.
    pub(crate) fn check_alive(&mut self) -> anyhow::Result<()> {
        match self.0.try_wait().context("the hub's state")? {
            Some(status) => bail!("the hub ended by itself ({status})"),
            None => Ok(()),
        }
    }

    /// Kills it, and waits for its end.
    ///
    /// # Errors
    ///
    /// It had ended by itself already.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.check_alive()?;
        self.0.kill().context("killing the hub")?;
        self.0.wait().context("waiting for the hub's end")?;
        Ok(())
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
