//! Choice of tools by their names.

use std::collections::BTreeMap;

use super::{NamedTarget, Resolved, Unknown, closest, shown};
use crate::client::{Offer, Offered};

/// The most tools that a model is offered.
const MAX_TOOLS: usize = 64;

/// Tools that were found so far.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) resolved: Resolved,
    pub(super) unknown: Vec<Unknown>,
    /// The tools by the names that models see: of which server, which tool, and for which name.
    taken: BTreeMap<String, (String, String, String)>,
}

impl Chosen {
    pub(super) fn agent(&mut self, agent: &str) {
        if !self.resolved.agents.iter().any(|a| a == agent) {
            self.resolved.agents.push(agent.to_owned());
        }
    }

    pub(super) fn tools(
        &mut self,
        name: &str,
        wanted: &NamedTarget<'_>,
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
            NamedTarget::Agent(_) => {}
            NamedTarget::Server(_) if offer.tools.is_empty() => {
                let why = format!("the MCP server {server} offers no tools");
                self.wrong(name, why, None);
            }
            NamedTarget::Server(_) => {
                for offered in &offer.tools {
                    self.tool(name, server, offered, &offered.full_name);
                }
            }
            NamedTarget::Tool { tool, named, .. } => {
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

    pub(super) fn end(mut self) -> Result<Resolved, Vec<Unknown>> {
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
