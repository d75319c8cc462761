//! Which records an event of the hub becomes.

mod bodies;

use agenthub_bus::{
    Header, NewRecord,
    messages::{
        SCHEMA_VERSION, VERSION,
        events::{GAP, Gap, MESSAGE, STATE, VIA},
    },
};
use agenthub_sdk::proto::{
    a2a::Message,
    agenthub::{AgentEvent, AgentEventMetadata, agent_event::Payload},
};

use crate::{
    pattern::Pattern,
    settings::{Events, KeyBy, OutRule},
};
use bodies::{body, given, message_body, state_body};

/// Field of a message's metadata with the topics of Kafka that it came through, with commas in between.
pub const CAME_VIA: &str = "kafka_via";

/// Topic of the hub on which connectors mark a place in its log. Nobody has it, and it is not mirrored.
pub const MARKS: &str = "agenthub.connect.marks";

/// `ce_source` of what a hub gives. It is another one once the hub has lost its state.
pub fn source(hub_incarnation: &str) -> String {
    format!("/agenthub/hub/{hub_incarnation}")
}

/// The records that an event becomes: one for each topic of Kafka that a rule names for it, by the first such rule. Events that are in no log become none.
pub fn records(event: &AgentEvent, rules: &[OutRule], source: &str) -> Vec<NewRecord> {
    let mut records: Vec<NewRecord> = Vec::new();
    if event.position.is_empty() {
        return records;
    }
    let routing = event.routing.clone().unwrap_or_default();
    for rule in rules {
        if records.iter().any(|record| record.topic == rule.to) {
            continue;
        }
        let body = match (&event.payload, &rule.events) {
            (Some(Payload::Message(message)), Events::Messages(topics)) => {
                let is_chosen = is_on(message, &routing, topics);
                (is_chosen && !came_via(message).any(|topic| topic == rule.to))
                    .then(|| (MESSAGE, message_body(message, &routing)))
            }
            (Some(Payload::StatusUpdate(update)), Events::States { agents, states }) => {
                state_body(update, event, &routing).and_then(|(state, body)| {
                    let is_party = |agent: &Pattern| {
                        agent.is_all()
                            || agent.matches(&routing.from_agent_id)
                            || agent.matches(&routing.to_agent_id)
                    };
                    let is_chosen = agents.iter().any(is_party)
                        && (states.is_empty() || states.contains(&state));
                    is_chosen.then_some((STATE, body))
                })
            }
            _ => None,
        };
        if let Some((kind, body)) = body {
            records.push(NewRecord {
                topic: rule.to.clone(),
                key: key(rule.key, event, &routing),
                headers: headers(kind, event, source),
                body: Some(body.into()),
            });
        }
    }
    records
}

/// The records that say on every topic that events are missing there.
pub fn gap(gap: &Gap, rules: &[OutRule], source: &str, time: &str) -> Vec<NewRecord> {
    let mut topics: Vec<&str> = rules.iter().map(|rule| &*rule.to).collect();
    topics.sort_unstable();
    topics.dedup();
    let record = |topic: &str| NewRecord {
        topic: topic.to_owned(),
        key: None,
        headers: envelope(GAP, &format!("gap-after-{}", gap.after), source, time),
        body: Some(body(gap).into()),
    };
    topics.into_iter().map(record).collect()
}

fn is_on(message: &Message, routing: &AgentEventMetadata, topics: &[Pattern]) -> bool {
    let own = || {
        let named = routing.subscriptions.iter().map(String::as_str);
        named.chain([message.task_type()])
    };
    !routing.subscriptions.iter().any(|topic| topic == MARKS)
        && topics
            .iter()
            .any(|topic| topic.is_all() || own().any(|own| !own.is_empty() && topic.matches(own)))
}

/// The topics of Kafka that a message came through.
fn came_via(message: &Message) -> impl Iterator<Item = &str> {
    let via = message.metadata_str(CAME_VIA).split(',');
    via.filter(|topic| !topic.is_empty())
}

fn key(by: KeyBy, event: &AgentEvent, routing: &AgentEventMetadata) -> Option<bytes::Bytes> {
    let key = match by {
        KeyBy::Context => event.context_id(),
        KeyBy::Task => event.task_id(),
        KeyBy::Sender => &routing.from_agent_id,
        KeyBy::Recipient => &routing.to_agent_id,
    };
    given(key).map(Into::into)
}

