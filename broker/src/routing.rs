//! Routing: the recipients of an event.
//!
//! | the event has | recipients |
//! |---|---|
//! | a recipient | that agent |
//! | no recipient, a known task | from its requester: the assignee; from anyone else: the requester |
//! | a task type, topics, or required tags or modes | the agents that registered for it or have such a skill; with a task exactly one, the one with the fewest open tasks; without, all |
//! | the same, for matching agents only, and no match | nobody |
//! | none of these, or no match | all subscribers, except the sender |

use crate::id::{Address, AgentId};

/// Input of a routing decision.
#[derive(Clone, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) sender: AgentId,
    pub(crate) recipient: Option<Address>,
    pub(crate) task: Option<Parties>,
    /// True if a task needs an assignee.
    pub(crate) wants_one: bool,
    pub(crate) wants: Wants<'a>,
    /// True if nobody gets it where no agent has the required capabilities.
    pub(crate) matching_only: bool,
}

/// The parties that may change a task.
#[derive(Clone, Debug)]
pub(crate) struct Parties {
    pub(crate) requester: AgentId,
    pub(crate) assignee: Option<AgentId>,
}

/// Required capabilities of an agent. All given ones must match.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wants<'a> {
    /// Any of these: a task type and topics.
    pub(crate) topics: Vec<&'a str>,
    pub(crate) tags: &'a [String],
    pub(crate) input_modes: &'a [String],
    pub(crate) output_modes: &'a [String],
}

impl Wants<'_> {
    fn is_nothing(&self) -> bool {
        self.topics.is_empty()
            && self.tags.is_empty()
            && self.input_modes.is_empty()
            && self.output_modes.is_empty()
    }
}

/// An agent with the required capabilities.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) agent: AgentId,
    pub(crate) online: bool,
    /// Number of its open tasks.
    pub(crate) in_flight: usize,
}

/// Recipients of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    To(Vec<Address>),
    /// All subscribers, except the sender.
    Everyone,
}

