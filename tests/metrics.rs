//! Metrics of the running program: what dashboards, alerts and the documentation name is there.

mod exposition;
mod named;

use std::{
    collections::BTreeSet,
    env, fs,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use agenthub_sdk::{
    Agent, Card, Client, TaskContext,
    proto::{
        a2a::{Message, Role},
        agenthub::AgentEventMetadata,
    },
};
use tokio::runtime::Runtime;

use self::{exposition::Exposition, named::metrics_in};
use crate::harness::{Process, System, eventually, get};

/// A price, so that there is a cost to count.
const SETTINGS: &str = "[prices]\noffline = { input = 2.0, output = 8.0 }\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A system in which something of everything has happened.
struct Busy {
    _system: System,
    http: String,
    _up: Process,
    _runtime: Runtime,
}

impl Busy {
    fn start() -> Self {
        let (system, up, http) = System::up_in(&[("agenthub.toml", SETTINGS)]);
        let chat = system.chat("echo 'hello there'\n");
        assert!(chat.stdout.contains("hello there"), "{chat:?}");
        let brief = root().join("examples/campaign.yaml");
        let brief = brief.to_str().expect("a path in Unicode");
        let asked = ["run", brief, "--approval", "content.write", "--detach"];
        let asked = system.run(&asked, "");
        assert_eq!(asked.code, Some(0), "{asked:?}");
        let run = asked.stdout.trim().to_owned();
        eventually("the run is over", || {
            let _ = system.run(&["runs", "approve", &run], "");
            let shown = system.json(&["runs", "show", &run, "--json"]);
            (shown[0]["state"] == "completed").then_some(())
        });
        let runtime = Runtime::new().expect("threads");
        runtime.block_on(fill_a_mailbox(&system.hub()));
        assert!(get(&http, "/health").contains("200 OK"));
        Self {
            _system: system,
            http,
            _up: up,
            _runtime: runtime,
        }
    }

    fn scrape(&self) -> String {
        let answer = get(&self.http, "/metrics");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains("text/plain; version=0.0.4"), "{head}");
        body.to_owned()
    }
}

/// Leaves mail in the mailbox of an agent that takes one piece and never ends.
async fn fill_a_mailbox(hub: &str) {
    let slow = Agent::worker(Card::new("slow", "Never answers"))
        .concurrency(1)
        .on_any(|_: TaskContext| std::future::pending::<String>());
    // It works until the runtime ends.
    std::mem::forget(slow.start(hub).await.expect("the hub is there"));
    let client = Client::builder(hub).agent_id("asker").connect().await;
    let client = client.expect("the hub is there");
    for _ in 0..400 {
        let routing = AgentEventMetadata {
            to_agent_id: "slow".into(),
            ..Default::default()
        };
        let message = Message::new(Role::User, "work");
        client.publish(message, routing).await.expect("accepted");
    }
    std::mem::forget(client);
}

/// spec: PRD-7
#[test]
fn what_dashboards_alerts_and_documentation_name_is_exported() {
    let busy = Busy::start();
    let text = busy.scrape();
    let mut exported = Exposition::read(&text);
    for (name, family) in &exported.families {
        assert!(!family.help.is_empty(), "{name} has no HELP");
        assert!(
            !family.series.is_empty(),
            "{name} has no value: give the test what makes one"
        );
    }
    let documented = read("docs/METRICS.md");
    let table = exported.table();
    assert!(
        documented.contains(&table),
        "docs/METRICS.md has to have this table:\n{table}"
    );
    // Those of other processes are held against the documentation where they are made.
    let prefixes = ["agenthub_bridge_", "agenthub_connect_", "agenthub_topic_"];
    exported.add_documented(&documented, &prefixes);
    let mut named = BTreeSet::new();
    for board in ["overview", "hub", "runs", "kafka"] {
        let path = format!("dashboards/{board}.json");
        let board: serde_json::Value = serde_json::from_str(&read(&path)).expect("JSON");
        let expressions = expressions(&board);
        assert!(expressions.len() > 5, "{path}: {expressions:?}");
        for expression in expressions {
            check(&path, &expression, &exported, &mut named);
        }
    }
    let alerts = read("dashboards/alerts.yaml");
    let expressions = named::rules(&alerts);
    assert_eq!(expressions.len(), alerts.matches("- alert:").count());
    for expression in expressions {
        check("dashboards/alerts.yaml", &expression, &exported, &mut named);
    }
    let on_no_board: Vec<&String> = exported
        .families
        .keys()
        .filter(|name| !named.contains(*name))
        .collect();
    assert!(on_no_board.is_empty(), "no dashboard shows {on_no_board:?}");

    let test = read("dashboards/alerts_test.yaml");
    for alert in alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
    {
        let cases = test.matches(&format!("alertname: {alert}")).count();
        assert_eq!(
            cases, 2,
            "{alert}: one test in which it fires, one in which it does not"
        );
    }
    promtool(&text);
}

/// Metrics and labels of every query of a dashboard.
fn expressions(board: &serde_json::Value) -> Vec<String> {
    let panels = board["panels"].as_array().expect("panels").iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array());
    let queries = targets.flatten().map(|target| &target["expr"]);
    queries
        .map(|expr| expr.as_str().expect("text").to_owned())
        .collect()
}

