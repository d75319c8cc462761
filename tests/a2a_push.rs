//! Push notifications and signed cards of A2A on the running program.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
};

use serde_json::{Value, json};

use crate::{
    a2a,
    harness::{PATIENCE, Process, System, eventually, http_address},
};

/// The official library for Python accepts the signatures of cards, with either kind of key.
///
/// spec: A2A 1.0.1 §8.4.3
#[test]
fn the_official_python_library_verifies_a_signed_card() {
    let python = env::var("AGENTHUB_TEST_PYTHON").ok();
    let Some(python) = python.filter(|python| !python.is_empty()) else {
        eprintln!("not tested: AGENTHUB_TEST_PYTHON names no Python that has `a2a-sdk[signing]`");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/a2a_card.py");
    let script = script.to_str().expect("a path in Unicode");
    for key in ["p256", "ed25519"] {
        let system = System::bare("127.0.0.1:0".to_owned());
        let root = env!("CARGO_MANIFEST_DIR");
        let settings = format!(
            "[a2a]\npublic_url = 'https://hub.example'\ncard_key_file = '{root}/gateway/a2a/src/signing/{key}.pem'\n"
        );
        fs::write(system.folder().join("agenthub.toml"), settings).expect("it is written");
        let args = "up --json --ephemeral --grpc 127.0.0.1:0 --http 127.0.0.1:0";
        let up = system.start(&args.split(' ').collect::<Vec<_>>());
        let url = format!("http://{}", http_address(&up));
        let args = [script, &url, "agent_echo"];
        let finished = Process::start_other(&python, system.folder(), "", &args).finish("");
        assert_eq!(finished.code, Some(0), "{key}: {finished:?}");
    }
}

/// A card that the official library for Python has signed is verified, with either kind of key, and one that was changed since is not.
///
/// spec: A2A 1.0.1 §8.4.3
#[test]
fn a_card_that_the_official_python_library_has_signed_is_verified() {
    let python = env::var("AGENTHUB_TEST_PYTHON").ok();
    let Some(python) = python.filter(|python| !python.is_empty()) else {
        eprintln!("not tested: AGENTHUB_TEST_PYTHON names no Python that has `a2a-sdk[signing]`");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/a2a_signed_card.py");
    let script = script.to_str().expect("a path in Unicode");
    let system = System::bare("127.0.0.1:0".to_owned());
    for algorithm in ["ES256", "EdDSA"] {
        let signer = Process::start_other(&python, system.folder(), "", &[script, algorithm]);
        let url = signer.line("its address").trim().to_owned();
        let shown = system.run(&["a2a", "card", &url], "");
        let expected = format!("signature     verified: {algorithm}, key key-1 of {url}/keys");
        assert!(shown.stdout.contains(&expected), "{algorithm}: {shown:?}");

        let args = [script, algorithm, "forged"];
        let forger = Process::start_other(&python, system.folder(), "", &args);
        let url = forger.line("its address").trim().to_owned();
        let shown = system.run(&["a2a", "card", &url], "");
        assert!(
            shown.stdout.contains("signature     wrong: "),
            "{algorithm}: {shown:?}"
        );
    }
}

/// The answer to a JSON of A2A 1.0.
pub(crate) fn post(http: &str, path: &str, body: &Value) -> Value {
    a2a::json(&a2a::post(http, path, &body.to_string()))
}

/// The next request that comes, its id and its body.
pub(crate) fn notification(receiver: &TcpListener) -> (TcpStream, String, Value) {
    let stream = eventually("a notification comes", || receiver.accept().ok()).0;
    stream.set_nonblocking(false).expect("a socket");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut reader = BufReader::new(&stream);
    let (mut id, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a request");
        let Some((name, value)) = line.trim().split_once(": ") else {
            match line.trim() {
                "" => break,
                _ => continue,
            }
        };
        match name.to_ascii_lowercase().as_str() {
            "webhook-id" => value.clone_into(&mut id),
            "content-length" => length = value.parse().expect("a number"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let body = serde_json::from_slice(&body).expect("JSON");
    (stream, id, body)
}

/// The hub dies while a notification is under way: its successor sends that one again, and then what happened since.
#[test]
fn notifications_outlive_the_hub_in_order() {
    let receiver = TcpListener::bind("127.0.0.1:0").expect("it is free");
    receiver.set_nonblocking(true).expect("a socket");
    let url = format!("http://{}/", receiver.local_addr().expect("an address"));
    let system = System::bare("127.0.0.1:0".to_owned());
    let settings = "[outbound]\nallow = ['127.0.0.0/8']\n";
    fs::write(system.folder().join("agenthub.toml"), settings).expect("it is written");
    let args = "up --json --grpc 127.0.0.1:0 --http 127.0.0.1:0";
    let args: Vec<&str> = args.split(' ').collect();
    let up = system.start(&args);
    let http = http_address(&up);
    let body = json!({
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "good day"}]},
        "configuration": {"taskPushNotificationConfig": {"url": url}},
    });
    let task = post(&http, "/agents/agent_echo/message:send", &body)["task"].take();
    assert_eq!(
        task["status"]["state"], "TASK_STATE_COMPLETED",
        "all has happened"
    );
    let (_unanswered, first, shown) = notification(&receiver);
    assert_eq!(shown["task"]["id"], task["id"]);
    up.kill();

    let _up = system.start(&args);
    let (mut shown, mut ids) = (Vec::new(), Vec::new());
    while shown
        .last()
        .is_none_or(|state| state != "TASK_STATE_COMPLETED")
    {
        let (mut stream, id, body) = notification(&receiver);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            .expect("it is answered");
        let (_, update) = body
            .as_object()
            .and_then(|o| o.iter().next())
            .expect("one update");
        shown.push(
            update["status"]["state"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        );
        assert!(!ids.contains(&id), "each comes once");
        ids.push(id);
    }
    assert_eq!(ids[0], first, "the one that was under way comes first");
    // The agent says twice that it is at work.
    shown.dedup();
    let states = ["SUBMITTED", "WORKING", "COMPLETED"].map(|s| format!("TASK_STATE_{s}"));
    assert_eq!(shown, states);
}
