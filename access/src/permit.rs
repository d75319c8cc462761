//! Permits: the words of a policy.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Action, Principal, agent_id::fault_of_agent_id, policy::faults::meant};

/// A right that a rule allows or denies: `be:ID`, `send:ID`, `delegate:ID`, `see:directory`, `see:own-tasks`, `see:all-tasks`, `see:events`,
/// `see:all-runs`, `chat`, `runs`, `approve:own`, `approve:others`, `approve`, `impersonate`, `operate`, `administer`, or `*` for everything. In
/// an id `*` stands for any characters, and `{self}` for the name of the principal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Permit {
    verb: Verb,
    pattern: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Everything,
    Be,
    Send,
    Delegate,
    Directory,
    OwnTasks,
    AllTasks,
    Events,
    AllRuns,
    Chat,
    Runs,
    ApproveOwn,
    ApproveOthers,
    Approve,
    Impersonate,
    Operate,
    Administer,
}

/// Error of a text that is no permit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no right{meant}: one is be:ID, send:ID, delegate:ID, see:directory, see:own-tasks, see:all-tasks, see:events, see:all-runs, chat, runs, approve:own, approve:others, approve, impersonate, operate, administer, or * for all"
)]
pub struct InvalidPermit {
    text: String,
    meant: String,
}

impl InvalidPermit {
    fn of(text: &str) -> Self {
        let fixed = FIXED.iter().map(|(name, _)| (*name).to_owned());
        // A verb with the id that stands there.
        let id = text.split_once(':').map(|(_, id)| id);
        let id = id.filter(|id| is_id(id)).into_iter();
        let with_id =
            id.flat_map(|id| ["be", "send", "delegate"].map(|verb| format!("{verb}:{id}")));
        let known: Vec<String> = fixed.chain(with_id).collect();
        Self {
            text: text.escape_default().to_string(),
            meant: meant(text, known.iter().map(String::as_str)),
        }
    }
}

/// True if a text can stand behind the colon of a permit.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains(char::is_control)
}

/// The permits without an id.
const FIXED: [(&str, Verb); 14] = [
    ("*", Verb::Everything),
    ("see:directory", Verb::Directory),
    ("see:own-tasks", Verb::OwnTasks),
    ("see:all-tasks", Verb::AllTasks),
    ("see:events", Verb::Events),
    ("see:all-runs", Verb::AllRuns),
    ("chat", Verb::Chat),
    ("runs", Verb::Runs),
    ("approve:own", Verb::ApproveOwn),
    ("approve:others", Verb::ApproveOthers),
    ("approve", Verb::Approve),
    ("impersonate", Verb::Impersonate),
    ("operate", Verb::Operate),
    ("administer", Verb::Administer),
];

impl FromStr for Permit {
    type Err = InvalidPermit;

    fn from_str(text: &str) -> Result<Self, InvalidPermit> {
        let fixed = FIXED.iter().find(|(name, _)| *name == text);
        if let Some((_, verb)) = fixed {
            return Ok(Self {
                verb: *verb,
                pattern: String::new(),
            });
        }
        let (verb, pattern) = match text.split_once(':') {
            Some(("be", pattern)) => (Verb::Be, pattern),
            Some(("send", pattern)) => (Verb::Send, pattern),
            Some(("delegate", pattern)) => (Verb::Delegate, pattern),
            _ => return Err(InvalidPermit::of(text)),
        };
        match is_id(pattern) {
            false => Err(InvalidPermit::of(text)),
            true => Ok(Self {
                verb,
                pattern: pattern.to_owned(),
            }),
        }
    }
}

kept_as_text!(Permit, InvalidPermit);

