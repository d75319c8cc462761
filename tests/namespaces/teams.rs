//! A hub that teams share, each in a namespace of its own.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::answers;
use crate::harness::{Finished, Process, System, eventually, free_address};

/// The hub, and an administrator `alice` of each namespace.
pub(super) struct Teams {
    system: System,
    up: Option<Process>,
    http: String,
    tokens: BTreeMap<String, String>,
    files: RefCell<BTreeMap<String, PathBuf>>,
}

impl Teams {
    /// Starts a hub with these namespaces beside `default`.
    pub(super) fn start(namespaces: &[&str]) -> Self {
        Self::start_with_file(namespaces, "", ("policy.toml", ""))
    }

    /// The same with settings, and another file in its folder.
    pub(super) fn start_with_file(
        namespaces: &[&str],
        settings: &str,
        (file, content): (&str, &str),
    ) -> Self {
        let system = System::bare(free_address());
        fs::write(system.folder().join(file), content).expect("it is written");
        fs::write(system.folder().join("agenthub.toml"), settings).expect("it is written");
        let mut teams = Self {
            system,
            up: None,
            http: free_address(),
            tokens: BTreeMap::new(),
            files: RefCell::default(),
        };
        for namespace in namespaces {
            let added = teams.run(&["namespaces", "add", namespace]);
            assert_eq!(added.code, Some(0), "{added:?}");
        }
        for namespace in namespaces.iter().chain(&["default"]) {
            let token = teams.issue(&["alice", "--role", "admin", "--namespace", namespace]);
            teams.tokens.insert((*namespace).to_owned(), token);
        }
        teams.start_again();
        teams
    }

    pub(super) fn start_again(&mut self) {
        let up = [&self.system.up_at(&self.http)[..], &self.system.patience()];
        let up = self.system.start(&up.concat());
        up.line("the banner");
        self.up = Some(up);
    }

    /// Kills it as a crash would, and starts it again.
    pub(super) fn kill_and_restart(&mut self) {
        self.kill();
        self.start_again();
    }

    pub(super) fn kill(&mut self) {
        if let Some(up) = self.up.take() {
            up.kill();
        }
    }

    /// The log of the hub.
    pub(super) fn said(&self) -> String {
        self.up.as_ref().map(Process::said).unwrap_or_default()
    }

    pub(super) fn http(&self) -> &str {
        &self.http
    }

    pub(super) fn hub(&self) -> String {
        self.system.hub()
    }

    pub(super) fn folder(&self) -> &Path {
        self.system.folder()
    }

    /// The administrator's token of a namespace.
    pub(super) fn token(&self, namespace: &str) -> &str {
        &self.tokens[namespace]
    }

    /// Issues a token.
    pub(super) fn issue(&self, args: &[&str]) -> String {
        let args = [&["tokens", "issue", "--json"], args].concat();
        let issued = &self.system.json(&args)[0];
        issued["token"].as_str().expect("a token").to_owned()
    }

    pub(super) fn run(&self, args: &[&str]) -> Finished {
        self.system.run(args, "")
    }

    pub(super) fn system_json(&self, args: &[&str]) -> Vec<Value> {
        self.system.json(args)
    }

    fn file(&self, token: &str) -> String {
        let mut files = self.files.borrow_mut();
        let number = files.len();
        let file = files.entry(token.to_owned()).or_insert_with(|| {
            let file = self.folder().join(format!("{number}.token"));
            fs::write(&file, token).expect("it is written");
            file
        });
        file.to_str().expect("a path").to_owned()
    }

    /// Runs a command with a token.
    pub(super) fn run_as(&self, token: &str, args: &[&str]) -> Finished {
        self.run_with(token, args, "")
    }

    pub(super) fn run_with(&self, token: &str, args: &[&str], input: &str) -> Finished {
        let file = self.file(token);
        let args = [args, &["--token-file", &file]].concat();
        self.system.run(&args, input)
    }

    pub(super) fn json_as(&self, token: &str, args: &[&str]) -> Vec<Value> {
        self.run_as(token, args).json(args)
    }

    /// Starts a program that keeps running, with a token.
    pub(super) fn start_as(&self, token: &str, args: &[&str]) -> Process {
        let file = self.file(token);
        self.system
            .start(&[args, &["--token-file", &file]].concat())
    }

    /// Starts an echo agent of a team and waits until it has connected.
    pub(super) fn start_echo(&self, team: &str, name: &str) -> Process {
        let agent = self.start_as(self.token(team), &["agent", "echo", "--name", name]);
        agent.line_with("connected");
        agent
    }

    /// The answer to an RPC, as text.
    pub(super) fn call_as(&self, token: &str, path: &str, request: &Value) -> String {
        answers::called(&self.hub(), token, path, request)
    }

    /// Waits until an agent is online in the directory of a team.
    pub(super) fn until_online(&self, team: &str, agent: &str) {
        eventually(&format!("{agent} is online in {team}"), || {
            let shown = self.run_as(self.token(team), &["agents", "show", agent, "--json"]);
            shown.stdout.contains("AGENT_STATE_ONLINE").then_some(())
        });
    }

    /// A task as its team sees it.
    pub(super) fn task(&self, team: &str, id: &str) -> String {
        let request = json!({"taskId": id, "historyLength": 100});
        self.call_as(self.token(team), "/agenthub.AgentHub/GetTask", &request)
    }
}

/// A field of each object.
pub(super) fn texts(objects: &[Value], key: &str) -> Vec<String> {
    let found = objects.iter().filter_map(|object| object[key].as_str());
    found.map(str::to_owned).collect()
}
