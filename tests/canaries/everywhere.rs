//! A secret in each place of the settings, the environment and the requests that takes one.

use std::{fs, net::TcpListener, path::PathBuf, sync::Arc};

use agenthub_access::testing::IssuerKey;
use agenthub_oidc::testing::{TestClient, TestIssuer};
use nix::sys::signal::Signal;
use prost::Message as _;
use serde_json::{Value, json};

use super::planted::{Canary, middle, stay_home};
use crate::{
    a2a_push::notification,
    harness::{Process, System, eventually, free_address, until_known},
    http::send,
    telemetry::collector::Collector,
};

/// A client's secret at an issuer, a header of a collector, a token of an MCP server and a variable of one.
const CLIENT: &str = "client-canary-2b7c91f04d6e";
const COLLECTOR: &str = "collector-canary-8c1f60b3a5";
const MCP: &str = "mcp-canary-f3017bd29c84e6";
const VARIABLE: &str = "variable-canary-71ce08a4b2";
/// A key of push notifications, and the credentials for a receiver of them.
const PUSH_KEY: &str = "whsec_UFVTSENBTkFSWVBVU0hDQU5BUllQVVNIQ0FOQVJZ";
const PUSH_TOKEN: &str = "push-canary-token-90ab3e57";
const PUSH_LOGIN: &str = "push-canary-login-c64d1f82";
/// A token of extended cards, and one for an agent elsewhere, in a variable and in a file.
const EXTENDED: &str = "extended-canary-3a9e5d7c10";
const OUTSIDE: &str = "outside-canary-b81d4c6e92";
const OUTSIDE_FILE: &str = "outside-canary-file-5f20e7";
/// A secret of a workflow.
const STEP: &str = "step-canary-6d93f1a0c7b8";

const WORKFLOW: &str = "steps:\n  say: { agent: agent_echo, text: 'key ${secret.STEP}' }\noutput: ${say.output.text}\n";

/// A server that speaks MCP, and an agent with its tool. It repeats no variable.
const SERVER: &str = r#"while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}';;
    *'"tools/list"'*) result='{"tools":[{"name":"length","description":"Says how long a variable is","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}';;
    *'"tools/call"'*) result="{\"content\":[{\"type\":\"text\",\"text\":\"${#FILES_TOKEN} characters\"}]}";;
    *) continue;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

struct Scene {
    system: System,
    http: String,
    environment: Vec<(&'static str, PathBuf)>,
    /// All that was said.
    said: String,
}

impl Scene {
    fn write(&self, name: &str, text: &str) {
        let path = self.system.folder().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        fs::write(path, text).expect("it is written");
    }

    fn begin(&self, args: &[&str]) -> Process {
        let environment: Vec<(&str, &PathBuf)> = self
            .environment
            .iter()
            .map(|(name, value)| (*name, value))
            .collect();
        let args = [args, &["--log", "trace"]].concat();
        Process::start_in(
            &environment,
            self.system.folder(),
            &self.system.hub(),
            &args,
        )
    }

    /// Runs a command, and keeps all that it says.
    fn run(&mut self, args: &[&str]) -> String {
        let done = self.begin(args).finish("");
        self.said += &format!("{args:?}: {done:?}\n");
        assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
        done.stdout
    }

    fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let answer = send(&self.http, method, path, headers, body).expect("an answer");
        let head: Vec<String> = ["location", "www-authenticate"]
            .iter()
            .filter_map(|name| answer.header(name).map(str::to_owned))
            .collect();
        let (status, text) = (answer.status, answer.text());
        self.said += &format!("{method} {path}: {status} {head:?} {text}\n");
        (status, text)
    }
}

