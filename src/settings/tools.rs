//! What the settings say of tools: `[mcp.NAME]`, `[tools.NAME]` and `[sop]`.

use std::{collections::BTreeMap, time::Duration};

use agenthub_mcp::client::{DEFAULT_TIMEOUT, Reach};
use serde::Deserialize;

use crate::tools::closest;

/// The longest name, in bytes: with it begin the names of its tools, which are 64 at most.
const MAX_NAME: usize = 32;

/// The longest time that a call may take, in seconds.
const MAX_SECONDS: u64 = 24 * 60 * 60;

/// The MCP servers by their names.
pub(crate) type Servers = BTreeMap<String, Server>;

/// Further names for tools and agents.
pub(crate) type Names = BTreeMap<String, Named>;

/// `[mcp.NAME]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ServerTable")]
pub(crate) struct Server {
    /// Where it is.
    pub(crate) reach: Reach,
    /// How long a call may take.
    pub(crate) timeout: Duration,
}

/// `[tools.NAME]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "NamedTable")]
pub(crate) enum Named {
    /// An agent of the hub, by its id.
    Agent(String),
    /// One tool of a server.
    Tool {
        /// The server's name.
        server: String,
        /// The tool, as the server calls it.
        tool: String,
    },
}

/// `[sop]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Sop {
    /// A folder of SOPs without an orchestrator gets the built-in one.
    pub(crate) default_orchestrator: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerTable {
    command: Option<Vec<String>>,
    env: Option<Vec<String>>,
    url: Option<String>,
    token_env: Option<String>,
    timeout_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedTable {
    agent: Option<String>,
    mcp: Option<String>,
    tool: Option<String>,
}

impl TryFrom<ServerTable> for Server {
    type Error = String;

    fn try_from(table: ServerTable) -> Result<Self, String> {
        let reach = match (table.command, table.url) {
            (Some(_), Some(_)) => {
                return Err(
                    "an MCP server has a `command` or a `url`, not both: take one of them out"
                        .to_owned(),
                );
            }
            (None, None) => {
                return Err("an MCP server needs a `command` such as [\"npx\", \"-y\", \"some-server\"], or a `url` such as \"https://example.com/mcp\"".to_owned());
            }
            (Some(line), None) => {
                if table.token_env.is_some() {
                    return Err("`token_env` goes with a `url`; a `command` is given variables with `env = [\"NAME\"]`".to_owned());
                }
                command(line, table.env.unwrap_or_default())?
            }
            (None, Some(url)) => {
                if table.env.is_some() {
                    return Err("`env` goes with a `command`; the token for a `url` comes from `token_env = \"NAME\"`".to_owned());
                }
                http(url, table.token_env)?
            }
        };
        let timeout = match table.timeout_s {
            None => DEFAULT_TIMEOUT,
            Some(seconds) if (1..=MAX_SECONDS).contains(&seconds) => Duration::from_secs(seconds),
            Some(seconds) => {
                return Err(format!(
                    "`timeout_s` is 1 to {MAX_SECONDS} seconds, not {seconds}"
                ));
            }
        };
        Ok(Self { reach, timeout })
    }
}

fn command(line: Vec<String>, environment: Vec<String>) -> Result<Reach, String> {
    if line.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(
            "`command` is a program and its arguments, such as [\"npx\", \"-y\", \"some-server\"]"
                .to_owned(),
        );
    }
    environment.iter().try_for_each(|name| variable(name))?;
    Ok(Reach::Command {
        line,
        folder: None,
        environment,
    })
}

fn http(url: String, token_env: Option<String>) -> Result<Reach, String> {
    let parsed: Result<axum::http::Uri, _> = url.parse();
    let is_http = parsed.is_ok_and(|uri| {
        uri.host().is_some() && matches!(uri.scheme_str(), Some("http" | "https"))
    });
    if !is_http {
        return Err(format!(
            "`{url}` is no address of a server: it begins with https:// or http://, such as https://example.com/mcp"
        ));
    }
    token_env.iter().try_for_each(|name| variable(name))?;
    Ok(Reach::Http { url, token_env })
}

/// Refuses what is a value rather than a name.
fn variable(name: &str) -> Result<(), String> {
    match !name.is_empty() && !name.contains(['=', '\0', ' ']) {
        true => Ok(()),
        // It may be the secret itself.
        false => Err("that is no name of a variable: the settings name it, and its value comes from the environment".to_owned()),
    }
}

impl TryFrom<NamedTable> for Named {
    type Error = &'static str;

    fn try_from(table: NamedTable) -> Result<Self, Self::Error> {
        match (table.agent, table.mcp, table.tool) {
            (Some(agent), None, None) if !agent.trim().is_empty() => Ok(Self::Agent(agent)),
            (None, Some(server), Some(tool)) => Ok(Self::Tool { server, tool }),
            (Some(_), None, None) => Err("`agent` is the id of an agent, such as \"translator\""),
            (Some(_), _, _) => Err(
                "a tool is an `agent`, or a `tool` of an `mcp` server, not both: take one of them out",
            ),
            (None, _, _) => Err(
                "a tool needs `agent = \"ID\"`, or both `mcp = \"SERVER\"` and `tool = \"TOOL\"`",
            ),
        }
    }
}

/// Checks what one table alone cannot tell.
///
/// # Errors
///
/// In one line: which name is wrong, and what to do.
pub(super) fn check(servers: &Servers, names: &Names) -> Result<(), String> {
    for (table, name) in keys("mcp", servers).chain(keys("tools", names)) {
        let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if !(1..=MAX_NAME).contains(&name.len()) || !name.bytes().all(is_allowed) {
            return Err(format!(
                "[{table}.{name:?}]: a name is 1 to {MAX_NAME} of the characters A-Z, a-z, 0-9, _ and -"
            ));
        }
    }
    if let Some(name) = names.keys().find(|name| servers.contains_key(*name)) {
        return Err(format!(
            "there are both [mcp.{name}] and [tools.{name}]: rename one, so that it is clear which is meant"
        ));
    }
    for (name, named) in names {
        let Named::Tool { server, .. } = named else {
            continue;
        };
        if !servers.contains_key(server) {
            let known = servers.keys().map(String::as_str);
            let help = match (closest(server, known.clone()), servers.is_empty()) {
                (Some(close), _) => format!("did you mean `{close}`?"),
                (None, true) => "there is no [mcp.NAME] at all".to_owned(),
                (None, false) => format!("there are: {}", known.collect::<Vec<_>>().join(", ")),
            };
            return Err(format!(
                "[tools.{name}] names the MCP server `{server}`, which is not in the settings; {help}"
            ));
        }
    }
    Ok(())
}

fn keys<'a, T>(
    table: &'a str,
    map: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    map.keys().map(move |name| (table, name.as_str()))
}
