//! Runs over HTTP, served by `up` and by a separate Cortex.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::harness::{PATIENCE, Process, System, eventually, free_address};

/// A response that is read as it arrives.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    body: BufReader<TcpStream>,
}

/// Sends a request; with HTTP/1.0, so that the response is not chunked.
pub(crate) fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut body = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if body.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head, body })
}

impl Answer {
    pub(crate) fn text(mut self) -> String {
        let mut text = String::new();
        self.body.read_to_string(&mut text).expect("text");
        text
    }

    /// The values of a header.
    pub(crate) fn headers(&self, name: &str) -> Vec<&str> {
        let pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs
            .filter(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .collect()
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).first().copied()
    }

    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.text()).expect("JSON")
    }

    /// The next frame; `None` at the end of the stream, for any reason.
    fn frame(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            self.body.read_line(&mut line).ok()?;
            // A line may break off.
            if !line.ends_with('\n') {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).expect("JSON in one line"));
            }
        }
    }
}

fn get(address: &str, path: &str) -> Answer {
    send(address, "GET", path, "", "").expect("an answer")
}

fn start(address: &str, body: &str) -> String {
    let headers = "Content-Type: application/json\r\n";
    let started = send(address, "POST", "/v1/runs", headers, body).expect("an answer");
    assert_eq!(started.status, 201, "{}", started.head);
    let run = started.json();
    run["id"].as_str().expect("an id").to_owned()
}

fn watch(address: &str, run: &str, after: usize) -> Answer {
    let path = format!("/v1/runs/{run}/events");
    let headers = format!("Accept: text/event-stream\r\nLast-Event-ID: {after}\r\n");
    let answer = send(address, "GET", &path, &headers, "").expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.head);
    answer
}

/// Starts everything on these addresses.
fn up(system: &System, http: &str) -> Process {
    let args = ["up", "--json", "--grpc", system.grpc(), "--http", http];
    let up = system.start(&args);
    up.line_with("grpc");
    up
}

const ASKED: &str =
    r#"{"objective": "let agent_press print hello on the printing press", "mode": "chat"}"#;

fn kinds(frames: &[Value]) -> Vec<&str> {
    let kinds = frames.iter().filter_map(|frame| frame["type"].as_str());
    kinds.collect()
}

/// A run survives the crash of the whole system, and its watcher misses nothing and sees nothing twice.
///
/// spec: ORC-4, ORC-8
#[test]
fn a_watcher_comes_back_after_everything_was_killed() {
    let (system, http) = (System::bare(free_address()), free_address());
    let first = up(&system, &http);
    assert_eq!(get(&http, "/health").text(), "ok\n");
    let _press = system.start_press();
    let run = start(&http, ASKED);
    let mut events = watch(&http, &run, 0);
    let mut frames = vec![events.frame().expect("a frame")];
    system.wait_begun(1);
    first.kill();
    frames.extend(std::iter::from_fn(|| events.frame()));
    assert!(!kinds(&frames).contains(&"complete"), "{frames:?}");

    let _second = up(&system, &http);
    let mut events = watch(&http, &run, frames.len());
    system.let_go();
    frames.extend(std::iter::from_fn(|| events.frame()));
    for (frame, sequence) in frames.iter().zip(1..) {
        assert_eq!(frame["sequence"], sequence, "{frames:?}");
        assert_eq!(frame["correlationId"], *run, "{frames:?}");
    }
    assert_eq!(kinds(&frames).iter().filter(|k| **k == "start").count(), 1);
    assert_eq!(kinds(&frames).last(), Some(&"complete"), "{frames:?}");
    let text = frames.last().map(|f| f["data"].to_string());
    assert!(
        text.is_some_and(|text| text.contains("pressed")),
        "{frames:?}"
    );
    let again: Vec<Value> = {
        let mut events = watch(&http, &run, 0);
        std::iter::from_fn(|| events.frame()).collect()
    };
    assert_eq!(again, frames, "whoever comes late sees the same");
}

const HELLO: &str = r#"{"objective": "hello", "mode": "chat"}"#;

/// Cortex alone, with its runs at this address.
fn cortex(system: &System, http: &str) -> Process {
    let cortex = system.start(&["cortex", "--http", http]);
    cortex.line_with("is connected");
    cortex
}

