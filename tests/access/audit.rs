//! The audit over the whole system.

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use agenthub_access::{Needs, SERVICES, audit::Records};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tonic::transport::Endpoint;

use super::{Code, Guarded, WHO_AM_I, call, every_call::REQUESTS, request, until_answered};
use crate::{
    harness::{PATIENCE, System, eventually, free_address},
    http::send,
};

impl Guarded {
    fn audit(&self) -> Vec<Value> {
        self.system
            .json(&["audit", "tail", "--json", "--lines", "10000"])
    }

    fn audit_files(&self) -> Vec<PathBuf> {
        files(&self.system)
    }
}

fn files(system: &System) -> Vec<PathBuf> {
    let folder = system.folder().join(".agenthub/audit");
    let files = fs::read_dir(folder).expect("the audit's folder");
    let files = files.map(|file| file.expect("a file").path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect()
}

/// The number of lines so far.
fn written(system: &System) -> usize {
    let text = files(system).into_iter().map(fs::read_to_string);
    let text = text.map(|text| text.expect("text"));
    text.map(|text| text.lines().count()).sum()
}

/// Action, principal, and whether it was allowed, of each line.
fn outcomes(lines: &[Value]) -> BTreeSet<(String, String, bool)> {
    let text = |line: &Value, key: &str| line[key].as_str().expect("text").to_owned();
    lines
        .iter()
        .map(|line| {
            let allowed = line["allowed"].as_bool().expect("a switch");
            (text(line, "action"), text(line, "principal"), allowed)
        })
        .collect()
}

/// Issue 25: every call that changes something leaves a line, and every refusal does, with its rule.
#[tokio::test(flavor = "multi_thread")]
async fn every_call_leaves_what_its_line_says() {
    let guarded = Guarded::start("up");
    let (admin, _) = guarded.issue(&["root", "--role", "admin"]);
    let (eve, _) = guarded.issue(&["eve", "--allow", "be:eve"]);
    let channel = guarded.channel().await;
    let mut expected = BTreeSet::new();
    for rpc in SERVICES {
        let (path, needs, records) = (rpc.path, rpc.needs, rpc.records);
        if path.starts_with("/grpc.") {
            continue;
        }
        for (token, name) in [(Some(&*admin), "root"), (Some(&*eve), "eve"), (None, "")] {
            let code = call(&channel, path, token).await;
            let action = path.to_owned();
            let is_act = matches!(records, Records::Act(_) | Records::Opening);
            if name == "root" && is_act {
                expected.insert((action, name.to_owned(), true));
            } else if code == Code::PermissionDenied || code == Code::Unauthenticated {
                expected.insert((action, name.to_owned(), false));
            } else if name == "eve" {
                let is_open = needs == Needs::Identity;
                assert!(is_open, "{path} as {name}: {code:?}");
            }
        }
    }
    for (method, path, _) in REQUESTS {
        let Some(route) = agenthub_access::route_line(method, path) else {
            continue;
        };
        let records = route.records;
        let action = format!("{method} {}", route.path);
        for (token, name) in [(Some(&*admin), "root"), (Some(&*eve), "eve"), (None, "")] {
            let (status, _) = request(&guarded.http, method, path, token);
            // Who logs in is nobody yet.
            let name = match route.needs {
                Needs::Nothing => "nobody",
                _ => name,
            };
            let is_act = *method == "POST" && matches!(records, Records::Act(_));
            if ["root", "nobody"].contains(&name) && (is_act || records == Records::Opening) {
                expected.insert((action.clone(), name.to_owned(), true));
            } else if status == 403 || status == 401 {
                expected.insert((action.clone(), name.to_owned(), false));
            }
        }
    }
    assert!(expected.len() > 150, "{}", expected.len());
    // The last of them are written within a moment.
    let begun = Instant::now();
    let lines = loop {
        let lines = guarded.audit();
        let found = outcomes(&lines);
        let missing: Vec<_> = expected.difference(&found).collect();
        if missing.is_empty() {
            break lines;
        }
        assert!(begun.elapsed() < PATIENCE, "{missing:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let of = |action: &str, principal: &str| {
        let is_it = |line: &&Value| line["action"] == action && line["principal"] == principal;
        lines.iter().find(is_it).expect("a line").clone()
    };
    let purge = "/agenthub.AgentHub/PurgeMailbox";
    assert_eq!(of(purge, "root")["rule"], "role admin allows *");
    let denied = of(purge, "eve")["rule"].as_str().expect("text").to_owned();
    assert!(denied.contains("no rule allows operate"), "{denied}");
    assert_eq!(of(purge, "")["source"], "grpc");
    assert_eq!(of("POST /v1/runs/{id}/cancel", "root")["resource"], "id=r");
    let approval = of("POST /v1/runs/{id}/approvals/{approvalId}", "root");
    assert_eq!(approval["resource"], "id=r approvalId=a");
    let issued = lines.iter().filter(|line| line["action"] == "tokens issue");
    assert_eq!(issued.count(), 2);
    // Nothing that reads leaves a line of what was allowed.
    let reads = lines.iter().filter(|line| line["allowed"] == true);
    for line in reads {
        let action = line["action"].as_str().expect("text");
        assert!(
            !action.contains("/List") && !action.contains("/Get"),
            "{line}"
        );
    }
    let verified = guarded.system.run(&["audit", "verify"], "");
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// Issue 25: acts that depend on what the request holds, and agents that come.
#[test]
fn agents_that_come_and_acts_over_a2a_leave_lines() {
    let guarded = Guarded::start("up");
    let (alice, _) = guarded.issue(&["alice", "--role", "user"]);
    let (few, _) = guarded.issue(&["few", "--allow", "see:directory"]);
    let rpc = |token: &str, method: &str, params: &Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let headers = format!(
            "Content-Type: application/json\r\nA2A-Version: 1.0\r\nAuthorization: Bearer {token}\r\n"
        );
        let path = "/agents/agent_echo";
        let answer = send(&guarded.http, "POST", path, &headers, &body.to_string());
        answer.expect("an answer").json()
    };
    let message = json!({
        "message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "SECRET-WORDS"}]},
        "configuration": {"returnImmediately": true},
    });
    let sent = rpc(&alice, "SendMessage", &message);
    let sent = sent["result"]["task"]["id"].as_str().expect("a task");
    rpc(&alice, "CancelTask", &json!({"id": sent}));
    rpc(&few, "SendMessage", &message);
    let echo = guarded.system.start(
        &["agent", "echo", "--name", "alice~echo", "--token-file", &{
            let file = guarded.system.folder().join("alice.token");
            fs::write(&file, &alice).expect("it is written");
            file.to_str().expect("a path").to_owned()
        }],
    );
    let (action, resource) = ("/agenthub.AgentHub/Connect", "agent=alice~echo");
    let lines = eventually("the agent's line", || {
        let lines = guarded.audit();
        let is_it = |line: &Value| line["action"] == action && line["resource"] == resource;
        lines.iter().any(is_it).then_some(lines)
    });
    drop(echo);
    let has = |action: &str, principal: &str, allowed: bool| {
        let outcome = (action.to_owned(), principal.to_owned(), allowed);
        outcomes(&lines).contains(&outcome)
    };
    assert!(
        has("POST /agents/{slug} CancelTask", "alice", true),
        "{lines:#?}"
    );
    assert!(has("POST /agents/{slug}", "few", false), "{lines:#?}");
    for file in guarded.audit_files() {
        let text = fs::read_to_string(file).expect("text");
        for secret in [&alice[..], &few, "SECRET-WORDS", "ah_"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

/// Issue 25: a caller who is refused ten thousand times leaves a few lines.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_that_repeat_are_counted() {
    let guarded = Guarded::start("up");
    let (eve, _) = guarded.issue(&["eve", "--allow", "be:eve"]);
    let channel = guarded.channel().await;
    let path = "/agenthub.AgentHub/ListMailboxes";
    for _ in 0..1000 {
        assert_eq!(
            call(&channel, path, Some(&eve)).await,
            Code::PermissionDenied
        );
    }
    // Their number is written when the window ends in which they were refused, or the hub.
    let Guarded { system, up, .. } = guarded;
    up.signal(Signal::SIGTERM);
    let ended = up.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let tail = ["audit", "tail", "--json", "--denied", "--principal", "eve"];
    let lines = system.json(&[&tail[..], &["--lines", "1000"]].concat());
    let count = |line: &Value| line["count"].as_u64().unwrap_or(1);
    let counted: u64 = lines.iter().map(count).sum();
    assert_eq!(counted, 1000, "each is counted: {lines:#?}");
    assert!(lines.len() < 12, "{lines:#?}");
}

/// Issue 25: every refusal leaves a line with its rule, and no other.
#[test]
fn a_page_that_is_refused_leaves_one_line() {
    let guarded = Guarded::start("up");
    let (eve, _) = guarded.issue(&["eve", "--allow", "be:eve"]);
    let headers = format!("Accept: text/html\r\nAuthorization: Bearer {eve}\r\n");
    let page = send(&guarded.http, "GET", "/ui/mailboxes", &headers, "").expect("an answer");
    assert_eq!(page.status, 403);
    let Guarded { system, up, .. } = guarded;
    up.signal(Signal::SIGTERM);
    let ended = up.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines = system.json(&["audit", "tail", "--json", "--denied", "--principal", "eve"]);
    let rules = lines
        .iter()
        .map(|line| line["rule"].as_str().expect("text"));
    let [rule] = rules.collect::<Vec<_>>()[..] else {
        panic!("{lines:#?}");
    };
    assert!(rule.contains("no rule allows operate"), "{rule}");
}

/// Issue 25: what cannot be recorded is not done, and all else goes on.
#[test]
fn without_its_audit_a_hub_is_not_administered() {
    let guarded = Guarded::start("up");
    let (admin, _) = guarded.issue(&["root", "--role", "admin"]);
    let listing = ["agents", "list", "--json"];
    let folder = guarded.system.folder().join(".agenthub/audit");
    let aside = guarded.system.folder().join("aside");
    fs::rename(&folder, &aside).expect("it is renamed");
    fs::write(&folder, "").expect("it is written");
    let unregister = ["agents", "unregister", "agent_echo", "--force"];
    let refused = guarded.run_as(&admin, &unregister);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("nothing was done"), "{refused:?}");
    let issuing = guarded
        .system
        .run(&["tokens", "issue", "bob", "--role", "user"], "");
    assert_eq!(issuing.code, Some(1), "{issuing:?}");
    assert!(issuing.stderr.contains("nothing was done"), "{issuing:?}");
    let listed = guarded.run_as(&admin, &listing);
    assert!(listed.stdout.contains("agent_echo"), "{listed:?}");
    fs::remove_file(&folder).expect("it is removed");
    fs::rename(&aside, &folder).expect("it is renamed");
    let done = guarded.run_as(&admin, &unregister);
    assert_eq!(done.code, Some(0), "{done:?}");
    let verified = guarded.system.run(&["audit", "verify"], "");
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// Lines that a hub has written at least when it is killed.
const LINES: usize = 30;

/// Issue 25: a process that is killed while it writes leaves no tampering; tampering leaves with 1, an audit that is not there with 2.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_it_writes_is_told_apart_from_tampering() {
    let mut system = System::bare(free_address());
    let none = system.run(&["audit", "verify"], "");
    assert_eq!(none.code, Some(2), "{none:?}");
    for _ in 0..3 {
        let (broker, _) = system.serve_anywhere(&["broker"]);
        let endpoint = Endpoint::from_shared(system.hub()).expect("a URL");
        let channel = endpoint.connect().await.expect("the hub listens");
        let calls = (0..8).map(|_| {
            let channel = channel.clone();
            tokio::spawn(async move {
                while call(&channel, "/agenthub.AgentHub/DropDeadLetter", None).await
                    != Code::Unavailable
                {}
            })
        });
        let calls: Vec<_> = calls.collect();
        let before = written(&system);
        eventually("it writes", || {
            (written(&system) >= before + LINES).then_some(())
        });
        broker.kill();
        calls.iter().for_each(tokio::task::JoinHandle::abort);
        let verified = system.run(&["audit", "verify"], "");
        assert_eq!(verified.code, Some(0), "{verified:?}");
    }
    // What was killed may have left the head behind its last line. Whoever writes next takes it there.
    let revoke = system.run(&["tokens", "revoke", "of_nobody"], "");
    assert_eq!(revoke.code, Some(1), "{revoke:?}");
    let verified = system.json(&["audit", "verify", "--json"]).remove(0);
    assert_eq!(verified["kept"], verified["last"], "{verified}");
    let lines = verified["last"].as_u64().expect("lines");
    assert!(lines >= 3 * LINES as u64, "{verified}");
    let known_head = format!(
        "{}:{}",
        verified["last"],
        verified["head"].as_str().expect("a hash")
    );
    let with_head = system.run(&["audit", "verify", "--head", &known_head], "");
    assert_eq!(with_head.code, Some(0), "{with_head:?}");
    let file = files(&system).remove(0);
    let text = fs::read_to_string(&file).expect("text");
    let whole: Vec<&str> = text.lines().collect();
    fs::write(&file, whole[..whole.len() - 1].join("\n") + "\n").expect("it is written");
    let gone = system.run(&["audit", "verify"], "");
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert!(gone.stderr.contains("the head that is kept"), "{gone:?}");
    let head = file.with_file_name("head");
    let kept = fs::read(&head).expect("a head");
    fs::remove_file(&head).expect("it is there");
    let unknown = system.run(&["audit", "verify"], "");
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    assert!(unknown.stdout.contains("is not known"), "{unknown:?}");
    let gone = system.run(&["audit", "verify", "--head", &known_head], "");
    assert_eq!(gone.code, Some(1), "{gone:?}");
    fs::write(&head, kept).expect("it is written");
    fs::write(&file, "").expect("it is emptied");
    let emptied = system.run(&["audit", "verify"], "");
    assert_eq!(emptied.code, Some(1), "{emptied:?}");
    assert!(emptied.stderr.contains("are missing"), "{emptied:?}");
    fs::write(&file, text.replacen("anonymous", "anonymouse", 1)).expect("it is written");
    let changed = system.run(&["audit", "verify"], "");
    assert_eq!(changed.code, Some(1), "{changed:?}");
    assert!(
        changed
            .stderr
            .contains("it does not follow the line before"),
        "{changed:?}"
    );
}

/// Issue 25: a caller whose namespace is gone leaves a line at the gate, over both ways.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_whose_namespace_is_gone_leaves_a_line() {
    let mut system = System::bare(free_address());
    let settings = |text: &str| {
        let file = system.folder().join("agenthub.toml");
        fs::write(file, text).expect("it is written");
    };
    settings("[access]\nnamespaces = ['gone']\n");
    let issue = [
        "tokens",
        "issue",
        "eve",
        "--role",
        "user",
        "--namespace",
        "gone",
        "--json",
    ];
    let token = system.json(&issue).remove(0)["token"].take();
    let token = token.as_str().expect("a token");
    settings("");
    let (_broker, http) = system.serve_anywhere(&["broker"]);
    let endpoint = Endpoint::from_shared(system.hub()).expect("a URL");
    let channel = endpoint.connect().await.expect("the hub listens");
    let is_open = |code| code != Code::Unavailable;
    until_answered(&channel, Some(token), "open", is_open).await;
    let code = call(&channel, WHO_AM_I, Some(token)).await;
    assert_eq!(code, Code::PermissionDenied);
    let (status, _) = request(&http, "GET", "/agents", Some(token));
    assert_eq!(status, 403);
    let tail = ["audit", "tail", "--json", "--denied", "--principal", "eve"];
    eventually("both leave a line", || {
        let lines = system.json(&tail);
        let of = |action: &str| {
            lines.iter().any(|line| {
                let rule = line["rule"].as_str().unwrap_or_default();
                line["action"] == action && rule.contains("is not served here")
            })
        };
        (of(WHO_AM_I) && of("GET /agents")).then_some(())
    });
}
