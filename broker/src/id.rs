//! Ids, cheap to clone. Each kind of name has its own type.

use std::{borrow::Borrow, fmt, ops::Deref, sync::Arc};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(crate) struct $name(Arc<str>);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

id!(
    /// An agent: the name in its card. Empty for an anonymous sender.
    AgentId
);
id!(
    /// A version of an agent, from its card.
    Version
);
id!(
    /// A running process of an agent, or one open stream of an older client.
    InstanceId
);
id!(
    /// A task.
    TaskId
);
id!(
    /// Unit of ordering: the context, else the task, else the sender.
    OrderKey
);

impl OrderKey {
    /// The context, else the task, else the sender.
    pub(crate) fn of(context: &str, task: &str, sender: &str) -> Self {
        Self::text(context, task, sender).into()
    }

    /// The same as a text.
    pub(crate) fn text<'a>(context: &'a str, task: &'a str, sender: &'a str) -> &'a str {
        let first = [context, task, sender].into_iter().find(|s| !s.is_empty());
        first.unwrap_or_default()
    }
}

/// A mailbox, numbered since the hub's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MailboxId(pub(crate) u64);

/// An open stream, numbered since the hub's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SessionId(pub(crate) u64);

/// An agent, or one version of it: `id` or `id@version`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) agent: AgentId,
    pub(crate) version: Option<Version>,
}

impl From<AgentId> for Address {
    fn from(agent: AgentId) -> Self {
        Self {
            agent,
            version: None,
        }
    }
}

impl Address {
    /// Parses `id` or `id@version`. A known id that contains an `@` is taken as an id.
    pub(crate) fn parse(text: &str, is_known: impl Fn(&str) -> bool) -> Self {
        match text.rsplit_once('@') {
            Some((agent, version))
                if !agent.is_empty() && !version.is_empty() && !is_known(text) =>
            {
                Self {
                    agent: agent.into(),
                    version: Some(version.into()),
                }
            }
            _ => AgentId::from(text).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: HUB-8
    #[test]
    fn an_address_may_name_a_version() {
        let parse = |text| Address::parse(text, |id| id == "me@home");
        assert_eq!(parse("echo").version, None);
        assert_eq!(
            parse("echo@1.2"),
            Address {
                agent: "echo".into(),
                version: Some("1.2".into())
            }
        );
        assert_eq!(parse("me@home"), AgentId::from("me@home").into());
        assert_eq!(parse("me@home@2").version, Some("2".into()));
        assert_eq!(parse("@"), AgentId::from("@").into());
    }
}
