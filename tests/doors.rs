//! Every door of a hub with TLS, tokens, client certificates and an issuer elsewhere: A2A, MCP, a Cortex of its own, and each command (issue 25).

mod clients;
mod commands;
mod cortex;
mod extended_cards;
mod mcp;
mod revoking;

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use agenthub_access::testing::IssuerKey;
use agenthub_oidc::testing::TestIssuer;
use agenthub_proto::{
    socket::{HubAddress, connect},
    tls::ClientTls,
};
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;
use tonic::transport::Channel;

use crate::harness::{
    Finished, Process, System,
    certificates::{CLIENT_CA, SERVER},
    eventually, free_address, until_known,
};

/// Deadline of a connection, and of an answer.
const WITHIN: Duration = Duration::from_secs(30);

/// A hub with all of them.
struct Scene {
    system: System,
    /// `host:port` of HTTP.
    http: String,
    issuer: TestIssuer,
    key: Arc<IssuerKey>,
    _up: Process,
}

/// An answer of HTTP.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Scene {
    async fn start() -> Self {
        Self::start_as(&["up", "--no-chat"]).await
    }

    /// The same with this command, which serves a hub.
    async fn start_as(command: &[&str]) -> Self {
        let key = Arc::new(IssuerKey::p256("1"));
        let issuer = TestIssuer::start(&key).await;
        let (grpc, http) = (free_address(), free_address());
        let system = System::bare(grpc.clone());
        let folder = system.folder();
        let settings = format!(
            "[outbound]\nallow = ['127.0.0.0/8']\n\
             [access.oidc.corp]\nissuer = '{}'\naudience = 'hub'\ndefault_roles = ['user']\n\
             [access.principals.writer]\nroles = ['user']\n\
             [a2a]\npublic_url = 'https://{http}'\npublic_grpc = '{grpc}'\nextended_card_token_env = 'CARDS'\n\
             [a2a.extended_cards]\nagent_echo = 'echo.json'\n",
            issuer.issuer()
        );
        fs::write(folder.join("agenthub.toml"), settings).expect("it is written");
        let card = r#"{"description": "More of it"}"#;
        fs::write(folder.join("echo.json"), card).expect("it is written");
        system.make_certificates();
        let addresses = ["--json", "--grpc", &grpc, "--http", &http];
        let secret = PathBuf::from(CARDS);
        let args = [command, &addresses, &SERVER, &CLIENT_CA].concat();
        let up = Process::start_in(&[("CARDS", &secret)], folder, "", &args);
        up.line("the banner");
        Self {
            system,
            http,
            issuer,
            key,
            _up: up,
        }
    }

    fn url(&self) -> String {
        format!("https://{}", self.system.grpc())
    }

    /// A token with its id, which the hub knows.
    fn issue(&self, name: &str, role: &str) -> (String, String) {
        let args = ["tokens", "issue", "--json", name, "--role", role];
        let issued = &self.system.json(&args)[0];
        let text = |key: &str| issued[key].as_str().expect("text").to_owned();
        let (token, id) = (text("token"), text("id"));
        let file = self.keep(name, &token);
        until_known(name, |whoami| {
            self.run(&[whoami, &["--token-file", &file]].concat(), "")
        });
        (token, id)
    }

    /// The file of a token.
    fn keep(&self, name: &str, token: &str) -> String {
        let file = format!("{name}.token");
        fs::write(self.system.folder().join(&file), token).expect("it is written");
        file
    }

    /// A token of the issuer, once the hub can check it.
    fn jwt(&self) -> String {
        let token = self.key.sign(&self.issuer.claims("hub", &json!({})));
        let file = self.keep("jwt", &token);
        eventually("the keys have come", || {
            let who = self.run(&["access", "whoami", "--token-file", &file], "");
            (who.code == Some(0)).then_some(())
        });
        token
    }

    /// A command that calls the hub with TLS.
    fn start_client(&self, args: &[&str]) -> Process {
        let ca = PathBuf::from("certs/ca.pem");
        let environment = [("AGENTHUB_CA", &ca)];
        Process::start_in(&environment, self.system.folder(), &self.url(), args)
    }

    fn run(&self, args: &[&str], input: &str) -> Finished {
        self.start_client(args).finish(input)
    }

    /// Trusts the hub, and shows nobody's certificate.
    fn nobody(&self) -> ClientTls {
        ClientTls::new().ca(self.system.folder().join("certs/ca.pem"))
    }

    /// The same with the certificate of `writer`.
    fn writer(&self) -> ClientTls {
        let certs = self.system.folder().join("certs");
        self.nobody()
            .identity(certs.join("writer.pem"), certs.join("writer.key"))
    }
}

/// A channel to an address of gRPC.
async fn channel(url: &str, tls: ClientTls) -> Channel {
    let address = HubAddress::parse(url).expect("an address");
    let endpoint = address.endpoint();
    let connector = tower::service_fn(move |_| {
        let (address, tls) = (address.clone(), tls.clone());
        async move { connect(&address, &tls, WITHIN).await }
    });
    let channel = endpoint.connect_with_connector(connector).await;
    channel.expect("the hub listens")
}

/// A request over HTTPS.
async fn https(
    address: &str,
    tls: &ClientTls,
    (method, path): (&str, &str),
    headers: &str,
    body: &str,
) -> Answer {
    let config = Arc::new(tls.config().expect("the files are right"));
    let tcp = TcpStream::connect(address).await.expect("it listens");
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let mut stream = TlsConnector::from(config)
        .connect(name, tcp)
        .await
        .expect("the handshake is done");
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream
        .write_all(request.as_bytes())
        .await
        .expect("it is read");
    let mut text = Vec::new();
    let read = tokio::time::timeout(WITHIN, stream.read_to_end(&mut text));
    // Some end without TLS's goodbye.
    let _ = read.await.expect("it answers");
    let text = String::from_utf8(text).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok());
    Answer {
        status: status.expect("a status"),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// The token of extended cards, where there are no identities.
const CARDS: &str = "extended-0123456789";

/// The header that shows a token; empty without one.
fn authorization(token: Option<&str>) -> String {
    let header = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    header.unwrap_or_default()
}
