//! Logging in to the pages, and tokens of an issuer elsewhere, with the real program (issue 25).

use std::{fs, sync::Arc};

use agenthub_access::testing::IssuerKey;
use agenthub_oidc::testing::{TestClient, TestIssuer};
use serde_json::{Value, json};

use crate::{
    harness::{Finished, Process, System, eventually, free_address, until_known},
    http::{Answer, send},
};

const BROWSER: &str = "Accept: text/html,application/xhtml+xml\r\n";

/// A hub that trusts an issuer, and whose pages are for those who are known.
struct Scene {
    system: System,
    http: String,
    issuer: TestIssuer,
    key: Arc<IssuerKey>,
    _up: Process,
}

impl Scene {
    async fn start() -> Self {
        let key = Arc::new(IssuerKey::p256("1"));
        let issuer = TestIssuer::start(&key).await;
        issuer.set_client(TestClient {
            key: Arc::clone(&key),
            id: "pages".to_owned(),
            secret: None,
            claims: json!({"sub": "dora"}),
        });
        let http = free_address();
        let system = System::bare(free_address());
        let settings = format!(
            "[outbound]\nallow = ['127.0.0.0/8']\n[access.oidc.corp]\nissuer = '{}'\naudience = 'hub'\ndefault_roles = ['user']\nclient_id = 'pages'\n\
             groups = 'groups'\nroles.ops = ['operator']\n",
            issuer.issuer()
        );
        fs::write(system.folder().join("agenthub.toml"), settings).expect("it is written");
        let grpc = system.grpc().to_owned();
        let up = system.start(&["up", "--json", "--grpc", &grpc, "--http", &http]);
        up.line("the banner");
        Self {
            system,
            http,
            issuer,
            key,
            _up: up,
        }
    }

    /// A token with its id, which the hub knows: an attempt to log in with one that it does not know counts as failed.
    fn issue(&self, name: &str, role: &str) -> (String, String) {
        let issued = &self
            .system
            .json(&["tokens", "issue", "--json", name, "--role", role])[0];
        let text = |key: &str| issued[key].as_str().expect("text").to_owned();
        let (token, id) = (text("token"), text("id"));
        until_known(name, |whoami| self.run_as(&token, whoami));
        (token, id)
    }

    /// Waits until the hub has the issuer's keys.
    fn until_keys_are_there(&self) {
        until_known("corp:alice", |whoami| {
            self.run_as(&self.jwt(&json!({})), whoami)
        });
    }

    fn jwt(&self, others: &Value) -> String {
        self.key.sign(&self.issuer.claims("hub", others))
    }

    fn run_as(&self, token: &str, args: &[&str]) -> Finished {
        let file = self.system.folder().join("jwt.token");
        fs::write(&file, token).expect("it is written");
        let file = file.to_str().expect("a path").to_owned();
        self.system
            .run(&[args, &["--token-file", &file]].concat(), "")
    }

    fn get(&self, path: &str, headers: &str) -> Answer {
        let headers = format!("{BROWSER}{headers}");
        send(&self.http, "GET", path, &headers, "").expect("an answer")
    }

    fn post(&self, path: &str, headers: &str, body: &str) -> Answer {
        let headers =
            format!("{BROWSER}Content-Type: application/x-www-form-urlencoded\r\n{headers}");
        send(&self.http, "POST", path, &headers, body).expect("an answer")
    }

    fn own(&self) -> String {
        format!("Origin: http://{}\r\n", self.http)
    }

    /// Logs in with a token, and gives the header that the browser sends from then on.
    fn log_in(&self, token: &str) -> String {
        let body = format!("token={token}&next=/ui/tasks");
        let answer = self.post("/ui/login", &self.own(), &body);
        let to = answer.header("location");
        assert_eq!((answer.status, to), (303, Some("/ui/tasks")));
        cookie(&answer)
    }
}

fn cookie(answer: &Answer) -> String {
    let given = answer.header("set-cookie").expect("a cookie");
    let (pair, attributes) = given.split_once(';').expect("attributes");
    assert!(pair.starts_with("agenthub="), "{given}");
    assert_eq!(attributes, " Path=/; HttpOnly; SameSite=Strict");
    format!("Cookie: {pair}\r\n")
}

