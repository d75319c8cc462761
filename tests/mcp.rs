//! The hub's agents as MCP tools, served by the binary over standard streams and over HTTP.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use agenthub_sdk::{Agent, Card, Failure, Reply, Skill, TaskContext};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::harness::{PATIENCE, Process, System, eventually, free_address};

/// A client that speaks the protocol line by line.
pub(crate) struct Client {
    server: Process,
    last: u64,
    /// Received notifications.
    notes: Vec<Value>,
}

impl Client {
    pub(crate) fn start(system: &System, more: &[&str]) -> Self {
        Self::with(system, more, json!({}))
    }

    /// A client with these capabilities.
    fn with(system: &System, more: &[&str], capabilities: Value) -> Self {
        let mut args = vec!["mcp"];
        args.extend(more);
        let mut client = Self {
            server: system.start(&args),
            last: 0,
            notes: Vec::new(),
        };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": {"name": "a test", "version": "1"},
        });
        let answer = client.ask("initialize", hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "agenthub");
        assert_eq!(
            answer["result"]["capabilities"]["tools"]["listChanged"],
            true
        );
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        self.server.type_line(&message.to_string());
    }

    /// Sends a request, and returns its id.
    fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
            self.notes.push(message);
        }
    }

    pub(crate) fn call(&mut self, tool: &str, request: &str) -> Value {
        let arguments = json!({"request": request});
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        answer["result"].clone()
    }

    /// The next message: standard output contains nothing else.
    fn next(&mut self) -> Value {
        let line = self.server.line("a message");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Waits for a notification.
    fn noted(&mut self, method: &str) -> Value {
        if let Some(at) = self.notes.iter().position(|note| note["method"] == method) {
            return self.notes.remove(at);
        }
        loop {
            let message = self.next();
            if message["method"] == method {
                return message;
            }
        }
    }

    fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().cloned();
        let names = tools.unwrap_or_default().into_iter();
        names
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
            .collect()
    }

    /// Waits until this tool is listed.
    fn sees(&mut self, tool: &str) {
        eventually(&format!("{tool} is a tool"), || {
            self.tools().iter().any(|name| name == tool).then_some(())
        });
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// The whole protocol: a client of Cortex's tool reaches the agents.
///
/// spec: SOP-5.1
#[test]
fn a_client_calls_the_agents_and_cortex_over_standard_streams() {
    let (system, _up) = System::up();
    let mut client = Client::start(&system, &[]);
    client.sees("agent_echo");
    let tools = client.tools();
    assert!(tools.contains(&"agent_cortex".to_owned()), "{tools:?}");
    assert_eq!(text(&client.call("agent_echo", "hello")), "Echo: hello");
    let answer = client.call("agent_cortex", "ask agent_echo to say good morning");
    assert!(text(&answer).contains("good morning"), "{answer}");
    assert_eq!(answer["isError"], false);
    let unknown = client.ask("tools/call", json!({"name": "agent_x", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    // It ends at the end of its input; who is held up then ends as well, and not with 0.
    let ended = client.server.finish("");
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Processes can start in any order, and need no restart.
#[test]
fn a_hub_that_comes_later_and_dies_in_between_is_found_again() {
    let system = System::bare(free_address());
    let mut client = Client::start(&system, &[]);
    let refused = client.ask("tools/list", json!({}));
    let why = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(
        why.contains(system.grpc()) && why.contains("agenthub up"),
        "{refused}"
    );
    let called = client.call("agent_echo", "hello");
    assert_eq!(called["isError"], true, "{called}");
    assert!(text(&called).contains("agenthub up"), "{called}");

    let broker = system.start_durable_broker();
    client.noted("notifications/tools/list_changed");
    let echo = system.start_echo("agent_echo");
    client.sees("agent_echo");
    assert_eq!(text(&client.call("agent_echo", "one")), "Echo: one");

    // The agent is stopped when the hub dies; its call is answered after both are back.
    echo.signal(Signal::SIGSTOP);
    let arguments = json!({"request": "two"});
    let id = client.request(
        "tools/call",
        json!({"name": "agent_echo", "arguments": arguments}),
    );
    eventually("the agent has the work", || {
        let tasks = system.json(&["tasks", "list", "--agent", "agent_echo", "--json"]);
        (tasks.len() == 2).then_some(())
    });
    broker.kill();
    let _broker = system.start_durable_broker();
    echo.signal(Signal::SIGCONT);
    let answer = loop {
        let message = client.next();
        if message["id"] == id {
            break message;
        }
    };
    assert_eq!(text(&answer["result"]), "Echo: two", "{answer}");
    client.sees("agent_echo");
    client.server.signal(Signal::SIGTERM);
    let ended = client.server.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// A cancelled call stops the agent's work, which its tool would notice; a client that disconnects cancels its calls.
#[test]
fn calls_are_called_back_from_agents_that_are_processes() {
    let (system, _broker) = System::broker();
    let _press = system.start_press();
    let mut client = Client::start(&system, &[]);
    client.sees("agent_press");
    let arguments = json!({"request": "press hello on the printing press"});
    let call =
        json!({"name": "agent_press", "arguments": arguments, "_meta": {"progressToken": "p"}});
    let id = client.request("tools/call", call.clone());
    let progress = client.noted("notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p");
    assert_eq!(progress["params"]["progress"].as_f64(), Some(1.0));
    system.wait_begun(1);
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.send(&cancelled);
    wait_cancelled(&system, 1);

    client.request("tools/call", call);
    system.wait_begun(2);
    client.server.signal(Signal::SIGTERM);
    let ended = client.server.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    wait_cancelled(&system, 2);
    assert!(system.done().is_empty(), "the press was stopped");
}

/// The question is in the hub's log: hub, server and agent are killed while the person thinks, and it is answered once, in the same task.
#[test]
fn a_question_to_the_person_at_the_client_outlives_all_that_are_killed() {
    let system = System::bare(free_address());
    let broker = system.start_durable_broker();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let travel = async || {
        let skill = Skill::new("book", "Book", "Books a trip");
        let book = async |task: TaskContext| {
            let city = task.ask_requester("Where to?").await?.text();
            Ok::<_, Failure>(Reply::text(format!("{city} in {}", task.task_id())))
        };
        let card = Card::new("travel", "Books trips").skill(skill);
        let agent = Agent::worker(card).on_task_type("book", book);
        agent
            .start(format!("http://{}", system.grpc()))
            .await
            .expect("it starts")
    };
    let agent = runtime.block_on(travel());
    let mut client = Client::with(&system, &[], json!({"elicitation": {}}));
    client.sees("agent_travel");
    let arguments = json!({"request": "a trip", "context_id": "trip"});
    client.request(
        "tools/call",
        json!({"name": "agent_travel", "arguments": arguments}),
    );
    let asked = client.noted("elicitation/create");
    assert_eq!(asked["params"]["message"], "travel asks: Where to?");
    client.server.kill();
    broker.kill();
    // The agent ends without a word, as one that is killed: its runtime is gone.
    runtime.shutdown_background();
    drop(agent);

    let _broker = system.start_durable_broker();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _agent = runtime.block_on(travel());
    let mut client = Client::start(&system, &[]);
    client.sees("agent_travel");
    let [task] = &system.json(&["tasks", "list", "--agent", "travel", "--json"])[..] else {
        panic!("one task");
    };
    let arguments = json!({"request": "Oslo", "context_id": "trip"});
    let answer = client.ask(
        "tools/call",
        json!({"name": "agent_travel", "arguments": arguments}),
    );
    let id = task["id"].as_str().expect("an id");
    assert_eq!(text(&answer["result"]), format!("Oslo in {id}"), "{answer}");
}

fn wait_cancelled(system: &System, count: usize) {
    eventually(&format!("{count} tasks are cancelled"), || {
        let states = system.states();
        let cancelled = states
            .iter()
            .filter(|(_, state)| state.contains("CANCELLED"));
        (cancelled.count() == count).then_some(())
    });
}

#[test]
fn what_cannot_be_served_is_said_in_plain_words() {
    let system = System::bare(free_address());
    for (args, said) in [
        (&["mcp", "--hub", "http://"][..], "is no address of a hub"),
        (
            &["mcp", "--http", "127.0.0.1:0", "--hub", "http://"],
            "is no address of a hub",
        ),
        (&["mcp", "--timeout", "0"], "--timeout"),
    ] {
        let refused = system.run(args, "");
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.stderr.contains(said), "{refused:?}");
        assert_eq!(refused.stdout, "", "that is the protocol's");
    }
    let garbage = system.run(&["mcp"], "hello?\n");
    assert_eq!(garbage.stdout, "", "{garbage:?}");
    // Where everybody may do everything, other machines are let in only if that is wanted.
    let (system, _hub) = System::broker();
    let refused = system.run(&["mcp", "--http", "0.0.0.0:0"], "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("--insecure"), "{refused:?}");
}

/// Address of `mcp --http`, once it listens.
fn address(server: &Process) -> String {
    let line = server.line_with("MCP tools at");
    let address = line
        .split_whitespace()
        .find(|word| word.starts_with("http://127.0.0.1:") && word.ends_with("/mcp"));
    address.expect("an address").to_owned()
}

/// The official client for Python lists, calls, sees progress and cancels, over standard streams and over HTTP, with
/// both protocol versions.
#[test]
fn the_official_python_client_uses_the_agents() {
    let Some(python) = env::var_os("AGENTHUB_TEST_PYTHON").filter(|python| !python.is_empty())
    else {
        eprintln!("not tested: AGENTHUB_TEST_PYTHON names no Python that has the package `mcp`");
        return;
    };
    let (system, _broker) = System::broker();
    let _echo = system.start_echo("agent_echo");
    let _press = system.start_press();
    let http = system.start(&["mcp", "--http", "127.0.0.1:0"]);
    let url = address(&http);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_client.py");
    let binary = env!("CARGO_BIN_EXE_agenthub");
    let calls = system.folder().join("press.begun");
    let calls = calls.to_str().expect("a path in UTF-8");
    for (kind, place) in [("stdio", binary), ("http", &*url)] {
        let log = system.folder().join(format!("{kind}.log"));
        let out = fs::File::create(&log).expect("the folder is there");
        let errors = out.try_clone().expect("a file");
        let mut client = Command::new(&python)
            .arg(&script)
            .args([kind, place, &system.hub(), calls])
            .current_dir(system.folder())
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors)
            .spawn()
            .expect("Python starts");
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = client.try_wait().expect("it was started") {
                break Some(status);
            }
            if begun.elapsed() > PATIENCE * 3 {
                client.kill().expect("it runs");
                client.wait().expect("it was killed");
                break None;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let said = fs::read_to_string(&log).expect("its log");
        assert!(
            status.is_some_and(|status| status.success()),
            "{kind}: {said}"
        );
        let found: Vec<Value> = said
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(Value::is_object)
            .collect();
        let protocols: Vec<&str> = found
            .iter()
            .filter_map(|f| f["protocol"].as_str())
            .collect();
        assert!(
            protocols.len() >= 2 && protocols.contains(&"2026-07-28"),
            "{said}"
        );
    }
    // Two protocols, two transports: four calls were begun, and none was done.
    wait_cancelled(&system, 4);
    assert_eq!(system.begun().len(), 4);
    assert!(system.done().is_empty(), "the press was stopped");
    http.signal(Signal::SIGTERM);
    assert_eq!(http.wait().code, Some(0));
}
