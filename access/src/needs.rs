//! The needs of a call before it is read, and the rule by which a caller meets them.

use crate::{Action, Caller, Decision, decide};

/// The needs of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: health, and what is public by its nature.
    Nothing,
    /// An identity; the service decides the rest by what the request holds.
    Identity,
    /// This right.
    Right(Action<'static>),
    /// The right to approve somewhere: in one's own runs or in those of others.
    SomeApproval,
}

impl Needs {
    /// Checks whether the caller has what is needed.
    ///
    /// # Errors
    ///
    /// The sentence for a caller who has not.
    pub fn check(&self, caller: &Caller) -> Result<(), String> {
        match self {
            Self::Nothing | Self::Identity => Ok(()),
            Self::Right(action) => decide(caller, action),
            Self::SomeApproval => {
                let others = decide(caller, &Action::Approve { is_own: false });
                others.or_else(|_| decide(caller, &Action::Approve { is_own: true }))
            }
        }
    }

    /// The rule that allows the caller this call, of what is known before it is done. `path` is that of an RPC, `resource` its object.
    pub fn rule(&self, caller: &Caller, path: &str, resource: &str) -> String {
        let rule = |action: &Action<'_>| Decision::of(caller, None, action).rule;
        match self {
            Self::Nothing => "it needs no right".to_owned(),
            Self::Right(action) => rule(action),
            Self::SomeApproval => {
                let others = Action::Approve { is_own: false };
                match decide(caller, &others) {
                    Ok(()) => rule(&others),
                    Err(_) => rule(&Action::Approve { is_own: true }),
                }
            }
            Self::Identity if path.ends_with("/CancelTask") => {
                let all = Action::SeeTask { is_own: false };
                match decide(caller, &all) {
                    Ok(()) => rule(&all),
                    Err(_) => rule(&Action::SeeTask { is_own: true }),
                }
            }
            Self::Identity
                if path.ends_with("registerAgent") || path.ends_with("RegisterAgent") =>
            {
                let id = resource.strip_prefix("agent=").unwrap_or(resource);
                let be = Action::Be { id, owner: None };
                match decide(caller, &be) {
                    Err(_) if decide(caller, &Action::Operate).is_ok() => rule(&Action::Operate),
                    _ => rule(&be),
                }
            }
            Self::Identity => "it needs an identity".to_owned(),
        }
    }
}

/// Refusal of a page, for the page that says so. It comes with the request for [`ROUTE`](Self::ROUTE).
#[derive(Clone, Debug)]
pub struct PageRefusal {
    /// Path of the page that was asked for.
    pub path: String,
    /// The sentence for the caller.
    pub why: String,
}

impl PageRefusal {
    /// Path of the page that tells of refusals.
    pub const ROUTE: &str = "/ui/refused";
}

#[cfg(test)]
mod tests {
    use crate::{Namespace, Policy};

    #[test]
    fn the_rule_of_an_act_is_that_of_what_it_is_about() {
        let caller = |role: &str| {
            let principal = "alice".parse().expect("a name");
            Policy::default().caller(&principal, &Namespace::default(), &[role.to_owned()], &[])
        };
        for (path, resource, role, expected) in [
            (
                "/agenthub.AgentHub/PurgeMailbox",
                "agent=a",
                "operator",
                "role operator allows operate",
            ),
            (
                "/agenthub.AgentHub/UnregisterAgent",
                "agent=alice",
                "agent",
                "role agent allows be:{self}",
            ),
            (
                "/agenthub.AgentHub/UnregisterAgent",
                "agent=bob",
                "operator",
                "role operator allows operate",
            ),
            (
                "/agenthub.AgentHub/CancelTask",
                "task=t",
                "agent",
                "role agent allows see:own-tasks",
            ),
            (
                "/agenthub.AgentHub/CancelTask",
                "task=t",
                "admin",
                "role admin allows *",
            ),
            (
                "/cortex.Cortex/DecideApproval",
                "",
                "user",
                "role user allows approve:own",
            ),
        ] {
            let needs = crate::rpc(path).expect("an RPC").needs;
            assert_eq!(
                needs.rule(&caller(role), path, resource),
                expected,
                "{path}"
            );
        }
    }
}
