//! Agents that are here, listed and counted without a look at the others.

use agenthub_proto::agenthub::{AgentState, ListAgentsRequest};

use super::{super::listing::Listing, *};
use crate::{id::AgentId, steps};

impl Bench {
    fn enter(&mut self, agent: &str) {
        let registration = Registration {
            card: AgentCard {
                name: agent.into(),
                description: "is here or away".into(),
                ..Default::default()
            },
            topics: Vec::new(),
            health_check_url: "http://127.0.0.1:1/health".into(),
        };
        let (caller, now) = (Caller::anonymous(), self.now);
        let told = self.core.register(&caller, registration, None, now);
        told.expect("good");
    }

    /// The agents of all pages with this presence, and the number that the hub says there are.
    fn listed(&self, state: AgentState, text: &str) -> (Vec<String>, u32) {
        let mut request = ListAgentsRequest {
            state: state.into(),
            text: text.into(),
            page_size: 3,
            count: true,
            ..Default::default()
        };
        let mut found = Vec::new();
        loop {
            let mut listing = Listing::new(request.clone()).expect("good");
            while !self.core.list_some(&mut listing) {}
            found.extend(listing.page.into_iter().map(|entry| entry.agent_id));
            if listing.next.is_empty() {
                return (found, listing.total);
            }
            request.page_token = listing.next;
        }
    }

    /// Checks that lists and numbers say what the directory and presence do.
    fn check_listed(&self, what: &str) {
        let all = self.core.state.registry.iter().map(|(id, _)| id);
        let (here, away): (Vec<&AgentId>, Vec<&AgentId>) =
            all.partition(|id| self.core.presence.is_online(id));
        for (state, expected) in [(AgentState::Online, here), (AgentState::Offline, away)] {
            let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
            for text in ["", "here away"] {
                let (found, number) = self.listed(state, text);
                assert_eq!(found, expected, "{what}: {state:?}, {text:?}");
                assert_eq!(
                    number as usize,
                    expected.len(),
                    "{what}: {state:?}, {text:?}"
                );
            }
        }
        let (_, all) = self.listed(AgentState::Unspecified, "");
        assert_eq!(all as usize, self.core.state.registry.len(), "{what}");
    }
}

#[test]
fn whatever_happens_to_agents_lists_and_numbers_say_who_is_here() {
    let mut b = Bench::new(Settings::default());
    for n in 0..8 {
        b.enter(&format!("agent{n}"));
    }
    b.check_listed("all are away");
    let streams: Vec<SessionId> = (0..5)
        .map(|n| b.connect(&format!("agent{n}"), "i", durable("work")).id)
        .collect();
    let visitor = b.connect("visitor", "i", durable("mail")).id;
    b.check_listed("a client without a card is in no list");
    b.enter("visitor");
    b.check_listed("it registers while it is here");
    b.close(streams[0], true);
    b.check_listed("one says goodbye");
    b.close(streams[1], false);
    b.check_listed("one is lost, and has its lease");
    b.wait(b.core.settings.presence_lease + Duration::from_secs(1));
    b.check_listed("its lease is over");
    let now = b.now;
    b.core.probed(&"agent6".into(), true, now);
    b.check_listed("one is away, and answers its probe");
    b.core.probed(&"agent6".into(), false, now);
    b.check_listed("and does not any more");
    let gone = b
        .core
        .unregister(&Caller::anonymous(), &"agent2".into(), "", now);
    assert_eq!(gone, Ok(true));
    b.check_listed("one that is here is removed");
    b.connect("agent1", "j", durable("work"));
    b.check_listed("one comes back");
    b.close(visitor, true);
    b.check_listed("the visitor leaves");
}

/// Issue 26, cost: ten thousand agents page without a slow query.
#[test]
fn those_who_are_here_are_found_without_a_look_at_those_who_are_not() {
    let mut b = Bench::new(Settings::default());
    for n in 0..500 {
        b.enter(&format!("agent{n}"));
    }
    for n in [3, 333] {
        b.connect(&format!("agent{n}"), "i", durable("work"));
    }
    // Each agent that is looked at costs a look at the words of its card.
    let (steps, (found, number)) = steps::count(|| b.listed(AgentState::Online, "away"));
    assert_eq!((steps, number), (2, 2));
    assert_eq!(found, ["agent3", "agent333"]);
}
