//! The directory from its watchers' view.

use std::collections::BTreeMap;

use agenthub_proto::{
    a2a::AgentSkill,
    agenthub::{AgentCardEvent, ListAgentsRequest, agent_event::Payload},
};
use proptest::prelude::*;

use super::{super::listing::Listing, *};
use crate::steps;

/// A card whose description contains the number of the change.
fn card(agent: &str, number: usize) -> AgentCard {
    AgentCard {
        name: agent.into(),
        description: number.to_string(),
        ..Default::default()
    }
}

impl Bench {
    fn register(&mut self, card: AgentCard) {
        let registration = Registration {
            card,
            topics: Vec::new(),
            health_check_url: String::new(),
        };
        let (caller, now) = (Caller::anonymous(), self.now);
        let told = self.core.register(&caller, registration, None, now);
        assert_eq!(told, Ok(true));
    }

    fn watch(&mut self) -> SessionId {
        let cards = Subscription {
            filter: Some(agenthub::Filter {
                kinds: vec![EventKind::AgentCard.into()],
                ..Default::default()
            }),
            ..of_instance("directory")
        };
        self.connect("watcher", "i", cards).id
    }

    /// Cards that a watcher takes with this credit, and whether there are more.
    fn cards(&mut self, session: SessionId, credit: u32) -> (Vec<AgentCardEvent>, bool) {
        let outgoing = self.core.take(session, &[credit], 256, self.now);
        assert_eq!(outgoing.end, None);
        assert!(outgoing.events() <= credit as usize);
        let handed = outgoing.deliveries.iter();
        let events = handed.flat_map(|(_, handed)| handed.events());
        let cards = events.map(|(event, _)| match &event.payload {
            Some(Payload::AgentCard(card)) => card.clone(),
            other => panic!("{other:?} is no card"),
        });
        (cards.collect(), outgoing.has_more)
    }

    /// All cards available to a watcher.
    fn all_cards(&mut self, session: SessionId) -> Vec<AgentCardEvent> {
        let mut all = Vec::new();
        loop {
            let (cards, has_more) = self.cards(session, 7);
            let is_idle = cards.is_empty() && !has_more;
            all.extend(cards);
            if is_idle {
                return all;
            }
        }
    }
}

fn words(cards: &[AgentCardEvent]) -> Vec<String> {
    let word = |card: &AgentCardEvent| match card.is_snapshot() {
        true => format!("{} (snapshot)", card.agent_id),
        false => format!("{} {}", card.event_type, card.agent_id),
    };
    cards.iter().map(word).collect()
}

/// promise 7
#[test]
fn a_directory_that_is_larger_than_a_mailbox_can_be_watched() {
    let mut b = Bench::new(Settings {
        mailbox_events: 5,
        mailbox_bytes: 10_000,
        ..Settings::default()
    });
    for n in 0..300 {
        let mut card = card(&format!("agent {n:03}"), n);
        card.description = "long ".repeat(5_000);
        b.register(card);
    }
    b.core();
    let session = b.watch();
    let outgoing = b.take(session);
    let bytes = outgoing.deliveries.iter().flat_map(|(_, h)| h.events());
    let bytes: usize = bytes.map(|(event, _)| event.size()).sum();
    assert!(bytes < 300 * 1024, "a page is bounded: {bytes}");
    let rest = b.all_cards(session);
    let first = outgoing.events();
    assert_eq!(first + rest.len(), 300);
    let expected = (first..300).map(|n| format!("agent {n:03} (snapshot)"));
    assert_eq!(words(&rest), Vec::from_iter(expected));
}

/// promise 7: mail from before the snapshot is delivered first.
#[test]
fn a_watcher_that_is_back_gets_a_snapshot_behind_what_it_missed() {
    let mut b = Bench::new(Settings::default());
    b.register(card("a", 0));
    b.register(card("b", 0));
    b.core();
    let session = b.watch();
    assert_eq!(
        words(&b.all_cards(session)),
        ["a (snapshot)", "b (snapshot)"]
    );
    b.register(card("a", 1));
    b.core();
    b.close(session, false);
    b.register(card("b", 1));
    b.core();
    let again = b.watch();
    b.register(card("a", 2));
    b.core();
    let all = words(&b.all_cards(again));
    let missed = ["updated a", "updated b", "a (snapshot)", "b (snapshot)"];
    assert_eq!(all, missed);
    b.register(card("b", 2));
    b.core();
    assert_eq!(words(&b.all_cards(again)), ["updated b"]);
}

