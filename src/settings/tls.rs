//! TLS of the hub's addresses, and of connections to a hub.

use std::path::PathBuf;

use agenthub_broker::TlsFiles;
use agenthub_proto::tls::ClientTls;
use anyhow::bail;
use serde::{Deserialize, Serialize};

/// TLS of the addresses of a hub, as far as it was set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    /// The server's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cert: Option<PathBuf>,
    /// Its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<PathBuf>,
    /// The CAs of client certificates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_ca: Option<PathBuf>,
    /// Clients without a certificate are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) require_client_cert: Option<bool>,
}

impl Tls {
    /// TLS of a server, with the files as they are now; `None` if it speaks none.
    ///
    /// # Errors
    ///
    /// One of the settings needs another that is missing, or a file cannot be used.
    pub(crate) fn open(&self) -> anyhow::Result<Option<agenthub_broker::Tls>> {
        Ok(self.files()?.map(agenthub_broker::Tls::open).transpose()?)
    }

    /// The files of a server; `None` if it speaks no TLS.
    ///
    /// # Errors
    ///
    /// One of the settings needs another that is missing.
    fn files(&self) -> anyhow::Result<Option<TlsFiles>> {
        let requires_client_cert = self.require_client_cert.unwrap_or_default();
        let (cert, key) = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => (cert, key),
            (None, None) if self.client_ca.is_none() && !requires_client_cert => return Ok(None),
            _ => bail!(
                "TLS takes a certificate and its key: name both, with --tls-cert and --tls-key, or in [tls] of the settings \
                 (`agenthub certs dev` makes some to try it)"
            ),
        };
        if requires_client_cert && self.client_ca.is_none() {
            bail!(
                "--require-client-cert needs --client-ca: the CA of the certificates that clients show"
            );
        }
        Ok(Some(TlsFiles {
            cert: cert.clone(),
            key: key.clone(),
            client_ca: self.client_ca.clone(),
            requires_client_cert,
        }))
    }
}

/// TLS of connections to a hub, as far as it was set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientFiles {
    /// The CAs that are trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ca: Option<PathBuf>,
    /// The certificate of this client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cert: Option<PathBuf>,
    /// Its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<PathBuf>,
}

impl ClientFiles {
    /// TLS of this process as a client.
    pub(crate) fn tls(&self) -> ClientTls {
        ClientTls::of_files(self.ca.clone(), self.cert.clone(), self.key.clone())
    }

    /// The files by the flags that name them.
    pub(crate) fn flags(&self) -> [(&'static str, &Option<PathBuf>); 3] {
        [
            ("--ca", &self.ca),
            ("--cert", &self.cert),
            ("--key", &self.key),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<Option<bool>, &str>) {
        let tls: Tls = toml::from_str(text).expect("it is TOML");
        match (tls.files(), expected) {
            (Ok(files), Ok(expected)) => {
                let found = files.map(|files| files.requires_client_cert);
                assert_eq!(found, expected, "{text}");
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn settings_that_need_each_other_come_together() {
        check("", Ok(None));
        check("require_client_cert = false", Ok(None));
        check("cert = 'c'\nkey = 'k'", Ok(Some(false)));
        check("cert = 'c'\nkey = 'k'\nclient_ca = 'a'", Ok(Some(false)));
        let all = "cert = 'c'\nkey = 'k'\nclient_ca = 'a'\nrequire_client_cert = true";
        check(all, Ok(Some(true)));
        check("cert = 'c'", Err("--tls-key"));
        check("key = 'k'", Err("--tls-cert"));
        check("client_ca = 'a'", Err("--tls-cert"));
        check("require_client_cert = true", Err("--tls-cert"));
        check(
            "cert = 'c'\nkey = 'k'\nrequire_client_cert = true",
            Err("--client-ca"),
        );
    }
}
