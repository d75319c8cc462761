//! The tables of a settings file that define tools: `[mcp.NAME]` and `[tools.NAME]`.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, de::IgnoredAny};

use super::closest;
use crate::client::{DEFAULT_TIMEOUT, Reach};

/// The longest name, in bytes: with it begin the names of its tools, which are 64 at most.
const MAX_NAME: usize = 32;

/// The longest time that a call may take, in seconds.
const MAX_SECONDS: u64 = 24 * 60 * 60;

/// The MCP servers by their names.
pub type Servers = BTreeMap<String, Server>;

/// Further names for tools and agents.
pub type Names = BTreeMap<String, Named>;

/// `[mcp.NAME]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ServerTable")]
pub struct Server {
    /// Its address or command.
    pub reach: Reach,
    /// Deadline of a call.
    pub timeout: Duration,
}

/// `[tools.NAME]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "NamedTable")]
pub enum Named {
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerTable {
    command: Option<Line>,
    env: Option<Vec<String>>,
    url: Option<String>,
    token_env: Option<String>,
    timeout_s: Option<u64>,
}

/// Values of `command`: those it may have, and all others, which are refused in words of ours.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Words(Vec<String>),
    Other(IgnoredAny),
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
                over_http(url, table.token_env)?
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

fn command(line: Line, environment: Vec<String>) -> Result<Reach, String> {
    let line = match line {
        Line::Words(words) if words.first().is_some_and(|w| !w.trim().is_empty()) => words,
        Line::Words(_) | Line::Other(_) => {
            return Err(
                "`command` is a program and its arguments, such as [\"npx\", \"-y\", \"some-server\"]"
                    .to_owned(),
            );
        }
    };
    environment.iter().try_for_each(|name| variable(name))?;
    Ok(Reach::Command {
        line,
        folder: None,
        environment,
    })
}

fn over_http(url: String, token_env: Option<String>) -> Result<Reach, String> {
    let parsed: Result<http::Uri, _> = url.parse();
    let is_http = parsed.as_ref().is_ok_and(|uri| {
        uri.host().is_some() && matches!(uri.scheme_str(), Some("http" | "https"))
    });
    if !is_http {
        return Err(format!(
            "`{}` is no address of a server: it begins with https:// or http://, such as https://example.com/mcp",
            agenthub_sdk::internal::redacted(&url)
        ));
    }
    let authority = parsed.as_ref().ok().and_then(http::Uri::authority);
    if authority.is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("a `url` has no user name or password in it: take out what is before the @, and name the variable with the token in `token_env`".to_owned());
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
pub fn check(servers: &Servers, names: &Names) -> Result<(), String> {
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
