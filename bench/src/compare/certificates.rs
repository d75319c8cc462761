//! Certificates of a CA for trying, which the hub's program makes.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use agenthub_sdk::proto::tls::ClientTls;
use anyhow::ensure;
use tempfile::TempDir;

use crate::program::unset;

/// The certificates, deleted with the last clone.
#[derive(Clone, Debug)]
pub(super) struct Certificates(Arc<TempDir>);

impl Certificates {
    /// Makes them, and has all clients of this process trust the CA and introduce themselves with a certificate of it.
    ///
    /// # Errors
    ///
    /// The hub's program does not make them.
    pub(super) fn make(hub: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("agenthub-compare-")
            .tempdir()?;
        let made = unset(hub)
            .args(["certs", "dev"])
            .arg(folder.path())
            .output()?;
        let said = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "no certificates were made: {said}");
        let certificates = Self(Arc::new(folder));
        ClientTls::new()
            .ca(certificates.ca())
            .identity(
                certificates.file("client.pem"),
                certificates.file("client.key"),
            )
            .set_default();
        Ok(certificates)
    }

    /// The CA.
    pub(super) fn ca(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// The server's certificate and its key.
    pub(super) fn server(&self) -> [PathBuf; 2] {
        ["server.pem", "server.key"].map(|name| self.file(name))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
