//! Clients that ask for tasks and are no agents, by their ids.

use maud::{Markup, html};

/// A person without a name, on a hub where nobody needs one.
pub(crate) const A_PERSON: &str = "a person";

/// Character between a principal and an id of its own.
const OWN: char = '~';

/// A client that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client<'a> {
    /// The principal that it acts for; empty on a hub without identities.
    pub(crate) principal: &'a str,
    pub(crate) kind: Kind,
}

/// Kinds of such clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Browser,
    Terminal,
    Chat,
    Mcp,
    A2a,
    Outside,
}

impl Kind {
    /// Hexadecimal digits behind the prefix of an id, and the prefix.
    const NUMBERED: [(Self, &'static str, usize); 3] = [
        (Self::Terminal, "cli-", 8),
        (Self::Chat, "chat-", 12),
        (Self::Mcp, "mcp-", 32),
    ];

    const NAMED: [(Self, &'static str); 4] = [
        (Self::Browser, "page"),
        (Self::Browser, "page.events"),
        (Self::A2a, "a2a"),
        (Self::Outside, "outside-agents"),
    ];

    fn of(name: &str) -> Option<Self> {
        let is_number = |rest: &str, digits| {
            rest.len() == digits && rest.bytes().all(|b| b.is_ascii_hexdigit())
        };
        let numbered = Self::NUMBERED.into_iter().find(|(_, prefix, digits)| {
            let rest = name.strip_prefix(prefix);
            rest.is_some_and(|rest| is_number(rest, *digits))
        });
        let named = Self::NAMED.into_iter().find(|(_, id)| *id == name);
        numbered
            .map(|(kind, ..)| kind)
            .or(named.map(|(kind, _)| kind))
    }

    /// True if a person uses it.
    fn is_a_person(self) -> bool {
        matches!(self, Self::Browser | Self::Terminal | Self::Chat)
    }

    /// It in a few words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Browser => "a browser",
            Self::Terminal => "a terminal",
            Self::Chat => "a chat in a terminal",
            Self::Mcp => "a client of MCP",
            Self::A2a => "a client of A2A",
            Self::Outside => "the link to agents elsewhere",
        }
    }

    /// A sentence on it.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Browser => {
                "Somebody who uses these pages. What is asked for here is asked for under this id."
            }
            Self::Terminal => {
                "A command of the program agenthub that somebody ran in a terminal. It had this id while it ran."
            }
            Self::Chat => {
                "A conversation that somebody has with agenthub chat, or with agenthub up, in a terminal."
            }
            Self::Mcp => {
                "A program that uses the agents of this hub as tools of the Model Context Protocol."
            }
            Self::A2a => {
                "Programs that ask the agents of this hub over the A2A protocol share this id."
            }
            Self::Outside => "The part of this hub that brings tasks to agents at other addresses.",
        }
    }
}

impl<'a> Client<'a> {
    /// The client with this id, if its form says which it is.
    pub(crate) fn of(id: &'a str) -> Option<Self> {
        let (principal, name) = id.split_once(OWN).unwrap_or(("", id));
        let kind = Kind::of(name)?;
        Some(Self { principal, kind })
    }

    /// The one who acts: the principal, or else a person, or the kind of program.
    pub(crate) fn who(self) -> &'a str {
        match self.principal {
            "" if self.kind.is_a_person() => A_PERSON,
            "" => self.kind.words(),
            principal => principal,
        }
    }

    /// It in words, such as `alice, with a browser`.
    pub(crate) fn drawn(self) -> Markup {
        let is_more = self.who() != self.kind.words();
        html! {
            (crate::elements::visible(self.who()))
            @if is_more { ", with " (self.kind.words()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 26: one person has one name, whatever they use.
    #[test]
    fn a_person_is_called_by_their_name_or_a_person() {
        let who = |id| Client::of(id).map(Client::who);
        for id in ["page", "cli-0a1b2c3d", "chat-0123456789ab"] {
            assert_eq!(who(id), Some(A_PERSON), "{id}");
        }
        for id in ["alice~page", "alice~cli-0a1b2c3d"] {
            assert_eq!(who(id), Some("alice"), "{id}");
        }
        assert_eq!(who("a2a"), Some("a client of A2A"));
        let drawn = Client::of("page").map(|client| client.drawn().into_string());
        assert_eq!(drawn.as_deref(), Some("a person, with a browser"));
        let drawn = Client::of("a2a").map(|client| client.drawn().into_string());
        assert_eq!(drawn.as_deref(), Some("a client of A2A"));
    }

    #[test]
    fn clients_are_known_by_the_form_of_their_ids() {
        let number = "0123456789abcdef0123456789abcdef";
        let mcp = format!("bob~mcp-{number}");
        for (id, principal, kind) in [
            ("page", "", Kind::Browser),
            ("alice~page", "alice", Kind::Browser),
            ("a.b~page", "a.b", Kind::Browser),
            ("cli-0a1b2c3d", "", Kind::Terminal),
            ("alice~cli-0a1b2c3d", "alice", Kind::Terminal),
            ("chat-0123456789ab", "", Kind::Chat),
            (mcp.as_str(), "bob", Kind::Mcp),
            ("a2a", "", Kind::A2a),
        ] {
            assert_eq!(Client::of(id), Some(Client { principal, kind }), "{id}");
        }
        for id in [
            "",
            "agent_echo",
            "alice.page",
            "cli-x",
            "cli-weather",
            "mcp-weather",
            "pages",
            "cortex",
            "alice~pager",
        ] {
            assert_eq!(Client::of(id), None, "{id}");
        }
    }
}
