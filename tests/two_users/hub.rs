//! A hub with TLS, tokens of two users, and ways to both of its addresses.

use std::{fs, net::SocketAddr, path::PathBuf};

use serde_json::Value;
use tokio::runtime::Runtime;

use super::tunnel;
use crate::{
    harness::{Finished, Process, System, certificates::SERVER, eventually, free_address},
    http::send,
    namespaces::answers::called,
};

/// A run that waits for a person.
const WORKFLOW: &str = "steps:\n  ask: { approve: 'Shall the heron-of-alice fly?' }\n  fly: { agent: agent_echo, text: 'heron-of-alice flies', depends_on: [ask] }\n";

pub(super) struct Hub {
    system: System,
    up: Option<Process>,
    address: String,
    /// Ways to gRPC and HTTP.
    grpc: SocketAddr,
    http: SocketAddr,
    _runtime: Runtime,
}

impl Hub {
    pub(super) fn start() -> Self {
        let system = System::bare(free_address());
        let address = free_address();
        system.make_certificates();
        for user in ["alice", "bob"] {
            let out = format!("{user}.token");
            let issued = system.run(
                &["tokens", "issue", user, "--role", "user", "--out", &out],
                "",
            );
            assert_eq!(issued.code, Some(0), "{issued:?}");
        }
        fs::write(system.folder().join("fly.yaml"), WORKFLOW).expect("it is written");
        let runtime = Runtime::new().expect("threads");
        let ca = system.folder().join("certs/ca.pem");
        let dig = |protocol, address: &str| tunnel::dig(runtime.handle(), &ca, protocol, address);
        let mut hub = Self {
            up: None,
            grpc: dig("h2", system.grpc()),
            http: dig("http/1.1", &address),
            address,
            system,
            _runtime: runtime,
        };
        hub.serve();
        hub
    }

    fn serve(&mut self) {
        let patience = self.system.patience();
        let serve = [&self.system.up_at(&self.address)[..], &patience, &SERVER].concat();
        let up = self.system.start(&serve);
        up.line("the banner");
        self.up = Some(up);
    }

    pub(super) fn kill_and_restart(&mut self) {
        self.up.take().expect("it runs").kill();
        self.serve();
        eventually("agents are back", || {
            let shown = self.run("alice", &["agents", "show", "cortex", "--json"], "");
            shown.stdout.contains("AGENT_STATE_ONLINE").then_some(())
        });
    }

    fn token(&self, user: &str) -> String {
        let path = self.system.folder().join(format!("{user}.token"));
        fs::read_to_string(path).expect("a token").trim().to_owned()
    }

    /// Runs a command over TLS.
    pub(super) fn run(&self, user: &str, args: &[&str], input: &str) -> Finished {
        let url = format!("https://{}", self.system.grpc());
        let (ca, file) = (PathBuf::from("certs/ca.pem"), format!("{user}.token"));
        let args = [args, &["--token-file", &file]].concat();
        let process = Process::start_in(&[("AGENTHUB_CA", &ca)], self.system.folder(), &url, &args);
        process.finish(input)
    }

    pub(super) fn json(&self, user: &str, args: &[&str]) -> Vec<Value> {
        self.run(user, args, "").json(args)
    }

    pub(super) fn call(&self, user: &str, path: &str, request: &Value) -> String {
        called(
            &format!("http://{}", self.grpc),
            &self.token(user),
            path,
            request,
        )
    }

    pub(super) fn ask(
        &self,
        user: &str,
        (method, path, body): (&str, &str, &str),
        more: &str,
    ) -> String {
        let kind = match path.starts_with("/ui/") {
            true => "application/x-www-form-urlencoded",
            false => "application/json",
        };
        let token = self.token(user);
        let http = self.http.to_string();
        let headers = format!(
            "Content-Type: {kind}\r\nOrigin: https://{http}\r\nA2A-Version: 1.0\r\nAuthorization: Bearer {token}\r\n{more}"
        );
        let answer = send(&http, method, path, &headers, body).expect("an answer");
        let status = answer.status;
        format!("{status} {}", answer.text())
    }

    /// The state of a run, `waiting` while it asks a person.
    pub(super) fn state(&self, user: &str, run: &str) -> String {
        let shown = self.run(user, &["runs", "show", run, "--json"], "");
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap_or_default();
        let asks = shown["approvals"].as_array().is_some_and(|all| {
            all.iter()
                .any(|approval| approval["decision"].is_null() && approval["decidedAt"].is_null())
        });
        match asks || shown.to_string().contains("\"waiting") {
            true => "waiting".to_owned(),
            false => shown["state"].as_str().unwrap_or_default().to_owned(),
        }
    }
}
