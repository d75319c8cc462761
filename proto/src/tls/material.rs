//! Certificates and keys in PEM files.

use std::{
    fs, io,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use rustls::{
    RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use x509_cert::{Certificate, der::Decode as _};

/// Maximum size of a file in bytes: a bundle of all public CAs has a quarter of this.
const LARGEST: u64 = 1024 * 1024;

/// Failure to get certificates or keys from files.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is not what it must be.
    #[error("{}: {reason}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Its fault, or what it lacks.
        reason: String,
    },
    /// A certificate without a key, or the other way round.
    #[error("a client certificate takes both files: the certificate (--cert) and its key (--key)")]
    Incomplete,
    /// The certificate and the key do not belong together, or are not supported.
    #[error("{} and {} cannot be used together: {reason}", cert.display(), key.display())]
    Pair {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The reason.
        reason: rustls::Error,
    },
}

/// The cryptography of all connections.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The content of a file of certificates or keys.
///
/// # Errors
///
/// It cannot be read, or is too large.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let unreadable = |source| Error::Unreadable {
        path: path.to_owned(),
        source,
    };
    let size = fs::metadata(path).map_err(unreadable)?.len();
    if size > LARGEST {
        return Err(wrong(path, "it is too large for certificates or a key"));
    }
    fs::read(path).map_err(unreadable)
}

fn wrong(path: &Path, reason: impl Into<String>) -> Error {
    Error::Wrong {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

/// The certificates in the content of a file, at least one.
///
/// # Errors
///
/// There is none, or it is no PEM.
pub fn certificates(path: &Path, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let found = found.map_err(|error| wrong(path, format!("it is no PEM file: {error}")))?;
    match found.is_empty() {
        true => Err(wrong(
            path,
            "there is no certificate in it (-----BEGIN CERTIFICATE-----)",
        )),
        false => Ok(found),
    }
}

/// The first private key in the content of a file.
///
/// # Errors
///
/// There is none.
pub fn key(path: &Path, text: &[u8]) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_slice(text).map_err(|_| {
        let reason = "there is no private key in it (-----BEGIN PRIVATE KEY-----); one with a password cannot be used";
        wrong(path, reason)
    })
}

/// The certificates of CAs in the content of a file, to be trusted.
///
/// # Errors
///
/// There is none, or a malformed one.
pub fn roots(path: &Path, text: &[u8]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, text)? {
        let added = roots.add(certificate);
        added.map_err(|error| {
            wrong(
                path,
                format!("a certificate of a CA in it is malformed: {error}"),
            )
        })?;
    }
    Ok(roots)
}

/// The time for which a certificate is valid.
pub fn validity(certificate: &CertificateDer<'_>) -> Option<RangeInclusive<SystemTime>> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let validity = certificate.tbs_certificate.validity;
    let time = |since_epoch| SystemTime::UNIX_EPOCH + since_epoch;
    let (from, to) = (
        validity.not_before.to_unix_duration(),
        validity.not_after.to_unix_duration(),
    );
    Some(time(from)..=time(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_what_is_wanted_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x.pem");
        let missing = read(&file).expect_err("there is none").to_string();
        assert!(missing.contains("x.pem"), "{missing}");
        let text = b"no PEM";
        for error in [
            certificates(&file, text).err(),
            key(&file, text).err(),
            roots(&file, text).err(),
        ] {
            let error = error.expect("there is nothing in it").to_string();
            assert!(
                error.contains("x.pem") && error.contains("BEGIN"),
                "{error}"
            );
        }
        let large = usize::try_from(LARGEST).expect("it is small") + 1;
        fs::write(&file, vec![b'x'; large]).expect("a file");
        let error = read(&file).expect_err("it is too large").to_string();
        assert!(error.contains("too large"), "{error}");
    }
}
