//! Agents that are shared: explicit grants by which the agent of one namespace is in the directory of another.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};

use crate::Namespace;

/// Maximum length of an agent's id, in bytes.
const LENGTH: usize = 128;

/// Agents that are parts of the hub.
const PARTS: [&str; 2] = ["cortex", "workflows"];

/// An agent of a namespace, written `NAMESPACE/AGENT`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SharedAgent {
    /// The namespace.
    pub namespace: Namespace,
    /// The id.
    pub agent: String,
}

/// The grant for a shared agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The namespaces that may use it.
    pub with: Vec<Namespace>,
    /// Its id there; `NAMESPACE.AGENT` if not given.
    #[serde(default, rename = "as")]
    pub name: Option<String>,
}

/// A shared agent in one of the namespaces that may use it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Loan {
    /// The namespace that has the agent.
    pub from: Namespace,
    /// Its id there.
    pub agent: String,
    /// The namespace that may use it.
    pub to: Namespace,
    /// Its id there.
    pub name: String,
}

/// Faults of shares.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidShare {
    /// No agent of a namespace.
    #[error("`{0}` names no agent of a namespace: write NAMESPACE/AGENT, such as team-a/writer")]
    Agent(String),
    /// An id that the agent cannot have.
    #[error(
        "shares.\"{agent}\": `{name}` is no id: 1 to {LENGTH} letters, digits, `-`, `_` and `.`"
    )]
    Name {
        /// The agent.
        agent: SharedAgent,
        /// The id.
        name: String,
    },
    /// A part of the hub, which acts for everybody of its namespace.
    #[error(
        "shares.\"{0}\": {agent} works for everybody of its namespace with rights that no other namespace is to have: share an agent that it asks",
        agent = .0.agent
    )]
    PartOfHub(SharedAgent),
    /// An agent for its own namespace.
    #[error("shares.\"{0}\": it is there in its own namespace already")]
    Own(SharedAgent),
    /// Two agents of one id.
    #[error("two shared agents would be `{name}` in {namespace}: give one another id with `as`")]
    Twice {
        /// The namespace.
        namespace: Namespace,
        /// The id.
        name: String,
    },
    /// An agent that is itself a shared one.
    #[error("shares.\"{0}\": that agent is shared with its namespace: share it from where it is")]
    Onwards(SharedAgent),
}

impl std::str::FromStr for SharedAgent {
    type Err = InvalidShare;

    fn from_str(text: &str) -> Result<Self, InvalidShare> {
        let wrong = || {
            let shown = text.chars().take(128).flat_map(char::escape_default);
            InvalidShare::Agent(shown.collect())
        };
        let (namespace, agent) = text.split_once('/').ok_or_else(wrong)?;
        let is_id = !agent.is_empty() && agent.len() <= LENGTH && !agent.contains(char::is_control);
        match (namespace.parse(), is_id) {
            (Ok(namespace), true) => Ok(Self {
                namespace,
                agent: agent.to_owned(),
            }),
            _ => Err(wrong()),
        }
    }
}

kept_as_text!(SharedAgent, InvalidShare);

impl fmt::Display for SharedAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.agent)
    }
}

/// All shared agents, each in each of the namespaces that may use it.
///
/// # Errors
///
/// The first fault.
pub(crate) fn loans(shares: &BTreeMap<SharedAgent, Share>) -> Result<BTreeSet<Loan>, InvalidShare> {
    let mut loans = BTreeSet::new();
    let mut names = BTreeSet::new();
    for (shared, share) in shares {
        if PARTS.contains(&&*shared.agent) {
            return Err(InvalidShare::PartOfHub(shared.clone()));
        }
        let named = share.name.clone();
        let name = named.unwrap_or_else(|| format!("{}.{}", shared.namespace, shared.agent));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > LENGTH || !name.chars().all(is_plain) {
            let agent = shared.clone();
            return Err(InvalidShare::Name { agent, name });
        }
        for namespace in &share.with {
            if *namespace == shared.namespace {
                return Err(InvalidShare::Own(shared.clone()));
            }
            if !names.insert((namespace.clone(), name.clone())) {
                let namespace = namespace.clone();
                return Err(InvalidShare::Twice { namespace, name });
            }
            loans.insert(Loan {
                from: shared.namespace.clone(),
                agent: shared.agent.clone(),
                to: namespace.clone(),
                name: name.clone(),
            });
        }
    }
    let is_shared =
        |shared: &&SharedAgent| names.contains(&(shared.namespace.clone(), shared.agent.clone()));
    match shares.keys().find(is_shared) {
        Some(shared) => Err(InvalidShare::Onwards(shared.clone())),
        None => Ok(loans),
    }
}

#[cfg(test)]
mod tests {
    use crate::Policy;

    #[test]
    fn an_agent_is_lent_to_each_namespace_that_is_named() {
        let policy = Policy::of_toml(
            "[shares.\"a/writer\"]\nwith = ['b', 'default']\n[shares.\"a/x y\"]\nwith = ['b']\nas = 'xy'\n",
        );
        let loans = policy.expect("right").loans();
        let said = loans
            .iter()
            .map(|l| format!("{}/{} {}/{}", l.from, l.agent, l.to, l.name));
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                "a/writer b/a.writer",
                "a/writer default/a.writer",
                "a/x y b/xy"
            ]
        );
    }

    #[test]
    fn faults_are_named() {
        for (text, said) in [
            ("[shares.writer]\nwith = ['b']", "write NAMESPACE/AGENT"),
            (
                "[shares.\"A/writer\"]\nwith = ['b']",
                "write NAMESPACE/AGENT",
            ),
            (
                "[shares.\"a/writer\"]\nwith = ['B']",
                "no name of a namespace",
            ),
            ("[shares.\"a/writer\"]\n", "missing field `with`"),
            ("[shares.\"a/writer\"]\nwith = ['a']", "its own namespace"),
            ("[shares.\"a/x y\"]\nwith = ['b']", "`a.x y` is no id"),
            (
                "[shares.\"a/x\"]\nwith = ['c']\nas = 'n'\n[shares.\"b/x\"]\nwith = ['c']\nas = 'n'",
                "would be `n` in c",
            ),
            (
                "[shares.\"a/x\"]\nwith = ['b']\n[shares.\"b/a.x\"]\nwith = ['c']",
                "share it from where it is",
            ),
        ] {
            let error = Policy::of_toml(text).expect_err(text).to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