/// Tokens of the issuer are identities for commands, HTTP and gRPC alike, with the rights that their groups give.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_an_issuer_is_one_for_commands_and_for_http() {
    let scene = Scene::start().await;
    scene.until_keys_are_there();
    let who = scene.run_as(&scene.jwt(&json!({})), &["access", "whoami"]);
    assert!(who.stdout.contains("corp:alice"), "{who:?}");
    let asked = scene.run_as(
        &scene.jwt(&json!({})),
        &["publish", "--to", "agent_echo", "--wait", "hello"],
    );
    assert_eq!(asked.code, Some(0), "{asked:?}");
    for (others, code) in [
        (json!({}), 403),
        (json!({"groups": ["ops"]}), 200),
        (json!({"groups": ["admin"]}), 403),
        (json!({"aud": "other"}), 401),
        (json!({"exp": 1}), 401),
    ] {
        let header = format!("Authorization: Bearer {}\r\n", scene.jwt(&others));
        let metrics = send(&scene.http, "GET", "/metrics", &header, "").expect("an answer");
        assert_eq!(metrics.status, code, "{others}");
    }
    let forged = IssuerKey::p256("1").sign(&scene.issuer.claims("hub", &json!({})));
    let refused = scene.run_as(&forged, &["agents", "list"]);
    assert_ne!(refused.code, Some(0));
    assert!(
        refused.stderr.contains("signature does not fit"),
        "{refused:?}"
    );
    assert!(!refused.stderr.contains(&forged), "{refused:?}");
}

/// Issue 25: a login with a cookie for the page (HttpOnly, SameSite, CSRF-safe); Origin and Host checked.
#[tokio::test(flavor = "multi_thread")]
async fn people_log_in_to_the_pages_with_a_token_and_out_again() {
    let scene = Scene::start().await;
    let (alice, id) = scene.issue("alice", "user");
    let (root, _) = scene.issue("root", "admin");
    let own = scene.own();
    // A browser is led to the login, and back to where it wanted to go; a program is told what is missing.
    let led = scene.get("/ui/runs?state=failed", "");
    let login = "/ui/login?next=/ui/runs%3Fstate%3Dfailed";
    assert_eq!((led.status, led.header("location")), (303, Some(login)));
    let program = send(&scene.http, "GET", "/ui/runs", "", "").expect("an answer");
    assert_eq!(program.status, 401);
    let form = scene.get(login, "").text();
    assert!(form.contains("value=\"/ui/runs?state=failed\""), "{form}");
    assert!(form.contains("/ui/login/with/corp"), "{form}");
    // Nobody else's page logs anybody in or out, nor does a program without an origin.
    let body = format!("token={alice}");
    for origin in ["", "Origin: https://evil.example\r\n", "Origin: null\r\n"] {
        let refused = scene.post("/ui/login", origin, &body);
        assert_eq!(
            (refused.status, refused.header("set-cookie")),
            (403, None),
            "{origin}"
        );
    }
    let wrong = scene.post("/ui/login", &own, &format!("token=ah_{}", "A".repeat(43)));
    assert_eq!((wrong.status, wrong.header("set-cookie")), (403, None));
    assert!(wrong.text().contains("not known to this hub"));

    let session = scene.log_in(&alice);
    let page = scene.get("/", &session);
    assert_eq!(page.status, 200);
    let page = page.text();
    assert!(
        page.contains("<span>alice</span>") && page.contains("Log out"),
        "{page}"
    );
    assert!(
        !page.contains("dead letters") && !page.contains("/ui/mailboxes"),
        "{page}"
    );
    assert!(!page.contains(&alice), "a page does not show the token");
    assert_eq!(scene.get("/ui/mailboxes", &session).status, 403);
    assert_eq!(scene.get("/ui/events", &session).status, 403);
    // The cookie is one of pages alone.
    let elsewhere = send(&scene.http, "GET", "/v1/runs", &session, "").expect("an answer");
    assert_eq!(elsewhere.status, 401);
    // A page of another site changes nothing with it, nor does one without an origin.
    for (origin, status) in [
        (&*own, 303),
        ("Origin: https://evil.example\r\n", 403),
        ("", 403),
    ] {
        let headers = format!("{session}{origin}");
        let asked = scene.post("/ui/agents/agent_echo/ask", &headers, "text=hello");
        assert_eq!(asked.status, status, "{origin}");
    }
    // Pages ask in the name of who looks at them: each sees what that one may.
    let tasks = scene.get("/ui/tasks", &session).text();
    assert!(tasks.contains("alice~page"), "{tasks}");
    let bob = scene.log_in(&scene.issue("bob", "user").0);
    assert!(!scene.get("/ui/tasks", &bob).text().contains("alice~page"));
    let everything = scene.log_in(&root);
    assert!(
        scene
            .get("/ui/tasks", &everything)
            .text()
            .contains("alice~page")
    );
    assert_eq!(scene.get("/ui/mailboxes", &everything).status, 200);
    let headers = format!("{session}{own}");
    assert_eq!(
        scene.post("/ui/chat/t1", &headers, "text=hello").status,
        303
    );

    // Logging out ends the session, for an attacker with the cookie, too.
    let out = scene.post("/ui/logout", &format!("{bob}{own}"), "");
    assert_eq!(
        (out.status, out.header("location")),
        (303, Some("/ui/login"))
    );
    assert!(
        out.header("set-cookie")
            .expect("a cookie")
            .contains("Max-Age=0")
    );
    assert_eq!(scene.get("/ui/tasks", &bob).status, 303);

    // A session ends with its token, and so do the pages that are open.
    let open = send(
        &scene.http,
        "GET",
        "/ui/tasks",
        &format!("Accept: text/event-stream\r\n{session}"),
        "",
    );
    let open = open.expect("an answer");
    assert_eq!(open.status, 200);
    let ended = std::thread::spawn(move || open.text());
    let revoked = scene.system.run(&["tokens", "revoke", &id], "");
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    eventually("the session has ended", || {
        (scene.get("/ui/tasks", &session).status == 303).then_some(())
    });
    eventually("the page that is open has ended", || {
        ended.is_finished().then_some(())
    });
    assert!(ended.join().expect("it ends").contains("alice~page"));
    assert_eq!(scene.get("/ui/tasks", &everything).status, 200);

    // Who fails often waits. The minute of the failures so far may end meanwhile, from where on ten count anew.
    let mut attempts = (0..20).map(|_| scene.post("/ui/login", &own, "token=x").status);
    assert_eq!(attempts.next(), Some(403));
    assert_eq!(attempts.find(|status| *status != 403), Some(429));
    let right = scene.post("/ui/login", &own, &format!("token={root}"));
    assert_eq!(right.status, 429);
    assert!(right.header("retry-after").is_some());
}