/// Somebody logs in with the issuer. The session's id.
fn log_in(scene: &mut Scene, issuer: &TestIssuer) -> String {
    let browser = "Accept: text/html\r\n";
    let left = send(
        &scene.http,
        "GET",
        "/ui/login/with/corp?next=/ui/agents",
        browser,
        "",
    );
    let left = left.expect("an answer");
    let way = left.header("set-cookie").expect("a cookie").to_owned();
    let (way, _) = way.split_once(';').expect("attributes");
    let location = left.header("location").expect("a way").to_owned();
    scene.said += &location;
    let path = location
        .strip_prefix(issuer.issuer())
        .expect("the issuer's");
    let led = send(&issuer.address().to_string(), "GET", path, "", "").expect("an answer");
    let back = led.header("location").expect("a way back").to_owned();
    let back = back
        .strip_prefix(&format!("http://{}", scene.http))
        .expect("here");
    let came = send(
        &scene.http,
        "GET",
        back,
        &format!("{browser}Cookie: {way}\r\n"),
        "",
    );
    let came = came.expect("an answer");
    assert_eq!(came.status, 200, "{back}");
    let cookies = came.headers("set-cookie");
    let session = cookies
        .iter()
        .find_map(|cookie| cookie.strip_prefix("agenthub="));
    let (session, _) = session
        .expect("a session")
        .split_once(';')
        .expect("attributes");
    session.to_owned()
}

/// Issue 25: a canary in every place that takes a secret; found in no log at `trace`, span, journal, dump, error, metric or audit, and in no file but its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_each_setting_is_found_in_its_place_alone() {
    let key = Arc::new(IssuerKey::p256("1"));
    let issuer = TestIssuer::start(&key).await;
    issuer.set_client(TestClient {
        key: Arc::clone(&key),
        id: "pages".to_owned(),
        secret: Some(CLIENT.to_owned()),
        claims: json!({"sub": "dora"}),
    });
    tokio::task::spawn_blocking(move || secrets_stay_in(&issuer, &key))
        .await
        .expect("it does not panic");
}

