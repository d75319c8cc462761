//! Starts the programs of a system and watches their output.

mod process;
mod thinking;

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::Value;

pub(crate) use process::{Finished, Process};
pub(crate) use thinking::PRESS;

/// Timeout of any step of a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Time that agents may be offline in tests that wait until they are given up.
const AWAY_GRACE_SECONDS: &str = "2";

/// Time for which the mail of an agent that was killed stays with it.
pub(crate) const PRESENCE_LEASE_SECONDS: &str = "3";

/// A system's folder, and the address of its hub.
pub(crate) struct System {
    folder: tempfile::TempDir,
    grpc: String,
}

impl System {
    /// A system with a hub, Cortex and the echo agent in one process.
    pub(crate) fn up() -> (Self, Process) {
        let (system, up, _) = Self::up_with_http();
        (system, up)
    }

    /// The same, with its address of HTTP.
    pub(crate) fn up_with_http() -> (Self, Process, String) {
        let mut system = Self::bare("127.0.0.1:0".to_owned());
        let up = system.start(&[
            "up",
            "--json",
            "--ephemeral",
            "--away-grace-seconds",
            AWAY_GRACE_SECONDS,
            "--presence-lease-seconds",
            PRESENCE_LEASE_SECONDS,
            "--grpc",
            "127.0.0.1:0",
            "--http",
            "127.0.0.1:0",
        ]);
        let banner: Value = serde_json::from_str(&up.line("the banner")).expect("one line of JSON");
        let address = |of: &str| banner[of].as_str().expect("an address").to_owned();
        system.grpc = address("grpc");
        (system, up, address("http"))
    }

    /// A system with a hub alone, on a reserved port.
    pub(crate) fn broker() -> (Self, Process) {
        let system = Self::bare(free_address());
        let broker = system.start_broker();
        (system, broker)
    }

    /// A system without processes, whose hub will be at `grpc`.
    pub(crate) fn bare(grpc: String) -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            grpc,
        }
    }

    /// Starts or restarts the hub on the system's address.
    pub(crate) fn start_broker(&self) -> Process {
        let broker = self.start(&[
            "broker",
            "--json",
            "--ephemeral",
            "--away-grace-seconds",
            AWAY_GRACE_SECONDS,
            "--presence-lease-seconds",
            PRESENCE_LEASE_SECONDS,
            "--grpc",
            &self.grpc,
            "--http",
            "127.0.0.1:0",
        ]);
        broker.line("the banner");
        broker
    }

    /// A system with a hub alone, with its log on disk.
    pub(crate) fn durable_broker() -> (Self, Process) {
        let system = Self::bare(free_address());
        let broker = system.start_durable_broker();
        (system, broker)
    }

    /// Starts or restarts the hub with its log on disk, on the system's address.
    pub(crate) fn start_durable_broker(&self) -> Process {
        self.start_durable_broker_in(&[])
    }

    /// The same with additional environment variables.
    pub(crate) fn start_durable_broker_in(&self, environment: &[(&str, &PathBuf)]) -> Process {
        let broker = self.begin_durable_broker_in(environment);
        broker.line("the banner");
        broker
    }

    /// The same, without waiting until it serves.
    pub(crate) fn begin_durable_broker_in(&self, environment: &[(&str, &PathBuf)]) -> Process {
        let args = [
            "broker",
            "--json",
            "--away-grace-seconds",
            AWAY_GRACE_SECONDS,
            "--presence-lease-seconds",
            PRESENCE_LEASE_SECONDS,
            "--grpc",
            self.grpc(),
            "--http",
            "127.0.0.1:0",
        ];
        Process::start_in(environment, self.folder(), &self.hub(), &args)
    }

    /// Starts or restarts everything in one process with its data on disk, on the system's address.
    pub(crate) fn start_durable_up(&self) -> Process {
        let up = self.start(&[
            "up",
            "--json",
            "--presence-lease-seconds",
            PRESENCE_LEASE_SECONDS,
            "--grpc",
            self.grpc(),
            "--http",
            "127.0.0.1:0",
        ]);
        up.line("the banner");
        up
    }

    /// Starts a test of this program that is ignored, as a process of this system.
    pub(crate) fn start_test(&self, name: &str) -> Process {
        let this_program = std::env::current_exe().expect("it has a path");
        let args = ["--exact", name, "--ignored", "--nocapture"];
        Process::start_other(&this_program, self.folder(), &self.hub(), &args)
    }

    /// Working directory of its programs.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts an echo agent and waits until it has connected.
    pub(crate) fn start_echo(&self, name: &str) -> Process {
        let agent = self.start(&["agent", "echo", "--name", name]);
        self.wait_online(name);
        agent
    }

    /// Starts Cortex and waits until it has connected.
    pub(crate) fn start_cortex(&self) -> Process {
        let cortex = self.start(&["cortex"]);
        self.wait_online("cortex");
        cortex
    }

    /// Starts a program that keeps running.
    pub(crate) fn start(&self, args: &[&str]) -> Process {
        Process::start(self.folder.path(), &self.hub(), args)
    }

    /// Runs a program with these input lines to its end.
    pub(crate) fn run(&self, args: &[&str], input: &str) -> Finished {
        self.start(args).finish(input)
    }

    /// Output of the chat for these lines.
    pub(crate) fn chat(&self, input: &str) -> Finished {
        self.run(&["chat"], input)
    }

    /// Output lines of a program with `--json`.
    pub(crate) fn json(&self, args: &[&str]) -> Vec<Value> {
        let finished = self.run(args, "");
        assert_eq!(finished.code, Some(0), "{args:?}: {finished:?}");
        let lines = finished.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
            .collect()
    }

    /// Waits until the directory lists an agent as online.
    pub(crate) fn wait_online(&self, agent: &str) {
        eventually(&format!("{agent} is online"), || {
            let shown = self.run(&["agents", "show", agent, "--json"], "");
            shown.stdout.contains("AGENT_STATE_ONLINE").then_some(())
        });
    }

    /// The URL of the hub.
    pub(crate) fn hub(&self) -> String {
        format!("http://{}", self.grpc)
    }

    /// `host:port` of the hub.
    pub(crate) fn grpc(&self) -> &str {
        &self.grpc
    }
}

/// HTTP address of a hub that has just started, from its banner.
pub(crate) fn http_address(broker: &Process) -> String {
    let banner = broker.line("the banner");
    let banner: Value = serde_json::from_str(&banner).expect("JSON");
    let http = banner["http"].as_str().expect("the address of HTTP");
    http.to_owned()
}

/// The response to a request, head included.
pub(crate) fn get(http: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(http).expect("it listens");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n"
    )
    .expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

/// Waits until a condition returns a value.
pub(crate) fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "still not so after {PATIENCE:?}: {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A free loopback address.
pub(crate) fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").to_string()
}
