//! A certificate authority of a test, and its files.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use agenthub_broker::TlsFiles;
use agenthub_proto::tls::ClientTls;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    SanType,
};

const DAY: Duration = Duration::from_secs(24 * 3600);

pub(super) struct Authority {
    folder: PathBuf,
    name: String,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate to be made.
#[derive(Clone, Default)]
pub(super) struct Wanted<'a> {
    pub(super) file: &'a str,
    pub(super) common_name: &'a str,
    pub(super) hosts: &'a [&'a str],
    pub(super) uris: &'a [&'a str],
    pub(super) is_expired: bool,
}

impl Authority {
    /// An authority whose certificate is in a folder, under a name.
    pub(super) fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        let (folder, name) = (folder.to_owned(), name.to_owned());
        fs::write(folder.join(format!("{name}.pem")), issuer.pem()).expect("it is written");
        Self {
            folder,
            name,
            issuer,
        }
    }

    pub(super) fn ca(&self) -> PathBuf {
        self.folder.join(format!("{}.pem", self.name))
    }

    /// Makes a certificate and its key; returns their files.
    pub(super) fn make(&self, wanted: &Wanted<'_>) -> (PathBuf, PathBuf) {
        let dns = wanted.hosts.iter().map(ToString::to_string);
        let mut params = CertificateParams::new(dns.collect::<Vec<_>>()).expect("names");
        params.distinguished_name = distinguished(wanted.common_name);
        let uri = |uri: &&str| SanType::URI((*uri).try_into().expect("it is ASCII"));
        params.subject_alt_names.extend(wanted.uris.iter().map(uri));
        if wanted.is_expired {
            params.not_before = (SystemTime::now() - 2 * DAY).into();
            params.not_after = (SystemTime::now() - DAY).into();
        }
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.issuer).expect("a certificate");
        let file = |ending| self.folder.join(format!("{}.{ending}", wanted.file));
        fs::write(file("key"), key.serialize_pem()).expect("it is written");
        fs::write(file("pem"), signed.pem()).expect("it is written");
        (file("pem"), file("key"))
    }

    /// TLS of a server with a certificate for localhost, that takes clients with certificates of this authority.
    pub(super) fn server(&self, requires_client_cert: bool) -> TlsFiles {
        let (cert, key) = self.make(&Wanted {
            file: "server",
            hosts: &["localhost"],
            ..Wanted::default()
        });
        TlsFiles {
            cert,
            key,
            client_ca: Some(self.ca()),
            requires_client_cert,
        }
    }

    /// A client that trusts this authority.
    pub(super) fn trusting(&self) -> ClientTls {
        ClientTls::new().ca(self.ca())
    }

    /// A client that trusts this authority and has a certificate of it.
    pub(super) fn client(&self, common_name: &str, uris: &[&str]) -> ClientTls {
        let file = format!("client-{}", uris.len());
        let (cert, key) = self.make(&Wanted {
            file: &file,
            common_name,
            uris,
            ..Wanted::default()
        });
        self.trusting().identity(cert, key)
    }
}

fn distinguished(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    if !name.is_empty() {
        distinguished.push(DnType::CommonName, name);
    }
    distinguished
}
