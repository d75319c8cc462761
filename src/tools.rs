//! The toolshed: what names of the settings stand for.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use agenthub_mcp::client::{Connection, Offer, Offered, ServerSettings};
use agenthub_sdk::Tool;
use futures_util::future::join_all;

use crate::settings::{Named, Names, Settings};

/// The most tools that a model is offered.
const MAX_TOOLS: usize = 64;

/// The names that are listed in a help text.
const MAX_SHOWN: usize = 12;

/// The tools that the settings define. Cheap to clone; connections to MCP servers are opened at the first need, shared, and come back by
/// themselves. [`close`](Self::close) ends them, also the programs that were started.
#[derive(Clone, Debug)]
pub(crate) struct Toolshed(Arc<Shed>);

#[derive(Debug)]
struct Shed {
    servers: BTreeMap<String, Connection>,
    names: Names,
}

/// What names stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    /// The tools of MCP servers, each with a name of its own.
    pub(crate) tools: Vec<Tool>,
    /// The ids of agents.
    pub(crate) agents: Vec<String>,
}

/// A name that stands for nothing that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    /// The name.
    pub(crate) name: String,
    /// What is wrong.
    pub(crate) why: String,
    /// What to do.
    pub(crate) help: Option<String>,
}

/// What a name asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted<'a> {
    Agent(&'a str),
    /// All tools of a server.
    Server(&'a str),
    /// One tool, under its full name or another.
    Tool {
        server: &'a str,
        tool: &'a str,
        named: Option<&'a str>,
    },
}

impl Toolshed {
    /// The tools of these settings. Nothing is started yet.
    pub(crate) fn new(settings: &Settings) -> Self {
        let connection = |(name, server): (&String, &crate::settings::Server)| {
            let connection = Connection::new(ServerSettings {
                name: name.clone(),
                reach: server.reach.clone(),
                timeout: server.timeout,
            });
            (name.clone(), connection)
        };
        Self(Arc::new(Shed {
            servers: settings.servers.iter().map(connection).collect(),
            names: settings.names.clone(),
        }))
    }

    /// Whether the settings define a name, as far as that can be told without asking a server.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.wanted(name).is_some()
    }

    /// The names that the settings define: those under `[tools]`, and the MCP servers.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.0.names.keys().chain(self.0.servers.keys());
        let mut names: Vec<String> = names.cloned().collect();
        names.sort();
        names
    }

    /// How long the slowest call of a tool may take.
    pub(crate) fn longest(&self) -> Option<std::time::Duration> {
        self.0.servers.values().map(Connection::timeout).max()
    }

    /// What the names stand for. The servers among them are connected to, at the same time.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, in the order of the names: there is no such name or tool, or the server cannot be used.
    pub(crate) async fn resolve(&self, names: &[&str]) -> Result<Resolved, Vec<Unknown>> {
        let wanted: Vec<_> = names
            .iter()
            .map(|name| (*name, self.wanted(name)))
            .collect();
        let servers: BTreeSet<&str> = wanted
            .iter()
            .filter_map(|(_, w)| w.as_ref()?.server())
            .collect();
        let offers = servers.into_iter().map(|server| self.offer(server));
        let offers: BTreeMap<&str, Result<Offer, String>> =
            join_all(offers).await.into_iter().collect();
        let mut chosen = Chosen::default();
        for (name, wanted) in wanted {
            match wanted {
                None => chosen.unknown.push(self.unknown(name)),
                Some(Wanted::Agent(agent)) => chosen.agent(agent),
                Some(wanted) => chosen.tools(name, &wanted, &offers),
            }
        }
        chosen.end()
    }

    /// Ends all connections and the programs that were started for them; within seconds.
    pub(crate) async fn close(self) {
        join_all(self.0.servers.values().map(Connection::close)).await;
    }

    async fn offer<'a>(&self, server: &'a str) -> (&'a str, Result<Offer, String>) {
        let Some(connection) = self.0.servers.get(server) else {
            return (server, Err(format!("there is no MCP server {server}")));
        };
        let offer = connection.tools().await;
        (server, offer.map_err(|error| error.to_string()))
    }

    fn wanted<'a>(&'a self, name: &'a str) -> Option<Wanted<'a>> {
        if let Some((key, named)) = self.0.names.get_key_value(name) {
            return Some(match named {
                Named::Agent(agent) => Wanted::Agent(agent),
                Named::Tool { server, tool } => Wanted::Tool {
                    server,
                    tool,
                    named: Some(key),
                },
            });
        }
        if self.0.servers.contains_key(name) {
            return Some(Wanted::Server(name));
        }
        let (server, tool) = name.split_once('.')?;
        let is_one = self.0.servers.contains_key(server) && !tool.is_empty();
        is_one.then_some(Wanted::Tool {
            server,
            tool,
            named: None,
        })
    }

    fn unknown(&self, name: &str) -> Unknown {
        let names = self.names();
        let known = || names.iter().map(String::as_str);
        let close = match name.split_once('.') {
            Some((server, tool)) => {
                let servers = self.0.servers.keys().map(String::as_str);
                closest(server, servers).map(|server| format!("{server}.{tool}"))
            }
            None => None,
        };
        let close = close.or_else(|| closest(name, known()).map(str::to_owned));
        let help = match (close, names.is_empty()) {
            (Some(close), _) => format!("did you mean `{close}`?"),
            (None, true) => "the settings define no tools: add [mcp.NAME] for an MCP server or [tools.NAME] for an agent to agenthub.toml".to_owned(),
            (None, false) => format!("the settings define {}", shown(known())),
        };
        Unknown {
            name: name.to_owned(),
            why: format!("the settings define no tool `{name}`"),
            help: Some(help),
        }
    }
}

