//! https, with certificates of an authority that only these tests trust: `agent.pem` is for agent.example.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use super::{
    OK, call, names,
    server::{Then, exchange},
    settings,
};
use crate::{
    Connector, Error,
    tls::{config, trusting},
};

/// Serves two connections.
async fn server() -> (std::net::SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("it is free");
    let address = listener.local_addr().expect("it has an address");
    let certificate = CertificateDer::from_pem_slice(include_bytes!("agent.pem"));
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("agent.key")).expect("a key");
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has them")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.expect("a certificate")], key)
        .expect("they fit");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                exchange(stream, OK.into(), Then::Close).await;
            }
        }
    });
    (address, serving)
}

/// Trusts the authority of these tests alone.
fn ours() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(include_bytes!("ca.pem"));
    roots
        .add(authority.expect("a certificate"))
        .expect("an authority");
    trusting(Arc::new(roots))
}

#[tokio::test]
async fn a_peer_shows_a_certificate_of_its_name() {
    let (address, serving) = server().await;
    let (lookup, _) = names(vec![vec![address]]);
    let with = |tls: fn() -> ClientConfig| {
        Connector::with(settings(&["127.0.0.0/8"]), lookup.clone(), tls)
    };
    let trusting = with(ours);
    let reply = call(&trusting, "https://agent.example/").await;
    assert_eq!(reply.expect("it is trusted").body, "ok");
    let stranger = with(config);
    for (connector, url) in [
        (&trusting, "https://other.example/"),
        (&stranger, "https://agent.example/"),
    ] {
        let error = call(connector, url).await.expect_err("no such certificate");
        let Error::Unreachable { why, .. } = &error else {
            panic!("{error:?}")
        };
        assert!(why.contains("certificate"), "{why}");
    }
    serving.abort();
}

/// Whoever mistakes one kind of address for the other is told so.
#[tokio::test]
async fn what_speaks_another_protocol_is_named() {
    let (address, serving) = server().await;
    let connector = Connector::with(settings(&["127.0.0.0/8"]), crate::dial::system(), ours);
    let error = call(&connector, &format!("http://{address}/")).await;
    let error = error.expect_err("it speaks TLS").to_string();
    assert!(error.contains(&format!("{address}")), "{error}");
    assert!(error.contains("is it an https:// address"), "{error}");
    serving.abort();

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("it is free");
    let address = listener.local_addr().expect("it has an address");
    let plain = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut hello = [0; 16];
            let _ = stream.read(&mut hello).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let error = call(&connector, &format!("https://{address}/")).await;
    let error = error.expect_err("it speaks no TLS").to_string();
    assert!(error.contains(&format!("{address}")), "{error}");
    assert!(error.contains("is it an http:// address"), "{error}");
    plain.abort();
}
