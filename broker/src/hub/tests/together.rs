//! Records that become durable together are delivered as if one by one.

use agenthub_proto::{agenthub::Priority, event::timestamp};
use proptest::prelude::*;

use super::*;

/// A published message, with everything that routes, filters and lanes depend on.
#[derive(Clone, Debug)]
struct Said {
    sender: bool,
    to: Option<bool>,
    context: bool,
    event_type: bool,
    task_type: bool,
    task: bool,
    urgent: bool,
    later: bool,
}

/// Most equal the previous one.
fn said() -> impl Strategy<Value = Vec<Said>> {
    let seldom = || prop::bool::weighted(0.1);
    let to = prop_oneof![8 => Just(Some(true)), 1 => Just(Some(false)), 1 => Just(None)];
    let one = (
        (seldom(), to, seldom(), seldom()),
        (seldom(), seldom(), seldom(), seldom()),
    );
    let one = one.prop_map(|((sender, to, context, event_type), rest)| Said {
        sender,
        to,
        context,
        event_type,
        task_type: rest.0,
        task: rest.1,
        urgent: rest.2,
        later: rest.3,
    });
    prop::collection::vec(one, 1..20)
}

impl Bench {
    fn say(&mut self, number: usize, said: &Said) {
        let pick = |is: bool, text: &str| if is { text.to_owned() } else { String::new() };
        let message = Message {
            message_id: number.to_string(),
            context_id: pick(said.context, "c"),
            task_id: match said.task {
                true => format!("t{number}"),
                false => String::new(),
            },
            ..Message::new(Role::User, "text")
        }
        .with_metadata("task_type", pick(said.task_type, "x"));
        let later = self.now.time + Duration::from_secs(5);
        let routing = AgentEventMetadata {
            from_agent_id: if said.sender { "asker" } else { "other" }.to_owned(),
            to_agent_id: match said.to {
                Some(true) => "worker".to_owned(),
                Some(false) => "absent".to_owned(),
                None => String::new(),
            },
            event_type: pick(said.event_type, "y"),
            priority: if said.urgent {
                Priority::High
            } else {
                Priority::Low
            }
            .into(),
            deliver_at: said.later.then(|| timestamp(later)),
            ..Default::default()
        };
        let (caller, body) = (Caller::anonymous(), Body::Message(message));
        let _ = self
            .core
            .publish(&caller, body, routing, Repetition::Accept, self.now);
    }

    /// All deliveries of the session, with positions.
    fn taken(&mut self, session: SessionId) -> Vec<(String, Position)> {
        let deliveries = self.take(session).deliveries;
        let events = deliveries.iter().flat_map(|(_, handed)| handed.events());
        let seen = events.map(|(event, position)| {
            let position = position.expect("it is in the log");
            assert_eq!(self.core.log.id().token(position), event.position);
            (event.event_id.clone(), position)
        });
        seen.collect()
    }

    /// Deliveries to all subscribers, with one group of the log for all messages or one for each.
    fn heard(all: &[Said], is_together: bool) -> Vec<Vec<(String, Position)>> {
        let mut b = Self::new(Settings::default());
        let of_type = |name: &str| agenthub::Filter {
            types: vec![name.to_owned()],
            ..Default::default()
        };
        let filters = [
            agenthub::Filter::default(),
            of_type("x"),
            of_type("y"),
            agenthub::Filter {
                contexts: vec!["c".to_owned()],
                ..Default::default()
            },
        ];
        let sessions: Vec<SessionId> = filters
            .into_iter()
            .enumerate()
            .map(|(n, filter)| {
                let subscription = Subscription {
                    filter: Some(filter),
                    ..durable(&n.to_string())
                };
                b.connect("worker", &n.to_string(), subscription).id
            })
            .collect();
        for (number, said) in all.iter().enumerate() {
            b.say(number, said);
            if !is_together {
                b.core();
            }
        }
        let mut heard: Vec<_> = sessions.iter().map(|s| b.taken(*s)).collect();
        b.wait(Duration::from_secs(6));
        heard.extend(sessions.iter().map(|s| b.taken(*s)));
        let late = b.connect("absent", "i", durable("late"));
        heard.push(b.taken(late.id));
        heard
    }
}

proptest! {
    /// promise 3
    #[test]
    fn what_is_safe_at_once_is_heard_as_if_it_had_come_one_by_one(all in said()) {
        prop_assert_eq!(Bench::heard(&all, true), Bench::heard(&all, false));
    }
}

/// Alike events are delivered in one batch.
#[test]
fn what_is_alike_is_handed_over_at_once() {
    let mut b = Bench::new(Settings::default());
    let session = b.connect("worker", "i", of_instance("own"));
    let alike = Said {
        sender: true,
        to: Some(true),
        context: false,
        event_type: false,
        task_type: false,
        task: false,
        urgent: false,
        later: false,
    };
    (0..3).for_each(|n| b.say(n, &alike));
    let other = Said {
        context: true,
        ..alike
    };
    b.say(3, &other);
    let handed = b.take(session.id).deliveries;
    let sizes: Vec<usize> = handed.iter().map(|(_, handed)| handed.len()).collect();
    assert_eq!(sizes, [3, 1]);
}