impl<'a> Wanted<'a> {
    fn server(&self) -> Option<&'a str> {
        match self {
            Self::Agent(_) => None,
            Self::Server(server) | Self::Tool { server, .. } => Some(server),
        }
    }
}

/// What was found so far.
#[derive(Default)]
struct Chosen {
    resolved: Resolved,
    unknown: Vec<Unknown>,
    /// The tools by the names that models see: of which server, which tool, and for which name.
    taken: BTreeMap<String, (String, String, String)>,
}

impl Chosen {
    fn agent(&mut self, agent: &str) {
        if !self.resolved.agents.iter().any(|a| a == agent) {
            self.resolved.agents.push(agent.to_owned());
        }
    }

    fn tools(
        &mut self,
        name: &str,
        wanted: &Wanted<'_>,
        offers: &BTreeMap<&str, Result<Offer, String>>,
    ) {
        let Some((server, offer)) = wanted.server().and_then(|s| offers.get_key_value(s)) else {
            return;
        };
        let offer = match offer {
            Ok(offer) => offer,
            Err(why) => return self.wrong(name, why.clone(), Some(format!("see [mcp.{server}] in the settings; with --log debug the log shows what the server says"))),
        };
        match wanted {
            Wanted::Agent(_) => {}
            Wanted::Server(_) => {
                for offered in &offer.tools {
                    self.tool(name, server, offered, &offered.full_name);
                }
            }
            Wanted::Tool { tool, named, .. } => {
                match offer.tools.iter().find(|o| o.name == *tool) {
                    Some(offered) => {
                        self.tool(name, server, offered, named.unwrap_or(&offered.full_name));
                    }
                    None => {
                        let left_out = offer.left_out.iter().find(|l| l.name == *tool);
                        let names = || offer.tools.iter().map(|o| o.name.as_str());
                        let (why, help) = match left_out {
                            Some(left_out) => (
                                format!(
                                    "the tool `{tool}` of the MCP server {server} cannot be used: {}",
                                    left_out.why
                                ),
                                None,
                            ),
                            None => (
                                format!("the MCP server {server} has no tool `{tool}`"),
                                Some(match closest(tool, names()) {
                                    Some(close) => format!("did you mean `{server}.{close}`?"),
                                    None => format!("it has {}", shown(names())),
                                }),
                            ),
                        };
                        self.wrong(name, why, help);
                    }
                }
            }
        }
    }

    fn tool(&mut self, name: &str, server: &str, offered: &Offered, full_name: &str) {
        let one = (server.to_owned(), offered.name.clone(), name.to_owned());
        match self.taken.get(full_name) {
            // The same tool twice, as in `web` and `web.search`.
            Some((s, tool, _)) if s == server && *tool == offered.name => {}
            Some((other, tool, for_name)) => {
                let why = format!(
                    "`{}` of the MCP server {server} and `{tool}` of {other} would both be called {full_name}",
                    offered.name
                );
                let help =
                    format!("rename one with [tools.NAME], or leave out `{for_name}` or `{name}`");
                self.wrong(name, why, Some(help));
            }
            None => {
                self.taken.insert(full_name.to_owned(), one);
                self.resolved.tools.push(offered.named(full_name));
            }
        }
    }

    fn wrong(&mut self, name: &str, why: String, help: Option<String>) {
        self.unknown.push(Unknown {
            name: name.to_owned(),
            why,
            help,
        });
    }

    fn end(mut self) -> Result<Resolved, Vec<Unknown>> {
        let count = self.resolved.tools.len();
        if count > MAX_TOOLS && self.unknown.is_empty() {
            // The name with the most tools is the one to be told about.
            let mut names: BTreeMap<&str, usize> = BTreeMap::new();
            for (_, _, name) in self.taken.values() {
                *names.entry(name).or_default() += 1;
            }
            let most = names.into_iter().max_by_key(|(_, n)| *n);
            let name = most.map(|(name, _)| name.to_owned()).unwrap_or_default();
            let why =
                format!("these are {count} tools, and a model is offered {MAX_TOOLS} at most");
            let help = format!(
                "instead of `{name}`, name the tools that are needed, such as `{name}.TOOL`"
            );
            self.wrong(&name, why, Some(help));
        }
        match self.unknown.is_empty() {
            true => Ok(self.resolved),
            false => Err(self.unknown),
        }
    }
}

/// The name that was probably meant.
pub(crate) fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    known
        .map(|known| (strsim::jaro_winkler(&name, &known.to_lowercase()), known))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

/// Names for people, bounded.
fn shown<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let some = names.iter().take(MAX_SHOWN).map(|name| format!("`{name}`"));
    let some = some.collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "nothing".to_owned(),
        n if n > MAX_SHOWN => format!("{some} and {} more", n - MAX_SHOWN),
        _ => some,
    }
}
