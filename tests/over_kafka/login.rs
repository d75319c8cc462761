//! The password for a Kafka: in its place alone, however the login goes.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use agenthub_bus::{Bus, KafkaBus, Message, kafka::Settings};
use nix::sys::signal::Signal;
use prost::Message as _;
use tokio::runtime::Runtime;
use uuid::Uuid;

use super::{
    WORK, WORKFLOW,
    stage::{Address, Stage},
};
use crate::{
    canaries::planted::{Canary, stay_home},
    harness::{Process, System, alone_with_kafka, eventually, free_address, get},
    metrics::scraped,
    telemetry::collector::Collector,
    workflows::{begun, written},
};

/// Passwords in a variable and in a file.
const IN_VARIABLE: &str = "kafka-canary-variable-9c17e0b4";
const IN_FILE: &str = "kafka-canary-file-52d8f6a03b";

/// Address of a Kafka that wants a login, and the certificate of who signs for it; nobody's address if there is none.
fn wants_login() -> (String, Option<PathBuf>) {
    let Some(folder) = env::var_os("AGENTHUB_TEST_KAFKA_FOLDER").map(PathBuf::from) else {
        return (free_address(), None);
    };
    let address = fs::read_to_string(folder.join("login-address"));
    let address = address.expect("scripts/services has written it");
    (address.trim().to_owned(), Some(folder.join("login.pem")))
}

/// Issue 25: a canary in the password for Kafka is in no output, error, file, or log at `trace`.
#[test]
fn the_password_for_kafka_stays_in_its_place() {
    let _alone = alone_with_kafka();
    let (servers, ca) = wants_login();
    let system = System::bare(free_address());
    let folder = system.folder();
    let ca = ca.map_or_else(String::new, |ca| format!("ca = '{}'\n", ca.display()));
    let security = if ca.is_empty() {
        "sasl_plaintext"
    } else {
        "sasl_tls"
    };
    fs::write(folder.join("password"), format!("{IN_FILE}\n")).expect("it is written");
    let variable = PathBuf::from(IN_VARIABLE);
    let mut said = String::new();
    for (password, mechanism) in [
        ("env:KAFKA_PASSWORD", "plain"),
        ("file:password", "plain"),
        ("env:KAFKA_PASSWORD", "scram-sha-512"),
        ("file:missing", "plain"),
    ] {
        if ca.is_empty() && mechanism != "plain" {
            continue;
        }
        let settings = format!(
            "claims = 'claims'\n[kafka]\nservers = '{servers}'\nsecurity = '{security}'\nmechanism = '{mechanism}'\nusername = 'agenthub'\npassword = '{password}'\n{ca}"
        );
        fs::write(folder.join("agenthub.toml"), settings).expect("it is written");
        for args in [
            &[
                "up",
                "--json",
                "--no-chat",
                "--executors",
                "tasks",
                "--grpc",
                "127.0.0.1:0",
                "--http",
                "127.0.0.1:0",
            ][..],
            &["bridge", "--json", "--a2a", "http://127.0.0.1:9"],
        ] {
            let args = [args, &["--log", "trace"]].concat();
            let environment = [("KAFKA_PASSWORD", &variable)];
            let process = Process::start_in(&environment, folder, &system.hub(), &args);
            eventually("the login is tried", || {
                let told = process.said();
                let signs = ["a connection to Kafka", "not take the login", "is to be in"];
                signs.iter().any(|sign| told.contains(sign)).then_some(())
            });
            said += &process.said();
            process.signal(Signal::SIGTERM);
            said += &format!("{args:?} {password}: {:?}\n", process.wait());
        }
    }
    assert!(said.contains("TRACE"), "everything is logged");
    let canaries = [
        Canary::new(IN_VARIABLE, &[]),
        Canary::new(IN_FILE, &["password"]),
    ];
    stay_home(&canaries, &said, folder);
}

/// A Kafka that takes a login: the address, the password and the certificate; `None` if there is none.
fn lets_in() -> Option<(String, String, PathBuf)> {
    let folder = PathBuf::from(env::var_os("AGENTHUB_TEST_KAFKA_FOLDER")?);
    let text = |name: &str| {
        let text = fs::read_to_string(folder.join(name));
        text.expect("scripts/services has written it")
            .trim()
            .to_owned()
    };
    Some((
        text("login-address"),
        text("login-password"),
        folder.join("login.pem"),
    ))
}