/// The first row of the table that matches. `candidates` looks up agents with the required capabilities.
pub(crate) fn route(
    facts: &Facts<'_>,
    candidates: impl FnOnce(&Wants<'_>) -> Vec<Candidate>,
) -> Route {
    if let Some(recipient) = &facts.recipient {
        return Route::To(vec![recipient.clone()]);
    }
    if let Some(task) = &facts.task {
        if facts.sender != task.requester {
            return Route::To(named(&task.requester));
        }
        if let Some(assignee) = &task.assignee {
            return Route::To(named(assignee));
        }
    }
    if facts.wants.is_nothing() {
        return Route::Everyone;
    }
    let mut able = candidates(&facts.wants);
    able.retain(|c| c.agent != facts.sender);
    if able.is_empty() {
        return match facts.matching_only {
            true => Route::To(Vec::new()),
            false => Route::Everyone,
        };
    }
    if facts.wants_one {
        able.sort_by(|a, b| {
            (!a.online, a.in_flight, &a.agent).cmp(&(!b.online, b.in_flight, &b.agent))
        });
        able.truncate(1);
    }
    Route::To(able.into_iter().map(|c| c.agent.into()).collect())
}

fn named(agent: &AgentId) -> Vec<Address> {
    if agent.is_empty() {
        return Vec::new();
    }
    vec![agent.clone().into()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn facts(sender: &str) -> Facts<'static> {
        Facts {
            sender: sender.into(),
            recipient: None,
            task: None,
            wants_one: false,
            wants: Wants::default(),
            matching_only: false,
        }
    }

    fn to(agents: &[&str]) -> Route {
        Route::To(agents.iter().map(|a| AgentId::from(*a).into()).collect())
    }

    fn candidate(agent: &str, online: bool, in_flight: usize) -> Candidate {
        Candidate {
            agent: agent.into(),
            online,
            in_flight,
        }
    }

    fn parties(requester: &str, assignee: Option<&str>) -> Option<Parties> {
        Some(Parties {
            requester: requester.into(),
            assignee: assignee.map(AgentId::from),
        })
    }

    #[test]
    fn a_recipient_comes_first() {
        let facts = Facts {
            recipient: Some(AgentId::from("b").into()),
            task: parties("c", Some("d")),
            ..facts("a")
        };
        assert_eq!(route(&facts, |_| unreachable!("not looked up")), to(&["b"]));
    }

    #[test]
    fn a_task_connects_its_two_parties() {
        let task = parties("asker", Some("worker"));
        let from = |sender| {
            route(
                &Facts {
                    task: task.clone(),
                    ..facts(sender)
                },
                |_| Vec::new(),
            )
        };
        assert_eq!(from("asker"), to(&["worker"]));
        assert_eq!(from("worker"), to(&["asker"]));
        assert_eq!(from("stranger"), to(&["asker"]));
    }

    #[test]
    fn an_answer_to_nobody_reaches_nobody() {
        let facts = Facts {
            task: parties("", Some("worker")),
            ..facts("worker")
        };
        assert_eq!(route(&facts, |_| Vec::new()), to(&[]));
    }

    /// spec: HUB-8
    #[test]
    fn capability_without_a_task_reaches_all_who_have_it() {
        let facts = Facts {
            wants: Wants {
                topics: vec!["echo"],
                ..Wants::default()
            },
            ..facts("a")
        };
        let able = || {
            vec![
                candidate("a", true, 0),
                candidate("b", true, 9),
                candidate("c", false, 0),
            ]
        };
        assert_eq!(route(&facts, |_| able()), to(&["b", "c"]));
    }

    /// spec: HUB-8
    #[test]
    fn a_task_goes_to_the_one_with_the_least_in_flight() {
        let facts = Facts {
            wants_one: true,
            wants: Wants {
                topics: vec!["echo"],
                ..Wants::default()
            },
            ..facts("a")
        };
        let able = || {
            vec![
                candidate("b", true, 2),
                candidate("c", true, 1),
                candidate("d", false, 0),
            ]
        };
        assert_eq!(route(&facts, |_| able()), to(&["c"]));
        assert_eq!(
            route(&facts, |_| vec![candidate("d", false, 0)]),
            to(&["d"])
        );
    }

    #[test]
    fn what_nobody_wants_goes_to_everyone() {
        let wants = Wants {
            topics: vec!["unheard"],
            ..Wants::default()
        };
        assert_eq!(
            route(
                &Facts {
                    wants,
                    ..facts("a")
                },
                |_| Vec::new()
            ),
            Route::Everyone
        );
        assert_eq!(
            route(&facts("a"), |_| unreachable!("nothing is wanted")),
            Route::Everyone
        );
    }

    #[test]
    fn what_is_for_matching_agents_only_goes_to_nobody_else() {
        let facts = Facts {
            wants: Wants {
                topics: vec!["news"],
                ..Wants::default()
            },
            matching_only: true,
            ..facts("a")
        };
        assert_eq!(route(&facts, |_| Vec::new()), to(&[]));
        assert_eq!(route(&facts, |_| vec![candidate("a", true, 0)]), to(&[]));
        let able = || vec![candidate("a", true, 0), candidate("b", false, 0)];
        assert_eq!(route(&facts, |_| able()), to(&["b"]));
    }

    proptest! {
        #[test]
        fn the_sender_never_gets_what_it_offers(agents in prop::collection::vec(("[a-d]", any::<bool>(), 0usize..4), 0..6), wants_one: bool) {
            let facts = Facts { wants_one, wants: Wants { topics: vec!["t"], ..Wants::default() }, ..facts("a") };
            let able = agents.iter().map(|(a, online, n)| candidate(a, *online, *n)).collect();
            if let Route::To(to) = route(&facts, |_| able) {
                prop_assert!(!to.is_empty());
                prop_assert!(to.iter().all(|t| *t.agent != *"a"));
                prop_assert!(!wants_one || to.len() == 1);
            }
        }
    }
}
