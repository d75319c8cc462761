//! Rights of callers: to whom they may send, and which tasks are theirs.
//!
//! All tasks of the gateway have the gateway as their requester. The principal who asked for one stands in the metadata of its first message, where
//! the gateway alone writes it: in tasks that the gateway has asked for it is true. On whose behalf any task was asked for, the hub says.

use agenthub_access::{Action, Caller, decide};
use agenthub_sdk::proto::{
    PRINCIPAL_KEY, a2a,
    wkt::{Kind as ValueKind, Value},
};

use crate::error::{Error, Kind};

/// Checks whether a caller may do something.
///
/// # Errors
///
/// [`Kind::PermissionDenied`] names the right that is missing.
pub(crate) fn may(caller: &Caller, action: Action<'_>) -> Result<(), Error> {
    decide(caller, &action).map_err(|why| Kind::PermissionDenied.with(why))
}

/// Writes into a message who asks, whatever its sender wrote there.
pub(crate) fn sign(message: &mut a2a::Message, caller: &Caller) {
    if caller.is_anonymous() {
        if let Some(metadata) = &mut message.metadata {
            metadata.fields.remove(PRINCIPAL_KEY);
        }
        return;
    }
    let value = Value {
        kind: Some(ValueKind::StringValue(caller.principal.clone())),
    };
    let metadata = message.metadata.get_or_insert_default();
    metadata.fields.insert(PRINCIPAL_KEY.to_owned(), value);
}

/// The principal on whose behalf the gateway publishes what a caller sends; none on a hub without identities.
pub(crate) fn on_behalf_of(caller: &Caller) -> String {
    caller.named().unwrap_or_default().to_owned()
}

/// True if the caller may see this task: it may see all, or the task is on its behalf, whichever agent asked for it.
pub(crate) fn may_see(caller: &Caller, task: &a2a::Task) -> bool {
    let see = |is_own| decide(caller, &Action::SeeTask { is_own }).is_ok();
    see(false) || see(true) && caller.named() == Some(task.on_behalf_of())
}

/// True if the caller may take part in this task, which has all of its history: it may see all, or has asked for it here.
pub(crate) fn may_act(caller: &Caller, task: &a2a::Task, gateway: &str) -> bool {
    let see = |is_own| decide(caller, &Action::SeeTask { is_own }).is_ok();
    see(false) || see(true) && task.requester() == gateway && is_asked_by(task, &caller.principal)
}

fn is_asked_by(task: &a2a::Task, principal: &str) -> bool {
    let first = task.history.first();
    let metadata = first.and_then(|message| message.metadata.as_ref());
    let said = metadata.and_then(|metadata| metadata.fields.get(PRINCIPAL_KEY));
    said.and_then(|value| value.kind.as_ref())
        .is_some_and(|kind| matches!(kind, ValueKind::StringValue(name) if name == principal))
}

#[cfg(test)]
mod tests {
    use agenthub_access::{Namespace, Policy};

    use super::*;

    #[test]
    fn who_asked_is_written_by_the_gateway_alone() {
        let caller = |name: &str| {
            let principal = name.parse().expect("a name");
            Policy::default().caller(&principal, &Namespace::default(), &["user".to_owned()], &[])
        };
        let mut message = a2a::Message::default().with_metadata(PRINCIPAL_KEY, "bob");
        sign(&mut message, &caller("alice"));
        let task = |message: &a2a::Message, requester: &str| {
            let task = a2a::Task {
                history: vec![message.clone()],
                ..a2a::Task::default()
            };
            a2a::Task {
                metadata: a2a::Message::default()
                    .with_metadata("requester", requester)
                    .metadata,
                ..task
            }
        };
        let own = task(&message, "a2a");
        assert_eq!(own.requester(), "a2a");
        assert!(may_act(&caller("alice"), &own, "a2a"));
        assert!(!may_act(&caller("bob"), &own, "a2a"));
        assert!(!may_act(&caller("alice"), &task(&message, "other"), "a2a"));
        sign(&mut message, &Caller::anonymous());
        assert!(!is_asked_by(&task(&message, "a2a"), "bob"));
    }

    /// Issue 25, on whose behalf: the hub says it, and of nobody in particular, nobody sees it.
    #[test]
    fn tasks_are_seen_by_whom_the_hub_names() {
        let caller = |name: &str, roles: &[&str]| {
            let principal = name.parse().expect("a name");
            let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
            Policy::default().caller(&principal, &Namespace::default(), &roles, &[])
        };
        let behalf = |name: &str| a2a::Task {
            metadata: a2a::Message::default()
                .with_metadata("on_behalf_of", name)
                .metadata,
            ..a2a::Task::default()
        };
        let alice = caller("alice", &["user"]);
        assert!(may_see(&alice, &behalf("alice")));
        assert!(!may_act(&alice, &behalf("alice"), "a2a"));
        for other in ["bob", "", "blue~alice"] {
            assert!(!may_see(&alice, &behalf(other)), "{other}");
        }
        assert!(!may_see(&alice, &a2a::Task::default()));
        assert!(!may_see(&caller("alice", &[]), &behalf("alice")));
        assert!(may_see(&caller("dora", &["operator"]), &behalf("bob")));
        assert!(may_see(&Caller::anonymous(), &a2a::Task::default()));
    }
}
