//! The person who looks at a page, and which actions to show.

use std::sync::Arc;

use agenthub_access::{Action, Admitted, Caller, decide};
use agenthub_proto::{a2a::Task, own_id};

/// Id under which pages publish.
const ID: &str = "page";

/// The viewer of a page.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    caller: Arc<Caller>,
    /// Approvals that wait for this viewer.
    waiting: usize,
}

impl Viewer {
    pub(crate) fn new(admitted: &Admitted) -> Self {
        Self {
            caller: Arc::clone(&admitted.caller),
            waiting: 0,
        }
    }

    /// The same, for whom so many approvals wait.
    pub(crate) fn with_waiting(self, waiting: usize) -> Self {
        Self { waiting, ..self }
    }

    /// Number of approvals that wait for this viewer.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The principal; `None` where nobody needs to say who they are.
    pub(crate) fn name(&self) -> Option<&str> {
        (!self.caller.is_anonymous()).then_some(&self.caller.principal)
    }

    /// The principal whose tasks are counted for this viewer; nobody for one who sees all.
    pub(crate) fn whose_tasks(&self) -> String {
        match self.may(&Action::SeeTask { is_own: false }) {
            true => String::new(),
            false => self.name().unwrap_or_default().to_owned(),
        }
    }

    /// True if there is a point in showing how that is done. Whether it may be done is decided by the hub, when it is.
    pub(crate) fn may(&self, action: &Action<'_>) -> bool {
        decide(&self.caller, action).is_ok()
    }

    /// True if this viewer may cancel a task: one of all, or one of a requester or receiver that it may be.
    pub(crate) fn may_cancel(&self, task: &Task) -> bool {
        let may_be = |id: &str| !id.is_empty() && self.may(&Action::Be { id, owner: None });
        self.may(&Action::SeeTask { is_own: false })
            || may_be(task.requester())
            || may_be(task.assignee())
    }

    /// The id under which this viewer's pages publish: one that it may be.
    pub(crate) fn agent_id(&self) -> String {
        match self.name() {
            None => ID.to_owned(),
            Some(name) => own_id(name, ID),
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_access::{Namespace, Policy};
    use agenthub_proto::json;
    use serde_json::json;

    use super::*;

    fn viewer(caller: Caller) -> Viewer {
        Viewer {
            caller: Arc::new(caller),
            waiting: 0,
        }
    }

    /// Issue 25: what an agent asks on one's behalf is cancelled with one's own task or run.
    #[test]
    fn parties_and_who_sees_all_may_cancel_a_task_and_others_count_their_own() {
        let named = |name: &str, role: &str| {
            let principal = name.parse().expect("a name");
            let roles = [role.to_owned()];
            viewer(Policy::default().caller(&principal, &Namespace::default(), &roles, &[]))
        };
        let task = |requester: &str, assignee: &str| {
            let metadata =
                json!({"requester": requester, "assignee": assignee, "on_behalf_of": "alice"});
            Task {
                metadata: Some(json::to_struct(&metadata)),
                ..Task::default()
            }
        };
        let alice = named("alice", "user");
        assert!(alice.may_cancel(&task("alice~page", "writer")));
        assert!(alice.may_cancel(&task("cortex", "alice")));
        assert!(!alice.may_cancel(&task("cortex", "writer")));
        assert!(!alice.may_cancel(&task("", "")));
        assert_eq!(alice.whose_tasks(), "alice");
        assert_eq!(named("dora", "operator").whose_tasks(), "");
        assert_eq!(viewer(Caller::anonymous()).whose_tasks(), "");
        assert!(named("dora", "operator").may_cancel(&task("cortex", "writer")));
        assert!(viewer(Caller::anonymous()).may_cancel(&task("cortex", "writer")));
    }
}
