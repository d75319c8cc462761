//! TLS of clients: whom they trust, and how they introduce themselves.

use std::{
    env,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use rustls::{AlertDescription, ClientConfig, RootCertStore};

use super::material::{self, Error};

/// Files of a client. They are read for each connection, so that renewed ones need no restart.
#[derive(Clone, Debug, Default)]
pub struct ClientTls {
    ca: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    /// The alert that ended the latest connection. With TLS 1.3 a client has finished its handshake when the server refuses its
    /// certificate, and HTTP/2 then tells callers only that the connection is closed.
    alert: Arc<Mutex<Option<AlertDescription>>>,
}

/// The files are compared.
impl PartialEq for ClientTls {
    fn eq(&self, other: &Self) -> bool {
        self.files() == other.files()
    }
}

impl Eq for ClientTls {}

impl ClientTls {
    /// Trusts the CAs of this system, and has no certificate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts the CAs in this PEM file, and no others.
    #[must_use]
    pub fn ca(mut self, file: impl Into<PathBuf>) -> Self {
        self.ca = Some(file.into());
        self
    }

    /// Introduces itself with this certificate, intermediate ones behind it, and its key.
    #[must_use]
    pub fn identity(mut self, cert: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.cert = Some(cert.into());
        self.key = Some(key.into());
        self
    }

    /// Trusts the same CAs, and shows no certificate.
    #[must_use]
    pub fn without_identity(self) -> Self {
        Self::of_files(self.ca, None, None)
    }

    /// The files that `AGENTHUB_CA`, `AGENTHUB_CERT` and `AGENTHUB_KEY` name.
    pub fn from_env() -> Self {
        let file = |name| env::var_os(name).filter(|file| !file.is_empty());
        Self {
            ca: file("AGENTHUB_CA").map(Into::into),
            cert: file("AGENTHUB_CERT").map(Into::into),
            key: file("AGENTHUB_KEY").map(Into::into),
            alert: Arc::default(),
        }
    }

    /// Files of a program's settings, of which any may be missing.
    pub fn of_files(ca: Option<PathBuf>, cert: Option<PathBuf>, key: Option<PathBuf>) -> Self {
        Self {
            ca,
            cert,
            key,
            alert: Arc::default(),
        }
    }

    /// True if it names the CAs that it trusts.
    pub fn has_ca(&self) -> bool {
        self.ca.is_some()
    }

    /// True if it has a certificate.
    pub fn has_identity(&self) -> bool {
        self.cert.is_some()
    }

    /// The files: the trusted CAs, the certificate and its key.
    pub fn files(&self) -> [Option<&PathBuf>; 3] {
        [&self.ca, &self.cert, &self.key].map(Option::as_ref)
    }

    /// Notes the alert that has ended a connection, or that one begins.
    pub(crate) fn note(&self, alert: Option<AlertDescription>) {
        *self.alert.lock().unwrap_or_else(PoisonError::into_inner) = alert;
    }

    /// The alert that ended the latest connection, once.
    pub(super) fn take_alert(&self) -> Option<AlertDescription> {
        let mut alert = self.alert.lock().unwrap_or_else(PoisonError::into_inner);
        alert.take()
    }

    /// Makes this that of all connections of the process that name none, once: a process is one client.
    pub fn set_default(self) {
        // The first one stays.
        let _ = DEFAULT.set(self);
    }

    /// That of connections that name none: as [set](Self::set_default), otherwise as in the [environment](Self::from_env).
    pub fn of_process() -> &'static Self {
        DEFAULT.get_or_init(Self::from_env)
    }

    /// The settings of connections, without ALPN. Reads the files.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is not what it must be.
    pub fn config(&self) -> Result<ClientConfig, Error> {
        let roots = match &self.ca {
            Some(file) => Arc::new(material::roots(file, &material::read(file)?)?),
            None => system_roots(),
        };
        self.with_roots(roots)
    }

    /// The same for addresses of any server: trusts the CAs of this system, too.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is not what it must be.
    pub fn config_for_any(&self) -> Result<ClientConfig, Error> {
        let mut roots = RootCertStore::clone(&system_roots());
        if let Some(file) = &self.ca {
            let own = material::roots(file, &material::read(file)?)?;
            roots.extend(own.roots);
        }
        self.with_roots(Arc::new(roots))
    }

    fn with_roots(&self, roots: Arc<RootCertStore>) -> Result<ClientConfig, Error> {
        let config = ClientConfig::builder_with_provider(material::provider())
            .with_safe_default_protocol_versions()
            .expect("ring has the default versions")
            .with_root_certificates(roots);
        let (cert, key) = match (&self.cert, &self.key) {
            (None, None) => return Ok(config.with_no_client_auth()),
            (Some(cert), Some(key)) => (cert, key),
            _ => return Err(Error::Incomplete),
        };
        let chain = material::certificates(cert, &material::read(cert)?)?;
        let secret = material::key(key, &material::read(key)?)?;
        let config = config.with_client_auth_cert(chain, secret);
        config.map_err(|reason| Error::Pair {
            cert: cert.clone(),
            key: key.clone(),
            reason,
        })
    }
}

static DEFAULT: OnceLock<ClientTls> = OnceLock::new();

/// The CAs that this system trusts, read once.
fn system_roots() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "a certificate of this system cannot be read");
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        Arc::new(roots)
    });
    Arc::clone(roots)
}
