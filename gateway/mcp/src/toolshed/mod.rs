//! The toolshed: what names of the settings stand for.
//!
//! Settings define MCP servers and further names for their tools and for agents ([`Servers`], [`Names`]). Files of agents name them; the
//! [`Toolshed`] says what a name stands for, and connects to a server at the first need.

mod chosen;
mod tables;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use agenthub_sdk::Tool;
use futures_util::future::join_all;

use self::chosen::Chosen;
pub use self::tables::{Named, Names, Server, Servers, check};
use crate::client::{Connection, Offer, ServerSettings};

/// Time for a call to end that has had its time.
const CALLING_OFF: Duration = Duration::from_secs(5);

/// The names that are listed in a help text.
const MAX_SHOWN: usize = 12;

/// Bytes of a name that is compared with others, at most.
const LONGEST: usize = 100;

/// The tools that the settings define. Cheap to clone; connections to MCP servers are opened at the first need, shared, and come back by
/// themselves. [`close`](Self::close) ends them, also the programs that were started.
#[derive(Clone, Debug)]
pub struct Toolshed(Arc<Shed>);

#[derive(Debug)]
struct Shed {
    servers: BTreeMap<String, Connection>,
    names: Names,
}

/// Tools and agents that names stand for.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// The tools of MCP servers, each with a name of its own.
    pub tools: Vec<Tool>,
    /// The ids of agents.
    pub agents: Vec<String>,
}

/// A name that stands for nothing that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The name.
    pub name: String,
    /// The fault.
    pub why: String,
    /// The advice.
    pub help: Option<String>,
}

/// Target of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NamedTarget<'a> {
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
    /// The tools that these tables define. Nothing is started yet.
    pub fn new(servers: &Servers, names: &Names) -> Self {
        let connection = |(name, server): (&String, &Server)| {
            let connection = Connection::new(ServerSettings {
                name: name.clone(),
                reach: server.reach.clone(),
                timeout: server.timeout,
            });
            (name.clone(), connection)
        };
        Self(Arc::new(Shed {
            servers: servers.iter().map(connection).collect(),
            names: names.clone(),
        }))
    }

    /// True if the settings define a name, as far as that can be told without asking a server.
    pub fn knows(&self, name: &str) -> bool {
        self.wanted(name).is_some()
    }

    /// True if a name stands for all tools of an MCP server.
    pub fn is_server(&self, name: &str) -> bool {
        self.0.servers.contains_key(name) && !self.0.names.contains_key(name)
    }

    /// The names that the settings define: those under `[tools]`, and the MCP servers.
    pub fn names(&self) -> Vec<String> {
        let names = self.0.names.keys().chain(self.0.servers.keys());
        let mut names: Vec<String> = names.cloned().collect();
        names.sort();
        names
    }

    /// Deadline of a caller of a tool: the time of the slowest server, and the time to call something off. `None` if there
    /// are no servers.
    pub fn longest(&self) -> Option<Duration> {
        let slowest = self.0.servers.values().map(Connection::timeout).max()?;
        Some(slowest.saturating_add(CALLING_OFF))
    }

    /// The agent that a name stands for, by its id.
    pub fn agent(&self, name: &str) -> Option<&str> {
        match self.0.names.get(name)? {
            Named::Agent(agent) => Some(agent),
            Named::Tool { .. } => None,
        }
    }

    /// The fault of a name, as far as that can be told without asking a server.
    pub fn check(&self, name: &str) -> Option<Unknown> {
        self.wanted(name).is_none().then(|| self.unknown(name))
    }

    /// The tools of the names. The servers among them are connected to, at the same time.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, in the order of the names: there is no such name or tool, or the server cannot be used.
    pub async fn resolve(&self, names: &[&str]) -> Result<Resolved, Vec<Unknown>> {
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
                Some(NamedTarget::Agent(agent)) => chosen.agent(agent),
                Some(wanted) => chosen.tools(name, &wanted, &offers),
            }
        }
        chosen.end()
    }

    /// Ends all connections and the programs that were started for them; within seconds.
    pub async fn close(self) {
        join_all(self.0.servers.values().map(Connection::close)).await;
    }

    async fn offer<'a>(&self, server: &'a str) -> (&'a str, Result<Offer, String>) {
        let Some(connection) = self.0.servers.get(server) else {
            return (server, Err(format!("there is no MCP server {server}")));
        };
        let offer = connection.tools().await;
        (server, offer.map_err(|error| error.to_string()))
    }

    fn wanted<'a>(&'a self, name: &'a str) -> Option<NamedTarget<'a>> {
        if let Some((key, named)) = self.0.names.get_key_value(name) {
            return Some(match named {
                Named::Agent(agent) => NamedTarget::Agent(agent),
                Named::Tool { server, tool } => NamedTarget::Tool {
                    server,
                    tool,
                    named: Some(key),
                },
            });
        }
        if self.0.servers.contains_key(name) {
            return Some(NamedTarget::Server(name));
        }
        let (server, tool) = name.split_once('.')?;
        let is_one = self.0.servers.contains_key(server) && !tool.is_empty();
        is_one.then_some(NamedTarget::Tool {
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

impl<'a> NamedTarget<'a> {
    fn server(&self) -> Option<&'a str> {
        match self {
            Self::Agent(_) => None,
            Self::Server(server) | Self::Tool { server, .. } => Some(server),
        }
    }
}

/// The name that was probably meant.
pub fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing takes more than in proportion to the letters.
    if name.len() > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    let likeness = |known: &str| {
        let known = known.to_lowercase();
        let likeness = strsim::jaro_winkler(&name, &known);
        // In a short word, one wrong letter is much.
        let is_slip = known.len() > 2 && strsim::osa_distance(&name, &known) == 1;
        (is_slip || likeness >= 0.8).then_some(likeness)
    };
    known
        .filter_map(|known| Some((likeness(known)?, known)))
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

#[cfg(test)]
mod tests;