fn secrets_stay_in(issuer: &TestIssuer, key: &IssuerKey) {
    let collector = Collector::over_http();
    let card_key = include_str!("../../gateway/a2a/src/signing/p256.pem");
    let system = System::bare(free_address());
    let text = |value: &str| PathBuf::from(value);
    let mut scene = Scene {
        http: free_address(),
        environment: vec![
            ("OTEL_EXPORTER_OTLP_ENDPOINT", text(&collector.url)),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                text(&format!("x-key={COLLECTOR}")),
            ),
            ("OTEL_BSP_SCHEDULE_DELAY", text("200")),
            ("OTEL_METRIC_EXPORT_INTERVAL", text("500")),
            ("PUSH_KEY", text(PUSH_KEY)),
            ("CARDS", text(EXTENDED)),
            ("FILES_TOKEN", text(VARIABLE)),
            ("WEB_TOKEN", text(MCP)),
            ("AGENTHUB_SECRET_STEP", text(STEP)),
            ("AGENTHUB_SECRET_OUTSIDE", text(OUTSIDE)),
        ],
        said: String::new(),
        system,
    };
    scene.write("client.secret", CLIENT);
    scene.write("card.pem", card_key);
    scene.write("data/secrets/outside", OUTSIDE_FILE);
    scene.write("flow.yaml", WORKFLOW);
    scene.write("server.sh", SERVER);
    scene.write(
        "clerk.toml",
        "name = 'clerk'\ndescription = 'Measures'\ntools = ['files.length']\n",
    );
    scene.write(
        "far.toml",
        "name = 'far'\ndescription = 'Looks'\ntools = ['web']\n",
    );
    let settings = format!(
        "data = 'data'\n[outbound]\nallow = ['127.0.0.0/8']\n\
         [access.oidc.corp]\nissuer = '{}'\naudience = 'hub'\ndefault_roles = ['user']\nclient_id = 'pages'\nclient_secret_file = 'client.secret'\n\
         [a2a]\npublic_url = 'http://{http}'\ncard_key_file = 'card.pem'\npush_key_env = 'PUSH_KEY'\nextended_card_token_env = 'CARDS'\n\
         [mcp.files]\ncommand = ['sh', 'server.sh']\nenv = ['FILES_TOKEN']\n\
         [mcp.web]\nurl = 'http://127.0.0.1:9/mcp'\ntoken_env = 'WEB_TOKEN'\n",
        issuer.issuer(),
        http = scene.http
    );
    scene.write("agenthub.toml", &settings);
    let up = scene.begin(&scene.system.up_at(&scene.http));
    up.line("the banner");

    // Tokens are canaries of the test beside.
    let issued = scene.system.json(&[
        "tokens", "issue", "--json", "root", "--role", "admin", "--data", "data",
    ]);
    let token = issued[0]["token"].as_str().expect("a token").to_owned();
    scene.write("root.token", &token);
    let as_root = ["--token-file", "root.token"];
    until_known("root", |whoami| {
        scene.begin(&[whoami, &as_root].concat()).finish("")
    });

    let of_issuer = key.sign(&issuer.claims("hub", &json!({})));
    scene.write("issuer.token", &of_issuer);
    until_known("corp:alice", |whoami| {
        let shown = ["--token-file", "issuer.token"];
        scene.begin(&[whoami, &shown].concat()).finish("")
    });
    let session = log_in(&mut scene, issuer);
    let cookie = format!("Cookie: agenthub={session}\r\nAccept: text/html\r\n");
    scene.ask("GET", "/ui/agents", &cookie, "");
    scene.ask(
        "GET",
        "/ui/login/back?state=x&code=code-of-nobody",
        "Accept: text/html\r\n",
        "",
    );

    let run_as = |scene: &mut Scene, args: &[&str]| scene.run(&[args, &as_root].concat());
    let said = run_as(&mut scene, &["workflow", "run", "flow.yaml"]);
    assert!(said.contains("[secret STEP]"), "{said}");
    run_as(&mut scene, &["runs", "show", "latest", "--json"]);
    run_as(&mut scene, &["runs", "events", "latest", "--json"]);
    run_as(&mut scene, &["runs", "steps", "latest", "--json"]);

    let clerk =
        scene.begin(&[&["agent", "run", "clerk.toml", "--ephemeral"], &as_root[..]].concat());
    eventually("the clerk is there", || {
        let args = [&["agents", "show", "clerk", "--json"], &as_root[..]].concat();
        let shown = scene.begin(&args).finish("");
        shown.stdout.contains("AGENT_STATE_ONLINE").then_some(())
    });
    let said = run_as(
        &mut scene,
        &[
            "publish",
            "--to",
            "clerk",
            "--wait",
            "files_length \"of this\"",
        ],
    );
    assert!(said.contains("26 characters"), "the server has it: {said}");
    // A server that is not there, and one that does not take the token.
    let far = scene.begin(&[&["agent", "run", "far.toml", "--ephemeral"], &as_root[..]].concat());
    eventually("it has asked the server", || {
        far.said()
            .contains("the MCP server cannot be used")
            .then_some(())
    });
    far.signal(Signal::SIGTERM);
    scene.said += &format!("{:?}", far.wait());

    // An agent elsewhere, with what it says of whoever calls it.
    let (elsewhere, other, other_http) = System::up_with_http();
    let _echo = elsewhere.start_echo("elsewhere");
    let url = format!("http://{other_http}/agents/elsewhere");
    for (id, secret) in [
        ("by-variable", "env:AGENTHUB_SECRET_OUTSIDE"),
        ("by-file", "file:outside"),
    ] {
        run_as(
            &mut scene,
            &["agents", "add", &url, "--id", id, "--bearer", secret],
        );
        let said = run_as(&mut scene, &["publish", "--to", id, "--wait", "good day"]);
        assert!(said.contains("good day"), "{said}");
    }
    run_as(&mut scene, &["agents", "outside", "--json"]);
    scene.said += &other.said();

    // Push notifications.
    let receiver = TcpListener::bind("127.0.0.1:0").expect("it is free");
    receiver.set_nonblocking(true).expect("a socket");
    let callback = format!("http://{}/", receiver.local_addr().expect("an address"));
    let headers = format!(
        "Authorization: Bearer {token}\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n"
    );
    let push = json!({"url": callback, "token": PUSH_TOKEN, "authentication": {"scheme": "Bearer", "credentials": PUSH_LOGIN}});
    let body = json!({
        "message": {"messageId": "m", "contextId": "c", "role": "ROLE_USER", "parts": [{"text": "good day"}]},
        "configuration": {"taskPushNotificationConfig": push},
    });
    let (status, sent) = scene.ask(
        "POST",
        "/agents/agent_echo/message:send",
        &headers,
        &body.to_string(),
    );
    assert_eq!(status, 200, "{sent}");
    let (answered, _, shown) = notification(&receiver);
    drop(answered);
    scene.said += &shown.to_string();
    let sent: Value = serde_json::from_str(&sent).expect("JSON");
    let task = sent["task"]["id"].as_str().expect("a task");
    let configs = format!("/agents/agent_echo/tasks/{task}/pushNotificationConfigs");
    let (_, listed) = scene.ask("GET", &configs, &headers, "");
    assert!(listed.contains(&callback), "{listed}");
    for credential in [EXTENDED, "x"] {
        let headers = format!("Authorization: Bearer {credential}\r\nA2A-Version: 1.0\r\n");
        scene.ask("GET", "/extendedAgentCard", &headers, "");
    }

    let _ = run_as(&mut scene, &["mailboxes", "list", "--json"]);
    for (path, headers) in [
        ("/metrics", &headers),
        ("/.well-known/agent-card.json", &headers),
        ("/.well-known/jwks.json", &String::new()),
        ("/v1/runs", &headers),
        ("/tasks", &headers),
    ] {
        let (status, _) = scene.ask("GET", path, headers, "");
        assert_eq!(status, 200, "{path}");
    }
    let audit = scene
        .system
        .run(&["audit", "tail", "--json", "--data", "data"], "");
    scene.said += &format!("{audit:?}");
    assert!(
        audit.stdout.contains("RunStarted") || !audit.stdout.is_empty(),
        "{audit:?}"
    );

    // Spans and metrics have come, with the header of the collector.
    eventually("spans have come", || {
        let spans = collector.requests();
        let has_key = spans.iter().any(|(_, key)| key == COLLECTOR);
        (has_key && !collector.metrics().is_empty()).then_some(())
    });
    up.signal(Signal::SIGTERM);
    scene.said += &format!("{:?}", up.wait());
    clerk.signal(Signal::SIGTERM);
    scene.said += &format!("{:?}", clerk.wait());
    assert!(scene.said.contains("TRACE"), "everything is logged");
    for (request, _) in collector.requests() {
        scene.said += &String::from_utf8_lossy(&request.encode_to_vec());
    }
    for metric in collector.metrics() {
        scene.said += &String::from_utf8_lossy(&metric.encode_to_vec());
    }

    let canaries = [
        Canary::new(CLIENT, &["client.secret"]),
        Canary::new(COLLECTOR, &[]),
        Canary::new(MCP, &[]),
        Canary::new(VARIABLE, &[]),
        Canary::new(PUSH_KEY, &[]),
        Canary::new(&PUSH_KEY["whsec_".len()..], &[]),
        Canary::new("PUSHCANARYPUSHCANARY", &[]),
        Canary::new(PUSH_TOKEN, &["push.db"]),
        Canary::new(PUSH_LOGIN, &["push.db"]),
        Canary::new(EXTENDED, &[]),
        Canary::new(OUTSIDE, &[]),
        Canary::new(OUTSIDE_FILE, &["outside"]),
        // The message to the agent has it, and so has the hub's log.
        Canary::new(STEP, &["log.db"]),
        Canary::new(session, &[]),
        Canary::new(middle(card_key), &["card.pem"]),
        Canary::new(token, &["root.token"]),
        Canary::new(of_issuer, &["issuer.token"]),
    ];
    stay_home(&canaries, &scene.said, scene.system.folder());
}