/// A server stream that rereads gets the snapshot and the waiting mail first.
#[test]
fn a_stream_that_rereads_gets_the_whole_snapshot_before() {
    let mut b = Bench::new(Settings::default());
    for n in 0..300 {
        b.register(card(&format!("agent {n}"), n));
    }
    b.core();
    let request = StreamRequest {
        call: Call::SubscribeToAgentEvents,
        agent: "watcher".into(),
        filter: Filter::kinds(&[EventKind::AgentCard]),
        after: b.core.log.id().token(Position(0)),
        observes: None,
        recent: 0,
    };
    let opened = b
        .core
        .open_stream(&Caller::anonymous(), request, b.now)
        .expect("good");
    let mut cards = 0;
    loop {
        let outgoing = b.core.take(opened.id, &[u32::MAX], opened.first, b.now);
        assert_eq!(outgoing.cards, outgoing.events());
        cards += outgoing.cards;
        if outgoing.deliveries.is_empty() {
            break;
        }
    }
    assert_eq!((opened.first, cards), (0, 300));
}

/// Capable agents are found by index, at a cost independent of the number of agents.
#[test]
fn who_can_do_something_is_found_without_asking_everyone() {
    let skill = |tags: &[&str]| AgentSkill {
        id: tags.concat(),
        tags: tags.iter().map(ToString::to_string).collect(),
        input_modes: vec!["text/plain".into()],
        output_modes: vec![tags[0].into()],
        ..Default::default()
    };
    let publish = |agents: usize, routing: AgentEventMetadata| {
        let mut b = Bench::new(Settings::default());
        for n in 0..agents {
            let tags = if n == 7 {
                ["common", "rare"]
            } else {
                ["common", "other"]
            };
            b.register(AgentCard {
                skills: vec![skill(&tags[..1]), skill(&tags[1..])],
                ..card(&format!("agent {n}"), n)
            });
        }
        b.core();
        let said = Body::Message(Message {
            task_id: "t".into(),
            ..Message::new(Role::User, "go")
        });
        let caller = Caller::anonymous();
        let now = b.now;
        let (steps, receipt) = steps::count(|| {
            b.core
                .publish(&caller, said, routing, Repetition::Accept, now)
        });
        receipt.expect("good");
        let task = b.core.state.tasks.get("t").expect("it is made");
        assert_eq!(task.assignee(), Some(&"agent 7".into()));
        steps
    };
    let from = AgentEventMetadata {
        from_agent_id: "asker".into(),
        ..Default::default()
    };
    let rare = || vec!["rare".to_owned()];
    for routing in [
        AgentEventMetadata {
            required_tags: rare(),
            required_input_modes: vec!["text/plain".into()],
            ..from.clone()
        },
        AgentEventMetadata {
            required_output_modes: rare(),
            ..from.clone()
        },
        AgentEventMetadata {
            subscriptions: rare(),
            ..from
        },
    ] {
        let [few, many] = [10, 500].map(|agents| publish(agents, routing.clone()));
        assert_eq!(few, many, "{routing:?}");
    }
}

/// A listing without a search text builds no texts.
#[test]
fn a_listing_without_a_text_reads_no_texts() {
    let mut b = Bench::new(Settings::default());
    for n in 0..100 {
        b.register(card(&format!("agent {n}"), n));
    }
    let list = |text: &str| {
        let request = ListAgentsRequest {
            text: text.into(),
            ..Default::default()
        };
        let mut listing = Listing::new(request).expect("good");
        let (steps, ()) = steps::count(|| while !b.core.list_some(&mut listing) {});
        (steps, listing.page.len())
    };
    assert_eq!(list(""), (0, 100));
    assert_eq!(list(" "), (0, 100));
    assert_eq!(list("agent 7"), (100, 10 + 9));
    // The texts are made once, and again for a card that has changed.
    assert_eq!(list("agent 8"), (0, 10 + 9));
    b.register(AgentCard {
        description: "knows something else".into(),
        ..card("agent 5", 5)
    });
    let request = ListAgentsRequest {
        text: "Something".into(),
        ..Default::default()
    };
    let mut listing = Listing::new(request).expect("good");
    let (steps, ()) = steps::count(|| while !b.core.list_some(&mut listing) {});
    assert_eq!((steps, listing.page.len()), (1, 1));
}

