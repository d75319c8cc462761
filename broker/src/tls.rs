//! TLS of the hub's addresses: its certificate and the CA of clients, read again when their files change.

mod handshake;
mod handshakes;
mod loading;
mod plaintext;
mod verifying;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

use agenthub_proto::tls::Error;
use rustls::ServerConfig;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use self::loading::{Configs, Contents, configs};
pub(crate) use self::{
    handshake::secure,
    handshakes::{Handshakes, Slot},
};

/// Interval at which the files are read again.
const REREAD: Duration = Duration::from_secs(2);

/// Files of a server's TLS, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Its certificate, intermediate ones behind it.
    pub cert: PathBuf,
    /// The certificate's key.
    pub key: PathBuf,
    /// The CAs of client certificates; without, clients are not asked for one.
    pub client_ca: Option<PathBuf>,
    /// Clients without a certificate are refused.
    pub requires_client_cert: bool,
}

/// The protocol of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Grpc,
    Http,
}

/// TLS of a server. Connections begin with the certificate that the files have then; files that cannot be used are logged, and
/// change nothing. Clones share it; the files are watched until the last one is dropped.
#[derive(Clone, Debug)]
pub struct Tls {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    files: TlsFiles,
    current: Mutex<Configs>,
    watching: OnceLock<AbortOnDropHandle<()>>,
}

impl Tls {
    /// Reads the files, and begins to watch them. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is not what it must be.
    pub fn open(files: TlsFiles) -> Result<Self, Error> {
        let contents = Contents::read(&files)?;
        let shared = Arc::new(Shared {
            current: Mutex::new(configs(&files, &contents)?),
            files,
            watching: OnceLock::new(),
        });
        let watching = tokio::spawn(watch(Arc::downgrade(&shared), Ok(contents)));
        let _ = shared.watching.set(AbortOnDropHandle::new(watching));
        Ok(Self { shared })
    }

    /// The settings of connections that begin now.
    pub(crate) fn config(&self, speaks: Speaks) -> Arc<ServerConfig> {
        let current = self.shared.current.lock();
        let current = current.unwrap_or_else(PoisonError::into_inner);
        Arc::clone(match speaks {
            Speaks::Grpc => &current.grpc,
            Speaks::Http => &current.http,
        })
    }
}

/// Reads the files again and again, and uses what has changed.
async fn watch(shared: Weak<Shared>, mut seen: Result<Contents, String>) {
    loop {
        sleep(REREAD).await;
        let Some(files) = shared.upgrade().map(|shared| shared.files.clone()) else {
            return;
        };
        // A file system may be slow.
        let read = tokio::task::spawn_blocking(move || Contents::read(&files));
        let Ok(read) = read.await else {
            return;
        };
        let read = read.map_err(|error| error.to_string());
        if read == seen {
            continue;
        }
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let made = match &read {
            Ok(contents) => configs(&shared.files, contents).map_err(|error| error.to_string()),
            Err(error) => Err(error.clone()),
        };
        match made {
            Ok(made) => {
                let current = shared.current.lock();
                *current.unwrap_or_else(PoisonError::into_inner) = made;
                tracing::info!(cert = %shared.files.cert.display(), "connections begin with a new certificate of this server");
            }
            Err(error) => {
                tracing::warn!(%error, "the changed files of TLS cannot be used: connections go on to begin with those before");
            }
        }
        seen = read;
    }
}
