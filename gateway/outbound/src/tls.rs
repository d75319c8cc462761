//! TLS by the certificates that this system trusts, or those of the file that `SSL_CERT_FILE` names.

use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, RootCertStore, crypto::ring};

/// The settings of this process; the certificates are read once.
pub(crate) fn config() -> ClientConfig {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "a certificate of this system cannot be read");
        }
        let mut roots = RootCertStore::empty();
        let (_, ignored) = roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            tracing::warn!(ignored, "this system trusts no certificates: https fails");
        }
        Arc::new(roots)
    });
    trusting(roots.clone())
}

/// Settings that trust these certificates alone.
pub(crate) fn trusting(roots: Arc<RootCertStore>) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}