/// The run comes to one end, and the hub has one task of it.
fn ends_once(system: &System, http: &str, run: &str) {
    let mut events = watch(http, run, 0);
    let frames: Vec<Value> = std::iter::from_fn(|| events.frame()).collect();
    let count = |kind: &str| kinds(&frames).iter().filter(|k| **k == kind).count();
    assert_eq!((count("start"), count("complete")), (1, 1), "{frames:?}");
    let tasks = eventually("the task ends", || {
        let tasks = system.json(&["tasks", "list", "--json"]);
        let is_over = |task: &Value| task["status"]["state"] == "TASK_STATE_COMPLETED";
        tasks.iter().all(is_over).then_some(tasks)
    });
    assert_eq!(tasks.len(), 1, "{tasks:?}");
}

/// The journal has the run and the hub has not heard of it when Cortex is killed: the next Cortex tells the hub, and the run ends once.
///
/// spec: ORC-8
#[test]
fn killed_between_the_journal_and_the_hub_a_run_ends_once() {
    let (system, hub) = System::durable_broker();
    let http = free_address();
    let first = cortex(&system, &http);
    hub.kill();
    let run = start(&http, HELLO);
    let place = format!("/v1/runs/{run}");
    eventually("the journal has it", || {
        (get(&http, &place).json()["state"] == "working").then_some(())
    });
    first.kill();

    let _hub = system.start_durable_broker();
    let _second = cortex(&system, &http);
    ends_once(&system, &http, &run);
}

/// A run that is asked for while the hub is away, for longer than its lease bears to wait, goes on when the hub is back.
///
/// spec: ORC-8
#[test]
fn a_run_that_is_asked_for_without_a_hub_goes_on_when_there_is_one() {
    let (system, hub) = System::durable_broker();
    let http = free_address();
    let _cortex = cortex(&system, &http);
    hub.kill();
    let run = start(&http, HELLO);
    let _hub = system.start_durable_broker();
    ends_once(&system, &http, &run);
}

/// Streams end on shutdown, so that neither side waits for the other.
#[test]
fn somebody_who_watches_holds_nothing_up_when_everything_stops() {
    let (system, http) = (System::bare(free_address()), free_address());
    let everything = up(&system, &http);
    let _press = system.start_press();
    let run = start(&http, ASKED);
    let mut events = watch(&http, &run, 0);
    system.wait_begun(1);
    everything.signal(Signal::SIGTERM);
    let frames: Vec<Value> = std::iter::from_fn(|| events.frame()).collect();
    assert!(!kinds(&frames).contains(&"complete"), "{frames:?}");
    let ended = everything.wait();
    // Who is held up ends as well, and not with 0.
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let _second = up(&system, &http);
    let mut events = watch(&http, &run, frames.len());
    system.let_go();
    let rest: Vec<Value> = std::iter::from_fn(|| events.frame()).collect();
    assert_eq!(
        rest.first().map(|f| f["sequence"].clone()),
        Some((frames.len() + 1).into())
    );
    assert_eq!(kinds(&rest).last(), Some(&"complete"), "{rest:?}");
}

/// A Cortex on a remote hub serves the same, if configured.
#[test]
fn cortex_alone_serves_runs_where_it_is_told_to() {
    let (system, http, grpc) = (System::bare(free_address()), free_address(), free_address());
    let cortex = system.start(&["cortex", "--ephemeral", "--http", &http, "--grpc", &grpc]);
    let early = eventually("it listens", || send(&http, "GET", "/v1/runs", "", ""));
    assert_eq!(early.status, 503, "{}", early.head);
    assert!(early.head.contains("retry-after: 1"), "{}", early.head);
    assert_eq!(early.json()["type"], "urn:agenthub:problem:unavailable");
    let _broker = system.start_broker();
    let line = cortex.line_with("is connected");
    assert!(line.contains(&http) && line.contains(&grpc), "{line}");
    let run = start(&http, r#"{"objective": "hello", "mode": "chat"}"#);
    let mut events = watch(&http, &run, 0);
    let frames: Vec<Value> = std::iter::from_fn(|| events.frame()).collect();
    assert_eq!(kinds(&frames).last(), Some(&"complete"), "{frames:?}");
    let shown = system.run(
        &[
            "runs",
            "show",
            &run,
            "--json",
            "--cortex",
            &format!("http://{grpc}"),
        ],
        "",
    );
    assert!(shown.stdout.contains(&run), "{shown:?}");
    assert_eq!(get(&http, "/health").status, 404, "that is the hub's");
    cortex.signal(Signal::SIGTERM);
    assert_eq!(cortex.wait().code, Some(0));
}

/// A non-loopback address needs an explicit setting.
#[test]
fn cortex_alone_listens_for_others_only_on_purpose() {
    let system = System::bare(free_address());
    for flag in ["--http", "--grpc"] {
        let refused = system.run(&["cortex", "--ephemeral", flag, "0.0.0.0:0"], "");
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("--insecure"), "{refused:?}");
    }
}
