//! Secrets come from files and the environment, and nowhere else do they come out (issue 25).

mod certificates;
mod everywhere;
mod failing;
pub(crate) mod planted;
mod wrong_settings;

use std::{fs, path::PathBuf};

use self::planted::{Canary, files, holds, stay_home};
use crate::{
    harness::{Process, System, eventually, free_address},
    http::send,
};

/// The key of a model, tokens that are right and wrong, and the session of a browser, with everything logged, through chat, runs, A2A, pages, errors, the export of the log and
/// metrics: found in no output and in no file but the one that the secret is in.
#[test]
fn no_secret_comes_out_anywhere() {
    let system = System::bare(free_address());
    let http = free_address();
    let secrets = tempfile::tempdir().expect("a folder");
    let model_key = "sk-canary-0f3b1c7e5d9a4826";
    let wrong = format!("ah_{}", "Canary0".repeat(7).split_at(43).0);
    let environment = [
        ("OPENAI_API_KEY", PathBuf::from(model_key)),
        (
            "AGENTHUB_MODEL_ENDPOINT",
            PathBuf::from("http://127.0.0.1:9/v1/"),
        ),
    ];
    let environment = environment.each_ref().map(|(name, value)| (*name, value));
    let up = Process::start_in(
        &environment,
        system.folder(),
        &system.hub(),
        &[
            &system.up_at(&http)[..],
            &["--log", "trace", "--model", "openai/gpt-canary"],
            &["--data", "data"],
        ]
        .concat(),
    );
    up.line("the banner");
    let issued = &system.json(&[
        "tokens", "issue", "--json", "root", "--role", "admin", "--data", "data",
    ])[0];
    let token = issued["token"].as_str().expect("a token").to_owned();
    let file = |name: &str, text: &str| {
        let path = secrets.path().join(name);
        fs::write(&path, text).expect("it is written");
        path.to_str().expect("a path").to_owned()
    };
    let (right, other) = (file("right", &token), file("wrong", &wrong));
    let mut said = String::new();
    let mut run = |token: &str, args: &[&str]| {
        let finished = system.run(&[args, &["--token-file", token]].concat(), "hello\n");
        said += &format!("{finished:?}\n");
        finished.code
    };
    eventually("the hub asks who calls", || {
        (run(&other, &["agents", "list"]) != Some(0)).then_some(())
    });
    assert_eq!(
        run(
            &right,
            &["publish", "--to", "agent_echo", "--wait", "hello"]
        ),
        Some(0)
    );
    for args in [
        &["access", "whoami"][..],
        &["tasks", "list"],
        &["runs", "list"],
        &["mailboxes", "list"],
    ] {
        run(&right, args);
        run(&other, args);
    }
    let mut session = String::new();
    for token in [&token, &wrong] {
        let header = format!(
            "Authorization: Bearer {token}\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n"
        );
        for (method, path, body) in [
            ("GET", "/metrics", ""),
            ("GET", "/v1/runs", ""),
            ("POST", "/v1/runs", r#"{"objective": "say hello"}"#),
            ("POST", "/v1/runs", "{"),
            (
                "POST",
                "/agents/agent_echo/message:send",
                r#"{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}"#,
            ),
            ("GET", "/ui/tasks", ""),
            ("GET", "/.well-known/agent-card.json", ""),
        ] {
            said += &send(&http, method, path, &header, body)
                .expect("an answer")
                .text();
        }
        let origin =
            format!("Origin: http://{http}\r\nContent-Type: application/x-www-form-urlencoded\r\n");
        let body = format!("token={token}");
        let answer = send(&http, "POST", "/ui/login", &origin, &body).expect("an answer");
        if let Some(cookie) = answer.header("set-cookie") {
            let (pair, _) = cookie.split_once(';').expect("attributes");
            session = pair.split_once('=').expect("a value").1.to_owned();
        }
        said += &answer.text();
    }
    assert_eq!(session.len(), 43, "somebody has logged in");
    let cookie = format!("Cookie: agenthub={session}\r\n");
    said += &send(&http, "GET", "/ui/runs", &cookie, "")
        .expect("an answer")
        .text();
    for args in [
        &["log", "export", "--data", "data"][..],
        &["tokens", "list", "--data", "data"],
    ] {
        said += &format!("{:?}", system.run(args, ""));
    }
    said += &up.said();
    assert!(said.contains("TRACE"), "everything is logged");
    drop(up);
    let canaries = [model_key, &token, &wrong, &session];
    let canaries = canaries.map(|secret| Canary::new(secret, &[]));
    stay_home(&canaries, &said, system.folder());
    let own = fs::read_to_string(system.folder().join("data/access/hub.token")).expect("a file");
    let found: Vec<_> = files(system.folder())
        .into_iter()
        .filter(|path| holds(&fs::read(path).unwrap_or_default(), own.trim()))
        .collect();
    assert_eq!(
        found.len(),
        1,
        "the hub's own token is in its file alone: {found:?}"
    );
    assert!(!said.contains(own.trim()));
}
