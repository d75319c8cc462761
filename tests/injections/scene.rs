//! A hub with its users, agents of every kind whose models obey, and a hub elsewhere.

use std::{fs, path::PathBuf};

use agenthub_sdk::{Agent, AgentBuilder, Card, Client, Reply, RunningAgent, Skill, TaskContext};

use super::{BOBS, FORBIDDEN, SECRET, USERS, common::Case, doors::Doors, model::Obedient};
use crate::harness::{Finished, Process, System, eventually, free_address};

/// Alice may not reach three agents; Carol may, which shows that the models obey. Agents may do everything.
const SETTINGS: &str = r#"
[outbound]
allow = ["127.0.0.0/8"]
[mcp.desk]
command = ["sh", "desk.sh"]
[tools.payments]
agent = "payments"
[tools.outbox]
agent = "outbox"
[tools.vault]
agent = "vault"
[tools.second]
agent = "second"
[access.principals.alice]
roles = ["user"]
deny = ["send:payments", "send:outbox", "send:vault"]
[access.shares."team-a/helper"]
with = ["default"]
as = "helper-of-a"
"#;

/// A server that speaks MCP. The order of the case that a call names is its answer, or the error of its answer.
const DESK: &str = r#"tool() { printf '{"name":"%s","description":"Looks up","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}' "$1"; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case=${line#*CASE }; case=${case%%;*}
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}';;
    *'"tools/list"'*) result="{\"tools\":[$(tool lookup),$(tool broken)]}";;
    *'"tools/call"'*broken*) result="{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"$(cat "orders/$case")\"}]}";;
    *'"tools/call"'*) result="{\"content\":[{\"type\":\"text\",\"text\":\"$(cat "orders/$case")\"}]}";;
    *) continue;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

const TEAM: &str = "---\nname: desk-lead\ndescription: Leads the desk\ntype: orchestrator\ntools: [payments, outbox, vault, second]\n\
     model: openai/desk-lead\ninputs:\n  note: {type: string, required: false}\n---\nYou lead.\n";

const MEMBER: &str = "---\nname: desk-member\ndescription: Works at the desk\n---\nYou work.\n";

const WORKFLOW: &str = "input:\n  type: object\n  required: [note]\n  properties: { note: { type: string } }\n\
     steps:\n  look: { agent: clerk, text: '${workflow.input.note}' }\noutput: { said: '${look.output.text}' }\n";

fn card(name: &str, description: &str) -> Card {
    Card::new(name, description).skill(Skill::new("work", "Work", "Does what it is told"))
}

fn takes(name: &'static str) -> AgentBuilder {
    Agent::worker(card(name, "Works")).on_any(async |task: TaskContext| {
        let notes = if task.task_id() == BOBS { SECRET } else { "" };
        Reply::text(format!("done {notes}"))
    })
}

/// Gives the order of the case that it is asked about; its card has those of a place, too.
fn source(name: &'static str, place: &str) -> AgentBuilder {
    let description = format!("Looks things up. {}", Case::of_place(place));
    Agent::worker(card(name, &description)).on_any(async |task: TaskContext| {
        let data = task.data().map(|data| data.to_string()).unwrap_or_default();
        let case = Case::find(&format!("{} {data}", task.text()));
        Reply::text(case.map_or("nothing".to_owned(), Case::injected))
    })
}

/// A hub with its data on disk, a second one elsewhere, agents whose models obey, and users.
pub(super) struct Scene {
    system: System,
    http: String,
    pub(super) model: Obedient,
    pub(super) up: Option<Process>,
    /// Programs of agents, and the hub elsewhere.
    others: Vec<Process>,
    agents: Vec<RunningAgent>,
    pub(super) tokens: [String; 4],
    elsewhere: System,
}

