//! TLS on both addresses, over real sockets (issue 25, TLS).

mod authority;

use std::{fs, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use agenthub_broker::{ExtraServices, Server, Settings, Tls, TlsFiles, serve_http};
use agenthub_proto::{
    PeerCertificate,
    agenthub::GetTaskRequest,
    socket::{HubAddress, connect, in_process},
    tls::{ClientTls, explain},
};
use axum::{Extension, Router, routing::get};
use rustls::pki_types::{CertificateDer, ServerName};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{Instant, sleep, timeout},
};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;
use tonic::{Code, service::Routes, transport::Channel};
use tower::service_fn;

use self::authority::{Authority, Wanted};
use crate::harness::{Client, DEADLINE, within};

/// A hub with TLS on both addresses. `/who` on the address of HTTP says who asks.
struct Secure {
    server: Server,
    http: SocketAddr,
    stop: CancellationToken,
}

impl Drop for Secure {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

type Peer = Option<Extension<PeerCertificate>>;

async fn who(peer: Peer) -> String {
    peer.map_or("nobody".to_owned(), |Extension(peer)| {
        peer.name().to_owned()
    })
}

impl Secure {
    async fn start(files: TlsFiles) -> Self {
        let tls = Tls::open(files).expect("the files are right");
        let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let routes = Routes::from(Router::new().route("/who", get(who)));
        let others = ExtraServices::from(routes);
        let server = Server::start_with_tls(Settings::default(), any, others, tls.clone()).await;
        let listener = TcpListener::bind(any).await.expect("a port");
        let http = listener.local_addr().expect("it is bound");
        let stop = CancellationToken::new();
        let pages = Router::new().route("/who", get(who));
        serve_http(listener, pages, Some(tls), stop.clone());
        Self {
            server: server.expect("a port"),
            http,
            stop,
        }
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://localhost:{}", self.server.address().port())
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A channel to an address, and what it says if it cannot be opened.
async fn channel(url: &str, tls: &ClientTls) -> Result<Channel, String> {
    let address = HubAddress::parse(url).expect("an address");
    let (to, files) = (address.clone(), tls.clone());
    let connecting = service_fn(move |_| {
        let (to, files) = (to.clone(), files.clone());
        async move { connect(&to, &files, DEADLINE).await }
    });
    let connected = address.endpoint().connect_with_connector(connecting).await;
    connected.map_err(|error| explain(&error, tls).unwrap_or_else(|| format!("{error:?}")))
}

/// The outcome of a call: that of the hub, or the reason why it could not be made.
async fn called(url: &str, tls: &ClientTls) -> Result<Code, String> {
    let channel = channel(url, tls).await?;
    let request = GetTaskRequest {
        task_id: "none".to_owned(),
        ..GetTaskRequest::default()
    };
    let answer = within(Client::new(channel).get_task(request)).await;
    let status = answer.expect_err("there is no task");
    let source = std::error::Error::source(&status);
    match source.and_then(|source| explain(source, tls)) {
        Some(reason) => Err(reason),
        None if source.is_some() => Err(format!("{status:?}")),
        None => Ok(status.code()),
    }
}

/// The answer of `/who` on the address of HTTP or, without TLS, to the same bytes.
async fn asked(address: SocketAddr, tls: Option<&ClientTls>) -> std::io::Result<String> {
    const REQUEST: &[u8] = b"GET /who HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut stream = TcpStream::connect(address).await?;
    let mut said = Vec::new();
    let asking = async {
        match tls {
            None => {
                stream.write_all(REQUEST).await?;
                stream.read_to_end(&mut said).await
            }
            Some(tls) => {
                let mut stream = shaken(stream, tls).await?;
                stream.write_all(REQUEST).await?;
                stream.read_to_end(&mut said).await
            }
        }
    };
    timeout(DEADLINE, asking)
        .await
        .expect("an answer in time")?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

async fn shaken(
    stream: TcpStream,
    tls: &ClientTls,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let config = Arc::new(tls.config().expect("the files are right"));
    let name = ServerName::try_from("localhost").expect("a name");
    TlsConnector::from(config).connect(name, stream).await
}

#[tokio::test]
async fn a_certificate_says_who_asks_on_both_addresses() {
    let folder = folder();
    let ca = Authority::new(folder.path(), "ca");
    let hub = Secure::start(ca.server(false)).await;
    let spiffe = "spiffe://example.org/writer";
    for (tls, name) in [
        (ca.client("writer", &[]), "writer"),
        (ca.client("writer", &[spiffe]), spiffe),
        (ca.trusting(), "nobody"),
    ] {
        assert_eq!(called(&hub.url("https"), &tls).await, Ok(Code::NotFound));
        let said = asked(hub.http, Some(&tls)).await.expect("an answer");
        assert!(said.ends_with(&format!("\r\n{name}")), "{said}");
        let mut channel = channel(&hub.url("https"), &tls).await.expect("a channel");
        assert_eq!(who_over_grpc(&mut channel).await, name);
    }
}

/// The answer of `/who` on the address of gRPC.
async fn who_over_grpc(channel: &mut Channel) -> String {
    use tonic::codegen::{Body as _, Service as _, http::Request};
    std::future::poll_fn(|context| channel.poll_ready(context))
        .await
        .expect("it is open");
    let request = Request::get("/who").body(tonic::body::Body::empty());
    let answer = channel.call(request.expect("a request")).await;
    let mut body = answer.expect("an answer").into_body();
    let mut said = Vec::new();
    while let Some(frame) =
        std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await
    {
        if let Ok(data) = frame.expect("a frame").into_data() {
            said.extend_from_slice(&data);
        }
    }
    String::from_utf8(said).expect("it is text")
}

#[tokio::test]
async fn who_is_not_trusted_is_refused_with_a_reason() {
    let folder = folder();
    let ca = Authority::new(folder.path(), "ca");
    let stranger = Authority::new(folder.path(), "stranger");
    let hub = Secure::start(ca.server(true)).await;
    let url = hub.url("https");
    let good = ca.client("writer", &[]);
    assert_eq!(called(&url, &good).await, Ok(Code::NotFound));

    let by_address = url.replace("localhost", "127.0.0.1");
    let refused = called(&by_address, &good).await.expect_err("not its name");
    assert!(refused.contains("not for 127.0.0.1, but for"), "{refused}");
    let refused = called(&url, &stranger.trusting()).await;
    let refused = refused.expect_err("another CA");
    assert!(
        refused.contains("another CA than those of --ca"),
        "{refused}"
    );
    let refused = called(&url, &ClientTls::new()).await;
    let refused = refused.expect_err("no CA of this system");
    assert!(refused.contains("with --ca FILE"), "{refused}");

    let identified = |authority: &Authority, wanted: Wanted<'_>| {
        let (cert, key) = authority.make(&wanted);
        ca.trusting().identity(cert, key)
    };
    let writer = Wanted {
        file: "other",
        common_name: "writer",
        ..Wanted::default()
    };
    let expired = Wanted {
        file: "expired",
        is_expired: true,
        ..writer.clone()
    };
    let nameless = Wanted {
        file: "nameless",
        common_name: "",
        ..writer.clone()
    };
    for (tls, part) in [
        (ca.trusting(), "wants a client certificate"),
        (identified(&stranger, writer), "--client-ca has to name it"),
        (identified(&ca, expired), "has expired: renew it"),
        (identified(&ca, nameless), "names nobody"),
    ] {
        let refused = called(&url, &tls).await.expect_err("it is not let in");
        assert!(refused.contains(part), "{part}: {refused}");
    }
    // Whom the client certificate of another CA does not let in is nobody without one either.
    let refused = asked(hub.http, Some(&ca.trusting())).await;
    assert!(refused.is_err(), "{refused:?}");
}

#[tokio::test]
async fn a_certificate_that_has_expired_is_not_trusted() {
    let folder = folder();
    let ca = Authority::new(folder.path(), "ca");
    let (cert, key) = ca.make(&Wanted {
        file: "server",
        hosts: &["localhost"],
        is_expired: true,
        ..Wanted::default()
    });
    let hub = Secure::start(TlsFiles {
        cert,
        key,
        client_ca: None,
        requires_client_cert: false,
    })
    .await;
    let refused = called(&hub.url("https"), &ca.trusting()).await;
    let refused = refused.expect_err("it has expired");
    assert!(refused.contains("expired"), "{refused}");
}

#[tokio::test]
async fn a_peer_without_tls_is_told_to_use_it_and_the_other_way_round() {
    let folder = folder();
    let ca = Authority::new(folder.path(), "ca");
    let hub = Secure::start(ca.server(false)).await;
    let refused = called(&hub.url("http"), &ca.trusting()).await;
    let refused = refused.expect_err("it speaks TLS");
    assert!(refused.contains("use https://"), "{refused}");
    let said = asked(hub.http, None).await.expect("an answer");
    assert!(
        said.starts_with("HTTP/1.1 400 ") && said.contains("use https://"),
        "{said}"
    );
    let said = asked(hub.server.address(), None).await.expect("an answer");
    assert!(said.contains("use https://"), "{said}");

    let any = "127.0.0.1:0".parse().expect("an address");
    let plain = Server::start(Settings::default(), any, Routes::default()).await;
    let plain = plain.expect("a port");
    let url = format!("https://localhost:{}", plain.address().port());
    let refused = called(&url, &ca.trusting()).await.expect_err("no TLS");
    assert!(
        refused.contains("http://") || refused.contains("eof"),
        "{refused}"
    );
    // The port of HTTP is none of gRPC.
    let url = format!("https://localhost:{}", hub.http.port());
    let refused = called(&url, &ca.trusting()).await.expect_err("no gRPC");
    assert!(refused.contains("HTTP port"), "{refused}");
}

/// The certificate that an address shows.
async fn shown(address: SocketAddr, tls: &ClientTls) -> CertificateDer<'static> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let stream = shaken(stream, tls).await.expect("a handshake");
    let chain = stream.get_ref().1.peer_certificates().expect("a chain");
    chain[0].clone().into_owned()
}

#[tokio::test]
async fn a_renewed_certificate_is_for_connections_that_begin_then() {
    let folder = folder();
    let ca = Authority::new(folder.path(), "ca");
    let files = ca.server(true);
    let hub = Secure::start(files.clone()).await;
    let tls = ca.client("writer", &[]);
    let mut old = channel(&hub.url("https"), &tls).await.expect("a channel");
    let before = shown(hub.http, &tls).await;

    // A pair that does not belong together changes nothing: the files are looked at every two seconds.
    fs::write(&files.cert, "-----BEGIN NOTHING-----").expect("it is written");
    sleep(Duration::from_millis(2_500)).await;
    assert_eq!(shown(hub.http, &tls).await, before);

    ca.server(true);
    let begun = Instant::now();
    while shown(hub.http, &tls).await == before {
        assert!(begun.elapsed() < DEADLINE, "the files were not read again");
        sleep(Duration::from_millis(50)).await;
    }
    assert_ne!(shown(hub.server.address(), &tls).await, before);
    assert_eq!(who_over_grpc(&mut old).await, "writer", "it lives on");
}

/// Clients whose CA is no longer trusted are not let in again.
#[tokio::test]
async fn another_client_ca_is_for_connections_that_begin_then() {
    let folder = folder();
    let ca = Authority::new(folder.path(), "ca");
    let other = Authority::new(folder.path(), "other");
    let files = TlsFiles {
        client_ca: Some(folder.path().join("clients.pem")),
        ..ca.server(true)
    };
    let clients = |authority: &Authority| {
        fs::copy(authority.ca(), folder.path().join("clients.pem")).expect("it is written")
    };
    clients(&ca);
    let hub = Secure::start(files).await;
    let tls = ca.client("writer", &[]);
    assert_eq!(called(&hub.url("https"), &tls).await, Ok(Code::NotFound));
    clients(&other);
    let begun = Instant::now();
    while called(&hub.url("https"), &tls).await.is_ok() {
        assert!(begun.elapsed() < DEADLINE, "the file was not read again");
        sleep(Duration::from_millis(50)).await;
    }
}

/// The beginning of a ClientHello, of TLS 1.1 as it stands, with two cipher suites of that time.
const OLD_HELLO: [u8; 52] = {
    let mut hello = [7; 52];
    let head = [22, 3, 1, 0, 47, 1, 0, 0, 43, 3, 2];
    let mut at = 0;
    while at < head.len() {
        hello[at] = head[at];
        at += 1;
    }
    let tail = [0, 0, 4, 0xc0, 0x13, 0xc0, 0x09, 1, 0];
    at = 0;
    while at < tail.len() {
        hello[43 + at] = tail[at];
        at += 1;
    }
    hello
};

/// A thousand peers that never finish their handshake, on each address.
#[tokio::test]
async fn peers_that_stall_do_not_stop_others() {
    let folder = folder();
    let ca = Authority::new(folder.path(), "ca");
    let hub = Secure::start(ca.server(true)).await;
    let mut stalled = Vec::new();
    for address in [hub.server.address(), hub.http] {
        for _ in 0..1_000 {
            let mut stream = TcpStream::connect(address).await.expect("it listens");
            stream
                .write_all(&OLD_HELLO[..20])
                .await
                .expect("it is open");
            stalled.push(stream);
        }
    }
    let tls = ca.client("writer", &[]);
    assert_eq!(called(&hub.url("https"), &tls).await, Ok(Code::NotFound));
    let said = asked(hub.http, Some(&tls)).await.expect("an answer");
    assert!(said.ends_with("writer"), "{said}");
    // They are let go after 10 s.
    let mut last = stalled.pop().expect("there are many");
    let closed = timeout(2 * DEADLINE, last.read_u8()).await;
    assert!(closed.expect("it is let go").is_err());
}

/// Downgrades: TLS 1.1 is refused with a fatal alert (RFC 8446, section 6).
#[tokio::test]
async fn older_versions_are_refused() {
    const ALERT: u8 = 21;
    const FATAL: u8 = 2;
    let folder = folder();
    let ca = Authority::new(folder.path(), "ca");
    let hub = Secure::start(ca.server(false)).await;
    for address in [hub.server.address(), hub.http] {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(&OLD_HELLO).await.expect("it is open");
        let mut answer = Vec::new();
        let read = timeout(DEADLINE, stream.read_to_end(&mut answer)).await;
        read.expect("it is let go").expect("an answer");
        assert_eq!((answer.len(), answer[0], answer[5]), (7, ALERT, FATAL));
    }
}

#[tokio::test]
async fn parts_of_this_process_need_no_certificate() {
    let folder = folder();
    let ca = Authority::new(folder.path(), "ca");
    let hub = Secure::start(ca.server(true)).await;
    let authority = format!("localhost:{}", hub.server.address().port());
    let links = hub.server.links().expect("it has TLS");
    let offer = in_process::offer(authority, links);
    let nobody = ClientTls::new();
    assert_eq!(called(&hub.url("https"), &nobody).await, Ok(Code::NotFound));
    drop(offer);
    assert!(called(&hub.url("https"), &nobody).await.is_err());
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = folder();
    let ca = Authority::new(folder.path(), "ca");
    let good = ca.server(false);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _context = runtime.enter();
    let other = ca.make(&Wanted {
        file: "other",
        ..Wanted::default()
    });
    let missing = Path::new("/nowhere/x.pem").to_owned();
    for (files, part) in [
        (
            TlsFiles {
                cert: missing,
                ..good.clone()
            },
            "/nowhere/x.pem",
        ),
        (
            TlsFiles {
                key: other.1,
                ..good.clone()
            },
            "cannot be used together",
        ),
        (
            TlsFiles {
                key: other.0,
                ..good.clone()
            },
            "no private key",
        ),
        (
            TlsFiles {
                client_ca: Some(good.key.clone()),
                ..good.clone()
            },
            "no certificate",
        ),
    ] {
        let error = Tls::open(files).expect_err("it is wrong").to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}
