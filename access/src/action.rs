//! Actions on resources, as the decision sees them.

use std::fmt;

/// An action of a caller on a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// Acting under an agent's id: registering, publishing from it, subscribing as it, removing it.
    Be {
        /// The id.
        id: &'a str,
        /// The principal that registered it first, if one did.
        owner: Option<&'a str>,
    },
    /// Sending to an agent; to whoever subscribes or is able, if the id is empty.
    Send {
        /// The id.
        to: &'a str,
    },
    /// The same within a task that the caller was given, or has given.
    Delegate {
        /// The id.
        to: &'a str,
    },
    /// Reading cards and presence of agents.
    SeeDirectory,
    /// Reading or cancelling a task.
    SeeTask {
        /// The caller may be its requester or its receiver.
        is_own: bool,
    },
    /// Observing the events of all agents.
    SeeEvents,
    /// Seeing, following and cancelling runs that others have started.
    SeeAllRuns,
    /// Talking with Cortex.
    Chat,
    /// Starting and following runs of one's own.
    Runs,
    /// Answering what a run asks of people.
    Approve {
        /// The caller has started the run.
        is_own: bool,
    },
    /// Naming the principal on whose behalf one acts.
    Impersonate,
    /// Mailboxes, dead letters, metrics and the log.
    Operate,
    /// Identities, policy, and agents elsewhere.
    Administer,
}

/// Error of words that name no action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no action: --do is be, send or delegate with --on AGENT, see with --on directory, own-task, task, events or runs, approve with --on own-run or run, or one of chat, runs, impersonate, operate, administer"
)]
pub struct UnknownAction(String);

impl<'a> Action<'a> {
    /// The action of these words, such as `send` on `qa` or `see` on `events`. `owner` is that of the agent.
    ///
    /// # Errors
    ///
    /// They name none.
    pub fn of_words(
        what: &str,
        on: &'a str,
        owner: Option<&'a str>,
    ) -> Result<Self, UnknownAction> {
        Ok(match (what, on) {
            ("be", id) if !id.is_empty() => Self::Be { id, owner },
            ("send", to) => Self::Send { to },
            ("delegate", to) => Self::Delegate { to },
            ("see", "directory") => Self::SeeDirectory,
            ("see", "own-task") => Self::SeeTask { is_own: true },
            ("see", "task") => Self::SeeTask { is_own: false },
            ("see", "events") => Self::SeeEvents,
            ("see", "runs") => Self::SeeAllRuns,
            ("chat", "") => Self::Chat,
            ("runs", "") => Self::Runs,
            ("approve", "own-run") => Self::Approve { is_own: true },
            ("approve", "run" | "") => Self::Approve { is_own: false },
            ("impersonate", "") => Self::Impersonate,
            ("operate", "") => Self::Operate,
            ("administer", "") => Self::Administer,
            _ => return Err(UnknownAction(format!("{what} {on}").trim().to_owned())),
        })
    }

    /// The action for which the principal needs a right on whose behalf it is done.
    pub(crate) fn of_initiator(self) -> Self {
        match self {
            Self::Delegate { to } => Self::Send { to },
            action => action,
        }
    }

    /// The right that the action needs, in the words of a policy.
    pub fn right(&self) -> String {
        match self {
            Self::Be { id, .. } => format!("be:{id}"),
            Self::Send { to: "" } => "send:*".to_owned(),
            Self::Send { to } => format!("send:{to}"),
            Self::Delegate { to: "" } => "delegate:*".to_owned(),
            Self::Delegate { to } => format!("delegate:{to}"),
            Self::SeeDirectory => "see:directory".to_owned(),
            Self::SeeTask { is_own: true } => "see:own-tasks".to_owned(),
            Self::SeeTask { is_own: false } => "see:all-tasks".to_owned(),
            Self::SeeEvents => "see:events".to_owned(),
            Self::SeeAllRuns => "see:all-runs".to_owned(),
            Self::Chat => "chat".to_owned(),
            Self::Runs => "runs".to_owned(),
            Self::Approve { is_own: true } => "approve:own".to_owned(),
            Self::Approve { is_own: false } => "approve:others".to_owned(),
            Self::Impersonate => "impersonate".to_owned(),
            Self::Operate => "operate".to_owned(),
            Self::Administer => "administer".to_owned(),
        }
    }
}

impl fmt::Display for Action<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Be { id, .. } => write!(f, "act as \"{id}\""),
            Self::Send { to: "" } | Self::Delegate { to: "" } => {
                f.write_str("send to whoever subscribes")
            }
            Self::Send { to } | Self::Delegate { to } => write!(f, "send to \"{to}\""),
            Self::SeeDirectory => f.write_str("see the directory"),
            Self::SeeTask { is_own: true } => f.write_str("see a task of its own"),
            Self::SeeTask { is_own: false } => f.write_str("see tasks of others"),
            Self::SeeEvents => f.write_str("observe the events of all agents"),
            Self::Chat => f.write_str("talk with Cortex"),
            Self::SeeAllRuns => f.write_str("see runs of others"),
            Self::Runs => f.write_str("start or see runs"),
            Self::Approve { is_own: true } => f.write_str("approve in a run of its own"),
            Self::Approve { is_own: false } => f.write_str("approve in runs of others"),
            Self::Impersonate => f.write_str("say on whose behalf it acts"),
            Self::Operate => f.write_str("operate the hub"),
            Self::Administer => f.write_str("administer the hub"),
        }
    }
}