fn headers(kind: &str, event: &AgentEvent, source: &str) -> Vec<Header> {
    let time = event.timestamp.unwrap_or_default().to_string();
    let mut headers = envelope(kind, &event.event_id, source, &time);
    if let Some(task) = given(event.task_id()) {
        headers.push(Header::text("ce_subject", task));
    }
    if (event.trace_id.len(), event.span_id.len()) == (32, 16) {
        let trace = format!("00-{}-{}-01", event.trace_id, event.span_id);
        headers.push(Header::text("traceparent", trace));
    }
    if let Some(Payload::Message(message)) = &event.payload
        && let Some(via) = given(message.metadata_str(CAME_VIA))
    {
        headers.push(Header::text(VIA, via));
    }
    headers
}

fn envelope(kind: &str, id: &str, source: &str, time: &str) -> Vec<Header> {
    [
        ("ce_id", id),
        ("ce_source", source),
        ("ce_specversion", "1.0"),
        ("ce_time", time),
        ("ce_type", kind),
        ("content-type", "application/json"),
        (SCHEMA_VERSION, VERSION),
    ]
    .map(|(name, value)| Header::text(name, value))
    .into()
}

#[cfg(test)]
mod tests {
    use agenthub_bus::messages::events::{MirroredMessage, TaskStateName};
    use agenthub_sdk::proto::{
        a2a::{
            FilePart, Part, Role, TaskState, TaskStatus, file_part::File, part::Part as Content,
        },
        agenthub::TaskStatusUpdateEvent,
        wkt::Timestamp,
    };
    use serde_json::Value;

    use super::{bodies::LONGEST_BODY, *};

    fn rule(events: Events, to: &str, key: KeyBy) -> OutRule {
        OutRule {
            events,
            to: to.to_owned(),
            key,
        }
    }

    fn messages(topic: &str) -> Events {
        Events::Messages(vec![topic.parse().expect("a pattern")])
    }

    fn states(agent: &str, states: &[TaskStateName]) -> Events {
        Events::States {
            agents: vec![agent.parse().expect("a pattern")],
            states: states.to_vec(),
        }
    }

    fn message() -> Message {
        Message {
            message_id: "m1".to_owned(),
            context_id: "c1".to_owned(),
            task_id: "t1".to_owned(),
            ..Message::new(Role::User, "good day")
        }
        .with_metadata("task_type", "greet")
    }

    fn event(payload: Payload) -> AgentEvent {
        AgentEvent {
            event_id: "e1".to_owned(),
            timestamp: Some(Timestamp {
                seconds: 1,
                nanos: 0,
            }),
            payload: Some(payload),
            routing: Some(AgentEventMetadata {
                from_agent_id: "asker".to_owned(),
                to_agent_id: "worker".to_owned(),
                subscriptions: vec!["orders.new".to_owned()],
                ..Default::default()
            }),
            trace_id: "a".repeat(32),
            span_id: "b".repeat(16),
            position: "0a-5".to_owned(),
            ..Default::default()
        }
    }