/// Issue 25: the password that a Kafka takes is in its file alone: steps go over that Kafka, a bridge does them, and a connector carries events both
/// ways, with everything logged; it is in no log, span, metric, journal, error or export.
#[test]
fn a_password_that_lets_in_is_in_its_file_alone() {
    let Some((servers, password, ca)) = lets_in() else {
        eprintln!("skipped: AGENTHUB_TEST_KAFKA_FOLDER names no folder");
        return;
    };
    for mechanism in ["plain", "scram-sha-512"] {
        work_with(mechanism, &servers, &password, &ca);
    }
}

fn work_with(mechanism: &str, servers: &str, password: &str, ca: &Path) {
    let collector = Collector::over_http();
    let environment = vec![
        ("AGENTHUB_LOG", PathBuf::from("trace")),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", PathBuf::from(&collector.url)),
        ("OTEL_METRIC_EXPORT_INTERVAL", PathBuf::from("500")),
    ];
    let login = format!(
        "security = 'sasl_tls'\nmechanism = '{mechanism}'\nusername = 'agenthub'\npassword = 'file:password'\nca = '{}'\n",
        ca.display()
    );
    let at = Address {
        servers: servers.to_owned(),
        settings: &login,
        password,
    };
    let (stage, up) = Stage::start_at(at, WORK, "tasks", "", environment);
    let folder = stage.system.folder();
    let bridge = stage.bridge("login");
    let prefix = format!("t{}", &Uuid::new_v4().simple().to_string()[..12]);
    let topic = |name: &str| format!("{prefix}.{name}");
    let connector = stage.process(&[
        "connect",
        "kafka",
        "--json",
        "--name",
        &prefix,
        "--tasks",
        &format!("*={}", topic("tasks")),
        "--to-agent",
        &format!("{}=agent_echo", topic("in")),
        "--metrics",
        "127.0.0.1:0",
    ]);
    connector.line("that it carries");

    let file = written(&stage.system, "count.yaml", WORKFLOW);
    let run = begun(&stage.system, &file, "{}");
    let ended = stage.ended(&run);
    assert_eq!(ended["state"], "completed", "{ended}");
    let plain = env::var("AGENTHUB_TEST_KAFKA").expect("its address without a login");
    Runtime::new().expect("threads").block_on(async {
        let bus = KafkaBus::connect(Settings::new(&*plain)).await;
        let bus = bus.expect("it is there");
        let text = serde_json::json!({ "text": "good day" });
        let record = Message::json("r1", "conversation", &text);
        let written = bus.publish(&topic("in"), &[record]).await;
        written.expect("it is written");
    });
    let mut said = String::new();
    eventually("the connector has carried both ways", || {
        let counted = scraped(&connector);
        let is_counted = |direction: &str| {
            let lines = counted.lines().filter(|line| line.starts_with(direction));
            lines
                .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
                .any(|count| count > 0.0)
        };
        let both = is_counted("agenthub_connect_records_written_total")
            && is_counted("agenthub_connect_records_taken_total");
        both.then_some(())
    });
    eventually("spans and metrics have come", || {
        let has_come = !collector.requests().is_empty() && !collector.metrics().is_empty();
        has_come.then_some(())
    });
    said += &(scraped(&connector) + &scraped(&bridge) + &get(&stage.http, "/metrics"));
    for args in [
        &["runs", "show", &run, "--json"][..],
        &["runs", "events", &run, "--json"],
        &["runs", "steps", &run, "--json"],
        &["tasks", "list", "--json"],
        &["mailboxes", "list", "--json"],
        &["agents", "list", "--json"],
    ] {
        said += &format!("{:?}", stage.system.run(args, ""));
    }
    for process in [up, bridge, connector] {
        process.signal(Signal::SIGTERM);
        let done = process.wait();
        said += &format!("{done:?}");
    }
    for args in [&["log", "export"][..], &["audit", "tail", "--json"]] {
        said += &format!("{:?}", stage.system.run(args, ""));
    }
    assert!(said.contains("TRACE"), "everything is logged");
    for (request, _) in collector.requests() {
        said += &String::from_utf8_lossy(&request.encode_to_vec());
    }
    for metric in collector.metrics() {
        said += &String::from_utf8_lossy(&metric.encode_to_vec());
    }
    stay_home(&[Canary::new(password, &["password"])], &said, folder);
}
