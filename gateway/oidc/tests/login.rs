//! People who log in with an issuer, over real HTTP.

use std::{fs, sync::Arc};

use agenthub_access::{Identities, IssuerSettings, Sources, testing::IssuerKey};
use agenthub_oidc::{
    Answer, Begun, LoginError, Logins, keep_keys,
    testing::{TestClient, TestIssuer},
};
use agenthub_outbound::{Connector, Limits, Settings};
use bytes::Bytes;
use http::Request;
use serde_json::json;
use tokio::task::JoinSet;
use url::Url;

struct Scene {
    issuer: TestIssuer,
    client: TestClient,
    logins: Logins,
    connector: Connector,
    _folder: tempfile::TempDir,
    _keeping: JoinSet<()>,
}

/// Parameters with which the issuer leads back.
struct Back {
    url: Url,
}

impl Back {
    fn get(&self, name: &str) -> String {
        let pair = self.url.query_pairs().find(|(found, _)| found == name);
        pair.map_or(String::new(), |(_, value)| value.into_owned())
    }
}

const BACK: &str = "http://hub.example/ui/login/back";

impl Scene {
    async fn new() -> Self {
        let key = Arc::new(IssuerKey::ed25519("1"));
        let issuer = TestIssuer::start(&key).await;
        let client = TestClient {
            key,
            id: "pages".to_owned(),
            secret: Some("the-secret".to_owned()),
            claims: json!({}),
        };
        issuer.set_client(client.clone());
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret");
        fs::write(&file, "the-secret\n").expect("it is written");
        let text = format!(
            "issuer = '{}'\naudience = 'hub'\nclient_id = 'pages'\nclient_secret_file = '{}'",
            issuer.issuer(),
            file.display()
        );
        let mut settings: IssuerSettings = toml::from_str(&text).expect("settings");
        settings.name = "corp".to_owned();
        let identities = Identities::open(Sources {
            issuers: vec![settings],
            ..Sources::default()
        });
        let identities = identities.expect("right");
        let connector = Connector::new(Settings {
            allow: vec!["127.0.0.0/8".parse().expect("a network")],
            ..Settings::default()
        });
        let mut keeping = JoinSet::new();
        keeping.spawn(keep_keys(identities.clone(), connector.clone()));
        while identities.issuers()[0].keys().is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        Self {
            issuer,
            client,
            logins: Logins::new(identities, connector.clone()),
            connector,
            _folder: folder,
            _keeping: keeping,
        }
    }

    async fn begin(&self) -> (Begun, Back) {
        let begun = self.logins.begin("corp", BACK, "/ui/tasks").await;
        let begun = begun.expect("the issuer says where");
        let request = Request::get(&begun.location).body(Bytes::new());
        let request = request.expect("an address");
        let led = self.connector.request(request, Limits::default()).await;
        let led = led.expect("the issuer is there");
        let location = led.headers.get("location").expect("it leads back");
        let url = location.to_str().expect("text").parse().expect("a URL");
        (begun, Back { url })
    }

    async fn finish(
        &self,
        back: &Back,
        traveller: &str,
    ) -> Result<agenthub_oidc::Arrived, LoginError> {
        let (state, code) = (back.get("state"), back.get("code"));
        let (error, issuer) = (back.get("error"), back.get("iss"));
        let answer = Answer {
            state: &state,
            code: &code,
            error: &error,
            issuer: Some(&issuer),
            traveller,
        };
        self.logins.finish(answer).await
    }
}

/// Issue 25: the authorization code flow with PKCE, state and nonce. spec: RFC 7636, RFC 9207
#[tokio::test]
async fn who_comes_back_from_the_issuer_is_who_the_issuer_says() {
    let scene = Scene::new().await;
    assert_eq!(scene.logins.names().collect::<Vec<_>>(), ["corp"]);
    let (begun, back) = scene.begin().await;
    assert!(back.url.as_str().starts_with(BACK), "{}", back.url);
    assert!(
        !begun.location.contains(&begun.traveller),
        "it is the browser's"
    );
    // Another browser, and another state, end nothing.
    let other = scene.finish(&back, "another").await;
    assert!(matches!(other, Err(LoginError::NoQuestion)), "{other:?}");
    let arrived = scene.finish(&back, &begun.traveller).await.expect("right");
    assert_eq!(arrived.admitted.caller.principal, "corp:alice");
    assert_eq!(arrived.next, "/ui/tasks");
    let again = scene.finish(&back, &begun.traveller).await;
    assert!(matches!(again, Err(LoginError::NoQuestion)), "{again:?}");
}

#[tokio::test]
async fn answers_that_are_not_of_this_login_let_nobody_in() {
    let scene = Scene::new().await;
    let unknown = scene.logins.begin("other", BACK, "/").await;
    assert!(matches!(unknown, Err(LoginError::NoIssuer)), "{unknown:?}");
    // Another issuer mixes itself in.
    let (begun, mut back) = scene.begin().await;
    let mixed = back.url.as_str().replace("iss=", "iss=x");
    back.url = mixed.parse().expect("a URL");
    let mixed = scene.finish(&back, &begun.traveller).await;
    assert!(matches!(mixed, Err(LoginError::NoQuestion)), "{mixed:?}");
    // The code of one login is of no use in another: its verifier is another one.
    let ((_, stolen), (begun, mut back)) = (scene.begin().await, scene.begin().await);
    let code = format!("code={}", back.get("code"));
    let injected = back
        .url
        .as_str()
        .replace(&code, &format!("code={}", stolen.get("code")));
    back.url = injected.parse().expect("a URL");
    let injected = scene.finish(&back, &begun.traveller).await;
    assert!(
        matches!(injected, Err(LoginError::Issuer(_))),
        "{injected:?}"
    );
    // The issuer says no.
    let (begun, mut back) = scene.begin().await;
    let denied = back
        .url
        .as_str()
        .replace("code=", "error=access_denied%0A&x=");
    back.url = denied.parse().expect("a URL");
    let denied = scene.finish(&back, &begun.traveller).await.expect_err("no");
    assert_eq!(denied.to_string(), "the issuer says: access_denied\\n");
    // It does not know the secret of this client any more.
    scene.issuer.set_client(TestClient {
        secret: Some("another".to_owned()),
        ..scene.client.clone()
    });
    let (begun, back) = scene.begin().await;
    let refused = scene.finish(&back, &begun.traveller).await.expect_err("no");
    assert!(refused.to_string().contains("HTTP 401"), "{refused}");
    assert!(!refused.to_string().contains("secret"), "{refused}");
    // Its token is signed by somebody else, about nobody, or the answer to another question.
    for (key, claims) in [
        (Arc::new(IssuerKey::ed25519("1")), json!({})),
        (Arc::clone(&scene.client.key), json!({"sub": null})),
        (Arc::clone(&scene.client.key), json!({"aud": "hub"})),
        (Arc::clone(&scene.client.key), json!({"exp": 1})),
        (Arc::clone(&scene.client.key), json!({"nonce": "another"})),
        (Arc::clone(&scene.client.key), json!({"nonce": null})),
    ] {
        scene.issuer.set_client(TestClient {
            key,
            claims,
            ..scene.client.clone()
        });
        let (begun, back) = scene.begin().await;
        let denied = scene.finish(&back, &begun.traveller).await;
        assert!(matches!(denied, Err(LoginError::Denied(_))), "{denied:?}");
    }
}