    fn status(state: TaskState) -> AgentEvent {
        event(Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: "t1".to_owned(),
            context_id: "c1".to_owned(),
            status: Some(TaskStatus {
                state: state.into(),
                update: Some(Message::new(Role::Agent, "done")),
                ..Default::default()
            }),
            r#final: state.is_terminal(),
            ..Default::default()
        }))
    }

    fn topics(event: &AgentEvent, rules: &[OutRule]) -> Vec<String> {
        let records = records(event, rules, "/hub");
        records.into_iter().map(|record| record.topic).collect()
    }

    #[test]
    fn a_message_is_a_record_with_an_envelope() {
        let rules = [rule(messages("orders.*"), "k", KeyBy::Context)];
        let records = records(&event(Payload::Message(message())), &rules, "/hub");
        let [record] = &records[..] else {
            panic!("{records:?}");
        };
        assert_eq!(record.key.as_deref(), Some(&b"c1"[..]));
        for (name, value) in [
            ("ce_id", "e1"),
            ("ce_source", "/hub"),
            ("ce_subject", "t1"),
            ("ce_type", "agenthub.message"),
            ("ce_time", "1970-01-01T00:00:01Z"),
            ("schema_version", "1"),
            ("content-type", "application/json"),
        ] {
            assert_eq!(record.header(name), Some(value), "{name}");
        }
        let trace = format!("00-{}-{}-01", "a".repeat(32), "b".repeat(16));
        assert_eq!(record.header("traceparent"), Some(&*trace));
        let body: MirroredMessage =
            serde_json::from_slice(record.body.as_deref().expect("a body")).expect("it fits");
        assert_eq!(body.task_type.as_deref(), Some("greet"));
        assert_eq!(body.parts[0].text.as_deref(), Some("good day"));
        assert_eq!(body.recipient.as_deref(), Some("worker"));
    }

    #[test]
    fn messages_are_chosen_by_topic_and_task_type_each_once_for_a_topic_of_kafka() {
        let said = event(Payload::Message(message()));
        let of = |patterns: &[&str]| {
            let rules: Vec<_> = patterns
                .iter()
                .map(|topic| rule(messages(topic), "k", KeyBy::Task))
                .collect();
            topics(&said, &rules).len()
        };
        assert_eq!(of(&["orders.new"]), 1);
        assert_eq!(of(&["greet"]), 1);
        assert_eq!(of(&["orders.old", "gr"]), 0);
        assert_eq!(of(&["*", "orders.*"]), 1, "both name one topic of Kafka");
        let fleeting = AgentEvent {
            position: String::new(),
            ..said.clone()
        };
        let all = [rule(messages("*"), "k", KeyBy::Task)];
        assert_eq!(topics(&fleeting, &all).len(), 0, "it is in no log");
        let mut mark = said;
        mark.routing.as_mut().expect("routing").subscriptions = vec![MARKS.to_owned()];
        assert_eq!(topics(&mark, &all).len(), 0, "it marks a place");
    }

    #[test]
    fn what_came_from_a_topic_does_not_go_to_it_again() {
        let came = event(Payload::Message(message().with_metadata(CAME_VIA, "a,b")));
        let rules = ["a", "b", "c"].map(|to| rule(messages("*"), to, KeyBy::Context));
        assert_eq!(topics(&came, &rules), ["c"]);
        let onward = records(&came, &rules, "/hub");
        assert_eq!(onward[0].header(VIA), Some("a,b"));
    }

    #[test]
    fn states_are_chosen_by_agent_and_state() {
        let done = status(TaskState::Completed);
        let one = |events| topics(&done, &[rule(events, "k", KeyBy::Task)]).len();
        assert_eq!(one(states("asker", &[])), 1, "who reports");
        assert_eq!(one(states("worker", &[])), 1, "who is told");
        assert_eq!(one(states("else", &[])), 0);
        assert_eq!(one(states("*", &[TaskStateName::Failed])), 0);
        let rules = [rule(
            states("*", &[TaskStateName::Completed]),
            "k",
            KeyBy::Task,
        )];
        let got = records(&done, &rules, "/hub");
        let body: Value =
            serde_json::from_slice(got[0].body.as_deref().expect("a body")).expect("JSON");
        assert_eq!(body["state"], "COMPLETED");
        assert_eq!(body["final"], true);
        assert_eq!(body["parts"][0]["text"], "done");
        assert_eq!(got[0].key.as_deref(), Some(&b"t1"[..]));
    }

    #[test]
    fn a_record_that_kafka_would_not_take_leaves_its_content_out_and_says_so() {
        let large = Message {
            content: vec![Part {
                part: Some(Content::File(FilePart {
                    file: Some(File::FileWithBytes(vec![7; 800 << 10])),
                    ..Default::default()
                })),
                ..Default::default()
            }],
            ..message()
        };
        let rules = [rule(messages("*"), "k", KeyBy::Context)];
        let got = records(&event(Payload::Message(large)), &rules, "/hub");
        let body = got[0].body.as_deref().expect("a body");
        assert!(body.len() < LONGEST_BODY);
        let body: MirroredMessage = serde_json::from_slice(body).expect("it fits");
        assert!(body.parts.is_empty());
        assert!(body.left_out_bytes.is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn a_gap_is_said_on_each_topic_once() {
        let rules = ["a", "b", "a"].map(|to| rule(messages("*"), to, KeyBy::Context));
        let missed = Gap {
            after: "0a-5".to_owned(),
            reason: "it is gone".to_owned(),
        };
        let said = gap(&missed, &rules, "/hub", "1970-01-01T00:00:01Z");
        let on: Vec<&str> = said.iter().map(|record| &*record.topic).collect();
        assert_eq!(on, ["a", "b"]);
        assert_eq!(said[0].header("ce_type"), Some("agenthub.events.missed"));
    }
}