impl Scene {
    pub(super) fn start() -> Self {
        let model = Obedient::start();
        let system = System::bare(free_address());
        let write = |name: &str, text: &str| {
            let path = system.folder().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("it is written");
        };
        write("agenthub.toml", SETTINGS);
        write("desk.sh", DESK);
        for case in Case::all() {
            write(&format!("orders/{}", case.id()), &case.injected());
        }
        write("team/desk-lead.md", TEAM);
        write("team/desk-member.md", MEMBER);
        write("look.yaml", WORKFLOW);
        for (name, tools) in [("clerk", "tools = ['desk']\n"), ("second", "")] {
            let text =
                format!("name = '{name}'\ntype = 'supervisor'\nmodel = 'openai/{name}'\n{tools}");
            write(&format!("{name}.toml"), &text);
        }
        let added = system.run(&["namespaces", "add", "team-a"], "");
        assert_eq!(added.code, Some(0), "{added:?}");
        let issue = |args: &[&str]| {
            let issued = &system.json(&[&["tokens", "issue", "--json"], args].concat())[0];
            issued["token"].as_str().expect("a token").to_owned()
        };
        let [alice, carol, bob] =
            ["alice", "carol", "bob"].map(|name| issue(&[name, "--role", "user"]));
        let root = issue(&["root", "--role", "admin"]);
        let of_a = issue(&["root", "--role", "admin", "--namespace", "team-a"]);
        let mut scene = Self {
            http: free_address(),
            model,
            up: None,
            others: Vec::new(),
            agents: Vec::new(),
            tokens: [alice, carol, bob, root],
            elsewhere: System::bare(free_address()),
            system,
        };
        for (name, token) in USERS.iter().zip(&scene.tokens) {
            let path = scene.system.folder().join(format!("{name}.token"));
            fs::write(path, token).expect("it is written");
        }
        scene.serve();
        let root = scene.tokens[3].clone();
        for agent in FORBIDDEN {
            scene.agent(takes(agent), &root, &scene.system.hub());
        }
        scene.agent(source("helper", "shared card"), &of_a, &scene.system.hub());
        scene.elsewhere();
        for (name, args) in [
            ("clerk", &["agent", "run", "clerk.toml"][..]),
            ("second", &["agent", "run", "second.toml"]),
            ("desk-lead", &["sop", "up", "team"]),
        ] {
            let process = scene.begin(&[args, &["--token-file", "root.token"]].concat());
            scene.others.push(process);
            scene.wait_online(name);
        }
        scene
    }

    /// Starts or restarts the hub, with Cortex.
    pub(super) fn serve(&mut self) {
        let up = [
            &self.system.up_at(&self.http)[..],
            &["--model", "openai/cortex"],
            &self.system.patience(),
        ];
        let up = self.begin(&up.concat());
        up.line("the banner");
        self.up = Some(up);
    }

    /// A hub elsewhere with an agent, which becomes one of this hub.
    fn elsewhere(&mut self) {
        let (up, http) = self
            .elsewhere
            .serve_anywhere(&["up", "--ephemeral", "--no-chat"]);
        let (hub, url) = (
            self.elsewhere.hub(),
            format!("http://{http}/agents/elsewhere"),
        );
        self.others.push(up);
        let agent = source("elsewhere", "outside card").start(hub);
        let agent = self.model.runtime().block_on(agent).expect("it starts");
        self.agents.push(agent);
        let added = self.run("root", &["agents", "add", &url, "--id", "elsewhere"]);
        assert_eq!(added.code, Some(0), "{added:?}");
    }

    fn agent(&mut self, agent: AgentBuilder, token: &str, hub: &str) {
        let agent = agent.token(token).expect("a token").start(hub);
        let agent = self.model.runtime().block_on(agent).expect("it starts");
        self.agents.push(agent);
    }

    /// Starts a program whose models are the obedient ones.
    fn begin(&self, args: &[&str]) -> Process {
        let (key, endpoint) = (PathBuf::from("key"), PathBuf::from(&self.model.url));
        let environment = [
            ("OPENAI_API_KEY", &key),
            ("AGENTHUB_MODEL_ENDPOINT", &endpoint),
        ];
        Process::start_in(&environment, self.system.folder(), &self.system.hub(), args)
    }

    pub(super) fn doors(&self) -> Doors {
        Doors {
            folder: self.system.folder().to_owned(),
            hub: self.system.hub(),
            http: self.http.clone(),
            tokens: self.tokens.clone(),
        }
    }

    fn run(&self, user: &str, args: &[&str]) -> Finished {
        self.doors().run(user, args)
    }

    pub(super) fn wait_online(&self, agent: &str) {
        eventually(&format!("{agent} is online"), || {
            let shown = self.run("root", &["agents", "show", agent, "--json"]);
            shown.stdout.contains("AGENT_STATE_ONLINE").then_some(())
        });
    }

    pub(super) async fn client(&self, user: &str) -> Client {
        let client = Client::builder(self.system.hub())
            .agent_id(user)
            .token(self.doors().token(user));
        client
            .expect("a token")
            .connect()
            .await
            .expect("the hub runs")
    }
}
