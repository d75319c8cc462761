//! From files to the settings of connections.

use std::{sync::Arc, time::SystemTime};

use agenthub_proto::tls::{Error, certificates, key, provider, read, roots, validity};
use rustls::{
    ServerConfig,
    server::{NoServerSessionStorage, WebPkiClientVerifier, danger::ClientCertVerifier},
};

use super::{TlsFiles, verifying::Named};

/// Contents of the files.
#[derive(PartialEq, Eq)]
pub(super) struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl Contents {
    pub(super) fn read(files: &TlsFiles) -> Result<Self, Error> {
        Ok(Self {
            cert: read(&files.cert)?,
            key: read(&files.key)?,
            client_ca: files.client_ca.as_deref().map(read).transpose()?,
        })
    }
}

/// The settings of connections for each protocol.
#[derive(Debug)]
pub(super) struct Configs {
    pub(super) grpc: Arc<ServerConfig>,
    pub(super) http: Arc<ServerConfig>,
}

/// The settings that files with these contents mean.
pub(super) fn configs(files: &TlsFiles, contents: &Contents) -> Result<Configs, Error> {
    let chain = certificates(&files.cert, &contents.cert)?;
    let key = key(&files.key, &contents.key)?;
    let is_valid = |times: std::ops::RangeInclusive<_>| times.contains(&SystemTime::now());
    if !chain.first().and_then(validity).is_none_or(is_valid) {
        let cert = files.cert.display();
        tracing::warn!(%cert, "the certificate of this server is not valid at this time: clients refuse it");
    }
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("ring has the default versions");
    let config = match verifier(files, contents)? {
        Some(verifier) => config.with_client_cert_verifier(verifier),
        None => config.with_no_client_auth(),
    };
    let config = config.with_single_cert(chain, key);
    let mut config = config.map_err(|reason| Error::Pair {
        cert: files.cert.clone(),
        key: files.key.clone(),
        reason,
    })?;
    // A resumed session would be one whose certificate nobody has looked at since. Connections are long.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    let speaking = |protocol: &[u8]| {
        let mut config = config.clone();
        config.alpn_protocols = vec![protocol.to_vec()];
        Arc::new(config)
    };
    Ok(Configs {
        grpc: speaking(b"h2"),
        http: speaking(b"http/1.1"),
    })
}

/// The verifier of client certificates, if clients are asked for one.
fn verifier(
    files: &TlsFiles,
    contents: &Contents,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, Error> {
    let (Some(path), Some(text)) = (&files.client_ca, &contents.client_ca) else {
        return Ok(None);
    };
    let roots = Arc::new(roots(path, text)?);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
    let verifier = match files.requires_client_cert {
        true => verifier,
        false => verifier.allow_unauthenticated(),
    };
    let verifier = verifier.build().map_err(|error| Error::Wrong {
        path: path.clone(),
        reason: error.to_string(),
    })?;
    Ok(Some(Arc::new(Named(verifier))))
}
