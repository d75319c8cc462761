//! Issuers whose answers do harm: huge ones, endless ones, slow ones, and others that are no set of keys.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agenthub_access::{
    Credential, Denied, Identities, IssuerSettings, Sources,
    testing::{IssuerKey, claims, key_set},
};
use agenthub_oidc::keep_keys;
use agenthub_outbound::{Connector, Settings};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{Instant, sleep},
};

/// Time in which a fetch is given up and tried again, twice 10 s and what a busy machine needs.
const SOON: Duration = Duration::from_secs(60);

/// The most that the sockets of both sides may hold of an answer that nobody reads, in bytes.
const BUFFERED: usize = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attack {
    /// 100 MB, as announced.
    Huge,
    /// Without an end.
    Endless,
    /// A byte now and then.
    Drip,
    Silent,
    Deep,
    /// 100,000 keys.
    Many,
    /// To a place where right keys are.
    Redirect,
}

/// An issuer, with what was asked of it and taken from it.
#[derive(Debug, Default)]
struct Counted {
    fetches: AtomicUsize,
    redirected: AtomicUsize,
    /// The most bytes of one answer that were taken.
    taken: AtomicUsize,
}

async fn answer(mut socket: TcpStream, attack: Attack, keys: String, counted: &Counted) {
    let mut request = [0; 4096];
    let Ok(read) = socket.read(&mut request).await else {
        return;
    };
    let path = String::from_utf8_lossy(&request[..read]).into_owned();
    if path.starts_with("GET /elsewhere") {
        counted.redirected.fetch_add(1, Ordering::Relaxed);
        let _ = socket.write_all(whole(&keys).as_bytes()).await;
        return;
    }
    counted.fetches.fetch_add(1, Ordering::Relaxed);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    match attack {
        Attack::Huge | Attack::Endless => {
            let (length, block) = match attack {
                Attack::Huge => ("Content-Length: 104857600", " ".repeat(64 << 10)),
                _ => (
                    "Transfer-Encoding: chunked",
                    format!("10000\r\n{}\r\n", " ".repeat(64 << 10)),
                ),
            };
            let begun = format!("{head}{length}\r\n\r\n");
            let mut taken = 0;
            if socket.write_all(begun.as_bytes()).await.is_ok() {
                while taken < 100 << 20 && socket.write_all(block.as_bytes()).await.is_ok() {
                    taken += block.len();
                    counted.taken.fetch_max(taken, Ordering::Relaxed);
                }
            }
        }
        Attack::Drip => {
            let begun = format!("{head}Content-Length: 100000\r\n\r\n{{");
            if socket.write_all(begun.as_bytes()).await.is_ok() {
                while socket.write_all(b" ").await.is_ok() {
                    sleep(Duration::from_millis(20)).await;
                }
            }
        }
        Attack::Silent => sleep(SOON).await,
        Attack::Deep => {
            let body = format!("{{\"keys\": {}", "[".repeat(200_000));
            let _ = socket.write_all(whole(&body).as_bytes()).await;
        }
        Attack::Many => {
            // The first one is right.
            let begun = keys.strip_suffix("]}").expect("a list of keys");
            let body = format!("{begun}{}]}}", ",1".repeat(99_999));
            let _ = socket.write_all(whole(&body).as_bytes()).await;
        }
        Attack::Redirect => {
            let moved = "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n";
            let _ = socket.write_all(moved.as_bytes()).await;
        }
    }
}

fn whole(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

async fn nobody_comes_in_by(attack: Attack) {
    let key = IssuerKey::ed25519("1");
    let keys = key_set(&[&key]).to_string();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let counted = Arc::<Counted>::default();
    let mut tasks = JoinSet::new();
    let serving = Arc::clone(&counted);
    tasks.spawn(async move {
        let mut answers = JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            let (keys, counted) = (keys.clone(), Arc::clone(&serving));
            answers.spawn(async move { answer(socket, attack, keys, &counted).await });
        }
    });
    let issuer = format!("http://{address}");
    let text = format!(
        "issuer = '{issuer}'\naudience = 'hub'\njwks = '{issuer}/keys'\nrefresh_seconds = 10"
    );
    let mut settings: IssuerSettings = toml::from_str(&text).expect("settings");
    settings.name = "corp".to_owned();
    let sources = Sources {
        issuers: vec![settings],
        ..Sources::default()
    };
    let identities = Identities::open(sources).expect("right");
    let connector = Connector::new(Settings {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        ..Settings::default()
    });
    let kept = identities.clone();
    tasks.spawn(async move { keep_keys(kept, connector).await });
    let until = Instant::now() + SOON;
    // When it is asked again, the answer before was given up.
    while counted.fetches.load(Ordering::Relaxed) < 2 {
        assert!(Instant::now() < until, "{attack:?} is not given up");
        sleep(Duration::from_millis(50)).await;
    }
    let claims = claims(&issuer, "hub", &json!({}));
    let token = format!("Bearer {}", key.sign(&claims));
    let denied = identities.authenticate(Credential::Authorization(&token));
    let denied = denied.expect_err("there are no keys");
    assert!(
        matches!(denied, Denied::Unavailable(_)),
        "{attack:?}: {denied}"
    );
    let taken = counted.taken.load(Ordering::Relaxed);
    assert!(taken <= BUFFERED, "{attack:?}: {taken} bytes are read");
    assert_eq!(
        counted.redirected.load(Ordering::Relaxed),
        0,
        "nobody goes there"
    );
}

/// Issue 25: what an issuer answers with is bounded in size, time and depth, and leads nowhere else.
#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_that_does_harm_lets_nobody_in_and_is_given_up() {
    let mut all = JoinSet::new();
    for attack in [
        Attack::Huge,
        Attack::Endless,
        Attack::Drip,
        Attack::Silent,
        Attack::Deep,
        Attack::Many,
        Attack::Redirect,
    ] {
        all.spawn(nobody_comes_in_by(attack));
    }
    while let Some(done) = all.join_next().await {
        done.expect("it does not panic");
    }
}