/// Issue 25: the authorization code flow with PKCE, state and nonce.
#[tokio::test(flavor = "multi_thread")]
async fn people_log_in_with_the_issuer() {
    let scene = Scene::start().await;
    scene.until_keys_are_there();
    let left = scene.get("/ui/login/with/corp?next=/ui/agents", "");
    assert_eq!(
        left.status,
        303,
        "{}",
        left.header("location").unwrap_or_default()
    );
    let way = left.header("set-cookie").expect("a cookie").to_owned();
    assert!(
        way.contains("; HttpOnly; SameSite=Lax; Max-Age=600"),
        "{way}"
    );
    let (way, _) = way.split_once(';').expect("attributes");
    let location = left.header("location").expect("a way").to_owned();
    let path = location
        .strip_prefix(scene.issuer.issuer())
        .expect("the issuer's");
    let issuer = scene.issuer.address().to_string();
    let led = send(&issuer, "GET", path, "", "").expect("an answer");
    let back = led.header("location").expect("a way back").to_owned();
    let back = back
        .strip_prefix(&format!("http://{}", scene.http))
        .expect("here");
    // In another browser it is of no use.
    assert_eq!(scene.get(back, "").status, 400);
    let came = scene.get(back, &format!("Cookie: {way}\r\n"));
    assert_eq!(came.status, 200);
    let session = came
        .headers("set-cookie")
        .into_iter()
        .find(|cookie| cookie.starts_with("agenthub="))
        .expect("a session")
        .to_owned();
    assert!(came.text().contains("0;url=/ui/agents"));
    let (session, _) = session.split_once(';').expect("attributes");
    let session = format!("Cookie: {session}\r\n");
    let page = scene.get("/ui/agents", &session).text();
    assert!(
        page.contains("corp:dora") && page.contains("agent_echo"),
        "{page}"
    );
    assert_eq!(
        scene.get(back, &format!("Cookie: {way}\r\n")).status,
        400,
        "once"
    );
    // What was asked for by an agent of somebody who is known by the issuer alone has that one's rights.
    let asked = scene.post(
        "/ui/chat/t1",
        &format!("{session}{}", scene.own()),
        "text=echo+%22good+day%22",
    );
    assert_eq!(asked.status, 303);
    eventually("Cortex answers", || {
        let said = scene.get("/ui/chat/t1", &session).text();
        said.contains("completed").then_some(())
    });
    assert_eq!(scene.get("/ui/login/with/nobody", "").status, 400);
}
