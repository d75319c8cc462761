//! Starts the programs of a system and watches their output.

pub(crate) mod certificates;
#[cfg(feature = "kafka")]
mod kafka;
mod ports;
mod process;
mod thinking;

use std::{
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;

#[cfg(feature = "kafka")]
pub(crate) use kafka::alone_with_kafka;
pub(crate) use ports::free_address;
pub(crate) use process::{Finished, Process, remove_settings};
pub(crate) use thinking::PRESS;

/// Timeout of any step of a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Time for which the mail of an agent that was killed stays with it.
const PRESENCE_LEASE_SECONDS: &str = "3";

/// Time for which work waits for an agent that is away: longer than a busy machine takes to start one again.
const AWAY_GRACE_SECONDS: &str = "300";

/// The same in tests that wait until an agent is given up.
const SHORT_AWAY_GRACE_SECONDS: &str = "2";

/// A system's folder, and the address of its hub.
pub(crate) struct System {
    folder: tempfile::TempDir,
    grpc: String,
    away_grace_seconds: &'static str,
}

impl System {
    /// A system with a hub, Cortex and the echo agent in one process.
    pub(crate) fn up() -> (Self, Process) {
        let (system, up, _) = Self::up_with_http();
        (system, up)
    }

    /// The same, with its address of HTTP.
    pub(crate) fn up_with_http() -> (Self, Process, String) {
        Self::up_in(&[])
    }

    /// The same in a folder with these files.
    pub(crate) fn up_in(files: &[(&str, &str)]) -> (Self, Process, String) {
        let mut system = Self::bare("127.0.0.1:0".to_owned());
        for (name, text) in files {
            std::fs::write(system.folder().join(name), text).expect("the folder is ours");
        }
        let patience = system.patience();
        let (up, http) = system.serve_anywhere(&[&["up", "--ephemeral"], &patience[..]].concat());
        (system, up, http)
    }

    /// Starts a hub with this command on free ports, where the system has it from then on: the process, and its address of HTTP.
    pub(crate) fn serve_anywhere(&mut self, command: &[&str]) -> (Process, String) {
        let ports = ["--json", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"];
        let hub = self.start(&[command, &ports].concat());
        let (grpc, http) = addresses(&hub);
        self.grpc = grpc;
        (hub, http)
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
            away_grace_seconds: AWAY_GRACE_SECONDS,
        }
    }

    /// Has its hubs give up soon the agents that are away, for tests that wait for that.
    pub(crate) fn impatient(self) -> Self {
        Self {
            away_grace_seconds: SHORT_AWAY_GRACE_SECONDS,
            ..self
        }
    }

    /// Flags of its hubs: the time for which agents may be away.
    pub(crate) fn patience(&self) -> [&'static str; 4] {
        [
            "--away-grace-seconds",
            self.away_grace_seconds,
            "--presence-lease-seconds",
            PRESENCE_LEASE_SECONDS,
        ]
    }

    /// Starts or restarts a hub with this command on the system's address, and waits until it serves.
    pub(crate) fn serve(&self, command: &[&str]) -> Process {
        self.serve_in(&[], command)
    }

    /// The same with additional environment variables.
    pub(crate) fn serve_in(&self, environment: &[(&str, &PathBuf)], command: &[&str]) -> Process {
        let hub = self.begin_to_serve(environment, command);
        hub.line("the banner");
        hub
    }

    fn begin_to_serve(&self, environment: &[(&str, &PathBuf)], command: &[&str]) -> Process {
        let ports = ["--json", "--grpc", self.grpc(), "--http", "127.0.0.1:0"];
        let args = [command, &ports].concat();
        Process::start_in(environment, self.folder(), &self.hub(), &args)
    }

    /// Starts or restarts the hub on the system's address.
    pub(crate) fn start_broker(&self) -> Process {
        self.serve(&[&["broker", "--ephemeral"], &self.patience()[..]].concat())
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
        self.serve_in(environment, &[&["broker"], &self.patience()[..]].concat())
    }

    /// The same, without waiting until it serves.
    pub(crate) fn begin_durable_broker_in(&self, environment: &[(&str, &PathBuf)]) -> Process {
        self.begin_to_serve(environment, &[&["broker"], &self.patience()[..]].concat())
    }

    /// Starts or restarts everything in one process with its data on disk, on the system's address.
    pub(crate) fn start_durable_up(&self) -> Process {
        self.serve(&[&["up"], &self.patience()[..]].concat())
    }

    /// Starts a test of this program that is ignored, as a process of this system.
    pub(crate) fn start_test(&self, name: &str) -> Process {
        let this_program = std::env::current_exe().expect("it has a path");
        let args = ["--exact", name, "--ignored", "--nocapture"];
        Process::start_other(&this_program, self.folder(), &self.hub(), &args)
    }

    /// The command that starts everything at this system's address, and over HTTP at that one.
    pub(crate) fn up_at<'a>(&'a self, http: &'a str) -> [&'a str; 7] {
        let grpc = self.grpc();
        ["up", "--json", "--no-chat", "--grpc", grpc, "--http", http]
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
        self.run(args, "").json(args)
    }

    /// The same for those who ask until it is as they want: `None` if the program did not do it this time.
    pub(crate) fn try_json(&self, args: &[&str]) -> Option<Vec<Value>> {
        let done = self.run(args, "");
        (done.code == Some(0)).then(|| done.json(args))
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
    addresses(broker).1
}

/// Addresses of gRPC and HTTP, from the same.
fn addresses(hub: &Process) -> (String, String) {
    let banner: Value = serde_json::from_str(&hub.line("the banner")).expect("JSON");
    let address = |of: &str| banner[of].as_str().expect("an address").to_owned();
    (address("grpc"), address("http"))
}

/// The response to a request, head included.
pub(crate) fn get(http: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(http).expect("it listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time that is not zero");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n"
    )
    .expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

/// Waits over a midnight of UTC that is about to come, as quotas of a day begin anew then: three minutes are longer than such a test takes.
pub(crate) fn within_a_day() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH);
    while 86_400 - now().expect("it is after 1970").as_secs() % 86_400 < 180 {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Waits until a condition returns a value.
pub(crate) fn eventually<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, condition)
}

/// The same for what takes longer than others.
pub(crate) fn within<T>(
    patience: Duration,
    what: &str,
    mut condition: impl FnMut() -> Option<T>,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(
            start.elapsed() < patience,
            "still not so after {patience:?}: {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until a hub takes the bearer of a token for this principal. Before it has read its first identity it lets everybody in.
pub(crate) fn until_known(principal: &str, run_as: impl Fn(&[&str]) -> Finished) {
    eventually("the hub knows the token", || {
        let who = run_as(&["access", "whoami", "--json"]);
        let who: Value = serde_json::from_str(&who.stdout).ok()?;
        (who["principal"] == principal).then_some(())
    });
}