#[derive(Clone, Debug)]
enum Op {
    Register(u8),
    Unregister(u8),
    /// Makes the log durable so far.
    Deliver,
    Take(u32),
    Watch,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => (0u8..12).prop_map(Op::Register),
        2 => (0u8..12).prop_map(Op::Unregister),
        3 => Just(Op::Deliver),
        6 => (0u32..4).prop_map(Op::Take),
        1 => Just(Op::Watch),
    ];
    prop::collection::vec(op, 0..80)
}

/// Changes of one agent as published or as received: kind, and number in the card.
type Changes = Vec<(String, String)>;

fn change(card: &AgentCardEvent) -> (String, String) {
    let number = card.agent_card.as_ref().map(|c| c.description.clone());
    (card.event_type.clone(), number.unwrap_or_default())
}

/// Checks that a watcher received a card of the agent, if it was registered then, and all changes after that.
fn is_whole(told: &Changes, heard: &[AgentCardEvent]) -> bool {
    let (snapshot, changes) = match heard {
        [first, rest @ ..] if first.is_snapshot() => (Some(change(first).1), rest),
        all => (None, all),
    };
    let changes: Changes = changes.iter().map(change).collect();
    let Some(before) = told.len().checked_sub(changes.len()) else {
        return false;
    };
    let shown = told[..before].last();
    let shown = shown.filter(|(kind, _)| kind != "unregistered");
    told[before..] == changes && shown.map(|(_, number)| number) == snapshot.as_ref()
}

proptest! {
    /// promise 7: a snapshot, then each change once, in every interleaving.
    #[test]
    fn a_watcher_misses_nothing_and_hears_nothing_twice(before in ops(), after in ops()) {
        let mut b = Bench::new(Settings::default());
        let mut told: BTreeMap<String, Changes> = BTreeMap::new();
        let mut heard: Vec<AgentCardEvent> = Vec::new();
        let mut session = None;
        let caller = Caller::anonymous();
        for (number, op) in before.into_iter().chain([Op::Watch]).chain(after).enumerate() {
            match (op, session) {
                (Op::Register(agent), _) => {
                    let agent = format!("agent {agent:02}");
                    let is_known = b.core.state.registry.get(&agent.as_str().into()).is_some();
                    let kind = if is_known { "updated" } else { "registered" };
                    b.register(card(&agent, number));
                    told.entry(agent).or_default().push((kind.into(), number.to_string()));
                }
                (Op::Unregister(agent), _) => {
                    let agent = format!("agent {agent:02}");
                    let now = b.now;
                    if b.core.unregister(&caller, &agent.as_str().into(), "", now).is_ok() {
                        let changes = told.entry(agent).or_default();
                        let last = changes.last().expect("it was registered").1.clone();
                        changes.push(("unregistered".into(), last));
                    }
                }
                (Op::Deliver, _) => {
                    b.core();
                }
                (Op::Take(credit), Some(session)) => heard.extend(b.cards(session, credit).0),
                (Op::Take(_), None) => {}
                (Op::Watch, None) => session = Some(b.watch()),
                (Op::Watch, Some(old)) => {
                    // What it receives from here on is not checked.
                    b.close(old, true);
                    heard.clear();
                    session = Some(b.watch());
                }
            }
        }
        let session = session.expect("it was opened");
        heard.extend(b.all_cards(session));
        b.core();
        heard.extend(b.all_cards(session));

        let snapshot = heard.iter().take_while(|card| card.is_snapshot()).count();
        prop_assert!(!heard[snapshot..].iter().any(AgentCardEvent::is_snapshot), "it comes first");
        for (agent, told) in &told {
            let of_agent = heard.iter().filter(|card| card.agent_id == *agent);
            let heard: Vec<AgentCardEvent> = of_agent.cloned().collect();
            prop_assert!(is_whole(told, &heard), "{} told {:?}, heard {:?}", agent, told, heard);
        }
    }
}