/// Checks that what an expression names is there, labels included.
fn check(of: &str, expression: &str, exported: &Exposition, named: &mut BTreeSet<String>) {
    let found = metrics_in(expression);
    assert!(!found.is_empty(), "{of}: {expression} asks for nothing");
    // Whether a target can be scraped is what Prometheus itself knows.
    for metric in found.iter().filter(|metric| metric.name != "up") {
        let Some((family, labels)) = exported.labels_of(&metric.name) else {
            panic!("{of}: {} is not exported, in {expression}", metric.name);
        };
        named.insert(family.to_owned());
        for label in &metric.labels {
            let is_there = labels.contains(label) || ["instance", "job"].contains(&label.as_str());
            assert!(
                is_there,
                "{of}: {} has no label {label}, in {expression}",
                metric.name
            );
        }
    }
}

/// Has `promtool` look at the text and the rules, where `AGENTHUB_TEST_PROMTOOL` names it.
fn promtool(text: &str) {
    let Some(tool) = env::var_os("AGENTHUB_TEST_PROMTOOL").filter(|tool| !tool.is_empty()) else {
        eprintln!("not tested: AGENTHUB_TEST_PROMTOOL does not name promtool");
        return;
    };
    let run = |args: &[&str], input: &str| {
        let mut child = Command::new(PathBuf::from(&tool))
            .args(args)
            .current_dir(root().join("dashboards"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("promtool starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(input.as_bytes()).expect("it reads");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{args:?}: {output:?}");
        output
    };
    run(&["check", "rules", "alerts.yaml"], "");
    run(&["test", "rules", "alerts_test.yaml"], "");
    let checked = run(&["check", "metrics"], text);
    // What it merely advises against is said there too.
    assert!(checked.stderr.is_empty(), "{checked:?}");
}

/// A slow request leads to its trace: from an exemplar of the scrape to the line of the log.
///
/// spec: PRD-7
#[test]
fn an_exemplar_names_the_trace_that_the_log_tells_of() {
    let (system, up, http) = System::up_with_http();
    let chat = system.chat("echo 'hello there'\n");
    assert!(chat.stdout.contains("hello there"), "{chat:?}");
    let traced = eventually("a run is over, with its trace", || {
        let text = open_metrics(&http);
        assert!(text.ends_with("# EOF\n"), "{text}");
        let mut lines = text.lines();
        let line = lines.find(|line| {
            line.starts_with("agenthub_run_seconds_bucket{agent=\"cortex\"") && line.contains('#')
        })?;
        Some(line.to_owned())
    });
    let (_, trace) = traced.split_once("trace_id=\"").expect("an exemplar");
    let trace = &trace[..32];
    let line = format!("\"trace_id\":\"{trace}\"");
    eventually("the log tells of the same trace", || {
        up.said().contains(&line).then_some(())
    });
}

/// The metrics of a process that serves them at an address of their own.
pub(crate) fn scraped(process: &Process) -> String {
    let http = eventually("it says where its metrics are", || {
        let said = process.said();
        let (_, rest) = said.split_once("metrics: http://")?;
        Some(rest.split_once("/metrics")?.0.to_owned())
    });
    let answer = get(&http, "/metrics");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer
}

/// Processes without a hub have metrics, too: those of their runs, and of themselves. Nobody else has them.
#[test]
fn agents_that_are_processes_of_their_own_are_scraped_like_a_hub() {
    let (system, _up, http) = System::up_with_http();
    let args = [
        "agent",
        "worker",
        "--name",
        "counted",
        "--instructions",
        "Help.",
        "--metrics",
        "127.0.0.1:0",
    ];
    let agent = system.start(&args);
    agent.line("that it is connected");
    let asked = system.run(&["publish", "--to", "counted", "--wait", "hello"], "");
    assert!(matches!(asked.code, Some(0 | 3)), "{asked:?}");
    let of_agent = eventually("its run is counted", || {
        let text = scraped(&agent);
        text.contains("agenthub_run_seconds_count{agent=\"counted\"")
            .then_some(text)
    });
    for name in [
        "agenthub_runs_begun_total{agent=\"counted\"}",
        "process_cpu_seconds_total",
        "gen_ai_client_operation_duration_seconds_count",
    ] {
        assert!(of_agent.contains(name), "{name} in {of_agent}");
    }
    assert!(!of_agent.contains("agenthub_events_total"), "{of_agent}");
    assert!(!get(&http, "/metrics").contains("agent=\"counted\",state"));
}

/// Metrics name agents and models: nobody else on the network reads them by mistake.
#[test]
fn metrics_are_open_to_other_machines_only_on_purpose() {
    let system = System::bare(crate::harness::free_address());
    let args = [
        "agent",
        "worker",
        "--name",
        "w",
        "--instructions",
        "x",
        "--metrics",
        "0.0.0.0:0",
    ];
    let refused = system.run(&args, "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("--metrics 0.0.0.0:0"),
        "{refused:?}"
    );
}

pub(crate) fn open_metrics(http: &str) -> String {
    let mut stream = TcpStream::connect(http).expect("it listens");
    write!(
        stream,
        "GET /metrics HTTP/1.1\r\nHost: {http}\r\nAccept: application/openmetrics-text\r\nConnection: close\r\n\r\n"
    )
    .expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}
