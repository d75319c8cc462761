//! Keys of an issuer over real HTTP.

use std::time::Duration;

use agenthub_access::{
    Admitted, Credential, Denied, Identities, IssuerSettings, Sources, testing::IssuerKey,
};
use agenthub_oidc::{keep_keys, testing::TestIssuer};
use agenthub_outbound::{Connector, Settings};
use serde_json::json;
use tokio::{
    net::TcpSocket,
    task::JoinSet,
    time::{Instant, sleep},
};

/// Time for what has to happen.
const SOON: Duration = Duration::from_secs(20);

struct Scene {
    issuer: TestIssuer,
    key: IssuerKey,
    identities: Identities,
    _keeping: JoinSet<()>,
}

fn identities(issuer: &str, more: &str) -> Identities {
    let text = format!("issuer = '{issuer}'\naudience = 'hub'\n{more}");
    let mut settings: IssuerSettings = toml::from_str(&text).expect("settings");
    settings.name = "corp".to_owned();
    let sources = Sources {
        issuers: vec![settings],
        ..Sources::default()
    };
    Identities::open(sources).expect("right")
}

fn connector(allow: &[&str]) -> Connector {
    let allow = allow.iter().map(|n| n.parse().expect("a network"));
    Connector::new(Settings {
        allow: allow.collect(),
        ..Settings::default()
    })
}

fn keep(identities: &Identities, connector: Connector) -> JoinSet<()> {
    let mut keeping = JoinSet::new();
    keeping.spawn(keep_keys(identities.clone(), connector));
    keeping
}

impl Scene {
    async fn new(more: &str) -> Self {
        let key = IssuerKey::ed25519("1");
        let issuer = TestIssuer::start(&key).await;
        let identities = identities(issuer.issuer(), more);
        let keeping = keep(&identities, connector(&["127.0.0.0/8"]));
        Self {
            issuer,
            key,
            identities,
            _keeping: keeping,
        }
    }

    fn token(&self, key: &IssuerKey) -> String {
        key.sign(&self.issuer.claims("hub", &json!({})))
    }
}

fn let_in(identities: &Identities, token: &str) -> Result<Admitted, Denied> {
    identities.authenticate(Credential::Authorization(&format!("Bearer {token}")))
}

/// Tries until it is let in, as clients do that are told to try again.
async fn is_let_in_soon(identities: &Identities, token: &str) {
    soon("it is let in", || let_in(identities, token).is_ok()).await;
}

async fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < deadline, "still not so: {what}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn keys_are_found_fetched_and_fetched_again_when_they_have_changed() {
    let scene = Scene::new("").await;
    is_let_in_soon(&scene.identities, &scene.token(&scene.key)).await;
    assert_eq!(scene.issuer.fetches(), 1);
    let second = IssuerKey::p256("2");
    scene.issuer.set_keys(&[&second]);
    // The name of the key is not known: they are fetched, but not for a while after they were.
    is_let_in_soon(&scene.identities, &scene.token(&second)).await;
    assert_eq!(scene.issuer.fetches(), 2);
    let gone = let_in(&scene.identities, &scene.token(&scene.key)).expect_err("gone");
    assert!(matches!(gone, Denied::Unauthenticated(_)), "{gone}");
    // Whoever invents names does not have the issuer asked each time.
    for name in 0..100 {
        let key = IssuerKey::ed25519(&format!("made up {name}"));
        assert!(let_in(&scene.identities, &scene.token(&key)).is_err());
    }
    // Long enough for several looks at what is missing: it is not asked again.
    sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.issuer.fetches(), 2);
}

#[tokio::test]
async fn an_issuer_that_is_away_at_the_start_is_found_later() {
    // A port that is taken, and on which nobody listens yet.
    let socket = TcpSocket::new_v4().expect("a socket");
    let any = "127.0.0.1:0".parse().expect("an address");
    socket.bind(any).expect("a port");
    let address = socket.local_addr().expect("a port");
    let identities = identities(&format!("http://{address}"), "");
    let _keeping = keep(&identities, connector(&["127.0.0.0/8"]));
    let key = IssuerKey::ed25519("1");
    let claims = agenthub_access::testing::claims(&format!("http://{address}"), "hub", &json!({}));
    let token = key.sign(&claims);
    let away = let_in(&identities, &token).expect_err("no keys");
    assert!(matches!(away, Denied::Unavailable(_)), "{away}");
    let listener = socket.listen(16).expect("it is bound");
    let _issuer = TestIssuer::on(listener, &key);
    is_let_in_soon(&identities, &token).await;
}

#[tokio::test]
async fn keys_stay_while_the_issuer_is_away_slow_or_answers_with_something_else() {
    let scene = Scene::new("refresh_seconds = 10").await;
    let token = scene.token(&scene.key);
    is_let_in_soon(&scene.identities, &token).await;
    // As a page that says what is wrong, more than is read, and nothing in time.
    scene.issuer.answer_with(Some("<html>".to_owned()));
    let another = IssuerKey::ed25519("other");
    let asked_again = async || {
        let fetches = scene.issuer.fetches();
        soon("it is asked again", || {
            let _ = let_in(&scene.identities, &scene.token(&another));
            scene.issuer.fetches() > fetches
        })
        .await;
        assert!(let_in(&scene.identities, &token).is_ok());
    };
    asked_again().await;
    scene.issuer.answer_with(Some(" ".repeat(1024 * 1024)));
    asked_again().await;
    // When it is asked again, the answer before was looked at; this one does not come.
    scene.issuer.delay(Duration::from_secs(60));
    asked_again().await;
    let begun = std::time::Instant::now();
    let denied = let_in(&scene.identities, &scene.token(&another)).expect_err("unknown");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "nothing waits: {denied}"
    );
}

/// Each of these answers is no set of keys, so that nobody is let in.
#[tokio::test]
async fn what_is_no_answer_of_this_issuer_lets_nobody_in() {
    let key = IssuerKey::ed25519("1");
    let set = agenthub_access::testing::key_set(&[&key]).to_string();
    let huge = set.replace(
        "{\"keys\"",
        &format!("{{{}\"keys\"", " ".repeat(300 * 1024)),
    );
    for (body, name, allow) in [
        (Some(huge), None, &["127.0.0.0/8"][..]),
        (None, Some("https://other.example"), &["127.0.0.0/8"]),
        // An address of this machine is one that has to be allowed, as everywhere.
        (None, None, &[]),
    ] {
        let issuer = TestIssuer::start(&key).await;
        issuer.answer_with(body);
        if let Some(name) = name {
            issuer.name(name);
        }
        let identities = identities(issuer.issuer(), "");
        let _keeping = keep(&identities, connector(allow));
        match allow {
            // Nothing is asked, ever.
            [] => sleep(Duration::from_millis(800)).await,
            // When it is asked again, the first answer was no good.
            _ => soon("it is asked again", || issuer.discoveries() > 1).await,
        }
        let token = key.sign(&issuer.claims("hub", &json!({})));
        let denied = let_in(&identities, &token).expect_err("no keys");
        assert!(
            matches!(denied, Denied::Unavailable(_)),
            "{name:?}: {denied}"
        );
        assert_eq!(issuer.fetches() > 0, name.is_none() && !allow.is_empty());
    }
}
