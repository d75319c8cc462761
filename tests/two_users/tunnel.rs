//! A way to an address with TLS for test code that speaks without.

use std::{net::SocketAddr, path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    runtime::Handle,
};
use tokio_rustls::TlsConnector;

/// Listens on loopback, and carries what comes to `address` over TLS. It lasts as long as the runtime.
pub(super) fn dig(runtime: &Handle, ca: &Path, protocol: &str, address: &str) -> SocketAddr {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca).expect("PEM") {
        roots
            .add(certificate.expect("a certificate"))
            .expect("a CA");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_root_certificates(roots);
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let connector = TlsConnector::from(Arc::new(config));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
    let listener = listener.expect("a port");
    let here = listener.local_addr().expect("an address");
    let address = address.to_owned();
    runtime.spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let (connector, address) = (connector.clone(), address.clone());
            tokio::spawn(async move {
                let name = ServerName::try_from("localhost").expect("a name");
                let Ok(far) = TcpStream::connect(&address).await else {
                    return;
                };
                if let Ok(mut far) = connector.connect(name, far).await {
                    // Either end may go.
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                }
            });
        }
    });
    here
}
