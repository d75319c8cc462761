//! Principals on whose behalf Cortex acts: whose conversation, whose thread, whom they may be handed work to.

use agenthub_access::{Action, Identities, decide};
use agenthub_sdk::{TaskContext, runs::journal::ListedRun};

/// Identities and the namespace of Cortex, if they are known here.
pub(crate) type Known<'a> = Option<&'a (Identities, String)>;

/// The owner of what a message belongs to: the principal who asked first; the agent that sent it on a hub without identities.
pub(crate) fn owner_of(task: &TaskContext) -> String {
    match task.on_behalf_of() {
        "" => task.sender().to_owned(),
        principal => principal.to_owned(),
    }
}

/// The name of a thread among those of all principals.
pub(crate) fn thread_of(principal: &str, thread: &str) -> String {
    match principal {
        "" => thread.to_owned(),
        principal => format!("{principal}\0{thread}"),
    }
}

/// True if a run of a list is on behalf of this principal; without one, on behalf of nobody.
pub(crate) fn is_of(principal: &str, listed: &ListedRun) -> bool {
    starter(listed) == principal
}

/// The principal on whose behalf a run of a list is; empty if none is known.
pub fn starter(listed: &ListedRun) -> &str {
    let summary = listed.summary.as_ref();
    summary.map_or("", |summary| &summary.on_behalf_of)
}

/// True if work may be handed to the agent on behalf of the principal, as far as is known here: the hub decides.
pub(crate) fn may_send(identities: Known<'_>, principal: &str, agent: &str) -> bool {
    may(identities, principal, &Action::Send { to: agent }).unwrap_or(true)
}

/// True if the principal may see the runs of others. Where its rights are not known, only who is none may.
pub(crate) fn sees_all_runs(identities: Known<'_>, principal: &str) -> bool {
    may(identities, principal, &Action::SeeAllRuns).unwrap_or(principal.is_empty())
}

fn may(identities: Known<'_>, principal: &str, action: &Action<'_>) -> Option<bool> {
    let (identities, namespace) = identities.filter(|_| !principal.is_empty())?;
    Some(decide(&identities.rights_of(principal, namespace), action).is_ok())
}