impl fmt::Display for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verb {
            Verb::Be => write!(f, "be:{}", self.pattern),
            Verb::Send => write!(f, "send:{}", self.pattern),
            Verb::Delegate => write!(f, "delegate:{}", self.pattern),
            fixed => {
                let name = FIXED.iter().find(|(_, verb)| *verb == fixed);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

impl Permit {
    /// The reason why no id can match it, as the rest of a sentence.
    pub fn fault(&self) -> Option<&'static str> {
        if self.pattern.is_empty() {
            return None;
        }
        fault_of_agent_id(&self.pattern.replace("{self}", "x").replace('*', "x"))
    }

    /// The permit of this principal: `{self}` is its name.
    pub(crate) fn of(&self, principal: &Principal) -> Self {
        Self {
            verb: self.verb,
            pattern: self.pattern.replace("{self}", principal.as_str()),
        }
    }

    /// True if it speaks of this action.
    pub(crate) fn covers(&self, action: &Action<'_>) -> bool {
        match (self.verb, action) {
            (Verb::Everything, _) => true,
            (Verb::Be, Action::Be { id, .. }) => matches(&self.pattern, id),
            // Whoever is meant by topic and abilities: only a permit for all.
            (Verb::Send, Action::Send { to: "" })
            | (Verb::Send | Verb::Delegate, Action::Delegate { to: "" }) => self.pattern == "*",
            (Verb::Send, Action::Send { to })
            | (Verb::Send | Verb::Delegate, Action::Delegate { to }) => matches(&self.pattern, to),
            (Verb::Directory, Action::SeeDirectory)
            | (Verb::OwnTasks, Action::SeeTask { is_own: true })
            | (Verb::AllTasks, Action::SeeTask { .. })
            | (Verb::Events, Action::SeeEvents)
            | (Verb::AllRuns, Action::SeeAllRuns)
            | (Verb::Chat, Action::Chat)
            | (Verb::Runs, Action::Runs)
            | (Verb::ApproveOwn, Action::Approve { is_own: true })
            | (Verb::ApproveOthers, Action::Approve { is_own: false })
            | (Verb::Approve, Action::Approve { .. })
            | (Verb::Impersonate, Action::Impersonate)
            | (Verb::Operate, Action::Operate)
            | (Verb::Administer, Action::Administer) => true,
            _ => false,
        }
    }

    /// The id that it lets one be, in which `*` stands for any characters.
    pub(crate) fn id_to_be(&self) -> Option<&str> {
        match self.verb {
            Verb::Everything => Some("*"),
            Verb::Be => Some(&self.pattern),
            _ => None,
        }
    }

    /// True if it speaks of sending to some agent.
    pub(crate) fn is_of_sending(&self) -> bool {
        matches!(self.verb, Verb::Everything | Verb::Send | Verb::Delegate)
    }
}

/// True if the text matches the pattern, in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(head) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("*", "anything", true),
            ("a*", "a", true),
            ("a*", "ab", true),
            ("a*", "ba", false),
            ("*b", "ab", true),
            ("*b", "abc", false),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*a", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn words_are_read_and_written_alike_and_others_are_refused() {
        let more = ["be:{self}~*", "send:*", "send:qa", "delegate:*"];
        let fixed = FIXED.iter().map(|(name, _)| *name);
        for word in fixed.chain(more) {
            let permit: Permit = word.parse().expect(word);
            assert_eq!(permit.to_string(), word);
        }
        for wrong in [
            "",
            "be",
            "be:",
            "send:",
            "see:",
            "see:tasks",
            "Chat",
            "delegate:",
            "send: a",
            "be:a\n",
            "approve:all",
        ] {
            let error = wrong.parse::<Permit>().expect_err(wrong).to_string();
            assert!(error.contains("see:own-tasks"), "{error}");
        }
    }

    #[test]
    fn what_may_be_meant_is_a_right_and_never_what_was_refused() {
        for (wrong, meant) in [
            ("sent:qa", Some("send:qa")),
            ("sned:{self}~*", Some("send:{self}~*")),
            ("send:", None),
            ("be:", None),
            ("be: x", None),
            ("send:qa ", None),
            ("delegate:a\nb", None),
            ("send:\u{1b}[2J", None),
        ] {
            let error = wrong.parse::<Permit>().expect_err(wrong).to_string();
            let said = error.split("did you mean `").nth(1);
            let said = said.and_then(|said| said.split('`').next());
            assert_eq!(said, meant, "{wrong:?}");
            assert!(!error.contains(char::is_control), "{error:?}");
        }
    }
}
