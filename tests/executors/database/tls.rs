//! A PostgreSQL that speaks TLS: a front before the one that there is, with a certificate of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream, UnixStream},
    runtime::Runtime,
};
use tokio_rustls::TlsAcceptor;

/// Request of a client for TLS: its length and its code.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Serves until it is dropped.
pub(super) struct Front {
    _runtime: Runtime,
    connection: String,
    certificate: PathBuf,
    connections: Arc<AtomicUsize>,
}

impl Front {
    /// Before the server of this connection string. Its certificate is written to the folder.
    pub(super) fn start(server: &str, folder: &Path) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let names = vec!["localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
        let certificate = folder.join("postgres.pem");
        fs::write(&certificate, made.cert.pem()).expect("the folder is ours");
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has the default versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("they belong together");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let (host, others): (Vec<&str>, Vec<&str>) = server
            .split_whitespace()
            .partition(|setting| setting.starts_with("host="));
        let host = host.first().expect("the server has a host")["host=".len()..].to_owned();
        let connections = Arc::<AtomicUsize>::default();
        runtime.spawn(serve(listener, acceptor, host, connections.clone()));
        Self {
            _runtime: runtime,
            connection: format!(
                "host=localhost port={port} sslmode=require {}",
                others.join(" ")
            ),
            certificate,
            connections,
        }
    }

    pub(super) fn connection(&self) -> &str {
        &self.connection
    }

    pub(super) fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// Connections that got as far as the server.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn serve(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    host: String,
    connections: Arc<AtomicUsize>,
) {
    while let Ok((client, _)) = listener.accept().await {
        let (acceptor, host, connections) = (acceptor.clone(), host.clone(), connections.clone());
        tokio::spawn(async move {
            let Some(mut client) = greeted(client, &acceptor).await else {
                return;
            };
            connections.fetch_add(1, Ordering::Relaxed);
            let mut server = reach(&host).await;
            // Either side may end it as it likes.
            let _ = copy_bidirectional(&mut client, &mut server).await;
        });
    }
}

/// The client over TLS, if it wants that and trusts the certificate.
async fn greeted(
    mut client: TcpStream,
    acceptor: &TlsAcceptor,
) -> Option<impl AsyncRead + AsyncWrite + Unpin> {
    let mut request = [0; 8];
    client.read_exact(&mut request).await.ok()?;
    if request != SSL_REQUEST {
        return None;
    }
    client.write_all(b"S").await.ok()?;
    acceptor.accept(client).await.ok()
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// The server itself: a folder with its socket, or a host.
async fn reach(host: &str) -> Box<dyn Stream> {
    match host.starts_with('/') {
        true => {
            let socket = format!("{host}/.s.PGSQL.5432");
            Box::new(UnixStream::connect(socket).await.expect("it is there"))
        }
        false => Box::new(TcpStream::connect((host, 5432)).await.expect("it is there")),
    }
}
