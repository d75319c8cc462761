//! On whose behalf is this message sent, and through whom did the request go?

use agenthub_access::{Action, Caller};

use crate::{Error, access::may, limits};

/// Principal who asked first, and the way of the request since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Behalf {
    /// Empty for what parts of the hub's own process ask by themselves, and for what was asked while there were no identities.
    pub(crate) principal: String,
    /// Ids of the agents that have handed it on, first to last.
    pub(crate) chain: Vec<String>,
}

/// The task that a message names as its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent<'a> {
    /// It names none.
    None,
    /// A task of which the sender is a party, or any if nothing limits the caller.
    Of(&'a Behalf),
    /// A task that has ended, of which the sender was a party.
    Ended,
    /// A task of others, or none that is known.
    Foreign,
}

/// Input of the decision about a message that belongs to no task yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) caller: &'a Caller,
    /// The agent that sends.
    pub(crate) sender: &'a str,
    pub(crate) parent_id: &'a str,
    pub(crate) parent: Parent<'a>,
    /// The principal that the message itself names.
    pub(crate) claimed: &'a str,
}

/// The behalf of a message that belongs to no task yet: that of its parent, and what it says itself only if its caller may say so.
///
/// # Errors
///
/// [`Error::PermissionDenied`] if it names a task of others, or a principal that the caller may not name; [`Error::FailedPrecondition`] if its
/// parent has ended, or it was handed on too often.
pub(crate) fn behalf(facts: &Facts<'_>) -> Result<Behalf, Error> {
    let Facts { caller, sender, .. } = *facts;
    let may_name = || may(caller, Action::Impersonate);
    let own = || match caller.is_unrestricted() {
        true => String::new(),
        false => caller.principal.clone(),
    };
    let above = match facts.parent {
        Parent::Of(above) => Some(above),
        Parent::None => None,
        // What is left to do for a task that was forgotten: taking back what was done, for instance.
        Parent::Ended | Parent::Foreign if may_name().is_ok() => None,
        Parent::Ended => {
            return Err(Error::FailedPrecondition(format!(
                "the task \"{}\", for which this is asked, has ended",
                facts.parent_id
            )));
        }
        Parent::Foreign => {
            return Err(Error::PermissionDenied(format!(
                "\"{}\" is no party of a task \"{}\": nothing can be asked on its behalf",
                caller.principal, facts.parent_id
            )));
        }
    };
    if let Some(above) = above {
        if above.chain.len() >= limits::HOPS as usize {
            return Err(Error::FailedPrecondition(format!(
                "work is handed on at most {} times, to keep agents from calling each other in circles",
                limits::HOPS
            )));
        }
        let sender = Some(sender.to_owned()).filter(|sender| !sender.is_empty());
        return Ok(Behalf {
            principal: match above.principal.is_empty() {
                true => own(),
                false => above.principal.clone(),
            },
            chain: above.chain.iter().cloned().chain(sender).collect(),
        });
    }
    let principal = match facts.claimed {
        "" => own(),
        claimed if claimed == caller.principal => own(),
        claimed => {
            may_name()?;
            claimed.to_owned()
        }
    };
    Ok(Behalf {
        principal,
        chain: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use agenthub_access::Policy;

    use super::*;

    fn named(name: &str, role: &str) -> Caller {
        let principal = name.parse().expect("a name");
        Policy::default().caller(
            &principal,
            &agenthub_access::Namespace::default(),
            &[role.to_owned()],
            &[],
        )
    }

    fn check(caller: &Caller, parent: Parent<'_>, claimed: &str, expected: Result<&str, &str>) {
        let found = behalf(&Facts {
            caller,
            sender: "lead",
            parent_id: "t",
            parent,
            claimed,
        });
        let words = match &found {
            Ok(found) => [
                &[&*found.principal],
                &*found.chain.iter().map(|c| &**c).collect::<Vec<_>>(),
            ]
            .concat()
            .join(" < "),
            Err(error) => error.to_string(),
        };
        match expected {
            Ok(expected) => assert!(found.is_ok() && words == expected, "{words}"),
            Err(part) => assert!(found.is_err() && words.contains(part), "{words}"),
        }
    }

    /// Issue 25, on whose behalf: a task carries the principal who asked first and the chain since.
    #[test]
    fn it_follows_from_the_parent_and_from_nothing_that_a_client_says() {
        let (lead, admin) = (named("lead", "agent"), named("root", "admin"));
        let part = Caller::unrestricted("agenthub");
        let above = Behalf {
            principal: "alice".to_owned(),
            chain: vec!["cortex".to_owned()],
        };
        let of_alice = Parent::Of(&above);
        let older = Behalf::default();
        // Without a parent one acts for oneself.
        check(&lead, Parent::None, "", Ok("lead"));
        check(&lead, Parent::None, "lead", Ok("lead"));
        check(
            &lead,
            Parent::None,
            "alice",
            Err("may not say on whose behalf it acts"),
        );
        check(&part, Parent::None, "", Ok(""));
        check(&part, Parent::None, "alice", Ok("alice"));
        check(&admin, Parent::None, "alice", Ok("alice"));
        // With one, for the principal who asked for it, whatever is said.
        for caller in [&lead, &admin, &part] {
            for claimed in ["", "bob"] {
                check(caller, of_alice, claimed, Ok("alice < cortex < lead"));
            }
        }
        // A task from before there were identities.
        check(&lead, Parent::Of(&older), "", Ok("lead < lead"));
        check(&part, Parent::Of(&older), "", Ok(" < lead"));
        // No task of one's own gives nobody to act for.
        check(
            &lead,
            Parent::Foreign,
            "",
            Err("is no party of a task \"t\""),
        );
        check(&lead, Parent::Ended, "", Err("has ended"));
        check(&part, Parent::Foreign, "alice", Ok("alice"));
        check(&part, Parent::Ended, "alice", Ok("alice"));
    }

    #[test]
    fn a_chain_has_an_end() {
        let above = |length| Behalf {
            principal: "alice".to_owned(),
            chain: vec!["a".to_owned(); length],
        };
        let most = limits::HOPS as usize;
        let lead = named("lead", "agent");
        let (short, long) = (above(most - 1), above(most));
        check(&lead, Parent::Of(&long), "", Err("at most 16 times"));
        let facts = |above| Facts {
            caller: &lead,
            sender: "lead",
            parent_id: "t",
            parent: Parent::Of(above),
            claimed: "",
        };
        assert_eq!(
            behalf(&facts(&short)).expect("it is short").chain.len(),
            most
        );
    }
}
