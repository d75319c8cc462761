//! Which message a record becomes, or why none.

use agenthub_bus::{
    Header, NewRecord, Partition, Record,
    messages::{REASON, TASK_ID, dead_letters, events::VIA},
};
use agenthub_sdk::proto::{
    a2a::{FilePart, Message, Part, Role, file_part::File, part::Part as Content},
    agenthub::AgentEventMetadata,
    json::from_value,
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{
    outgoing::CAME_VIA,
    settings::{InRule, Target},
};

/// Header with the conversation of a record; without it, it is the record's key.
pub const CONTEXT_ID: &str = "context_id";

/// Header with the skill or kind of work, where the settings name none.
pub const TASK_TYPE: &str = "task_type";

/// Header of a record that was put aside: partition and offset of what it was.
pub const PLACE: &str = "dead_letter_place";

/// Field of a message's metadata with what is known of its record.
pub const FROM_KAFKA: &str = "kafka";

/// Longest id on the hub that is written out.
const LONGEST_ID: usize = 200;

/// Longest headers that a message carries along, in bytes; the hub takes metadata of 16 KiB.
const LONGEST_HEADERS: usize = 8 << 10;

/// Outcome of a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// This message.
    Message(Box<Incoming>),
    /// Nothing, as it came from the same hub.
    Own,
    /// It is put aside for this reason.
    Misfit(String),
}

/// A message for the hub.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    /// The message. Its id is the same however often the record is read.
    pub message: Message,
    /// Its receiver.
    pub routing: AgentEventMetadata,
}

/// Decides about a record of a topic, for a hub with this `ce_source`.
pub fn fate(record: &Record, rule: &InRule, source: &str) -> Fate {
    if record.header("ce_source") == Some(source) {
        return Fate::Own;
    }
    match incoming(record, rule) {
        Ok(incoming) => Fate::Message(Box::new(incoming)),
        Err(why) => Fate::Misfit(why),
    }
}

/// The record that is put aside instead of one.
pub fn dead_letter(record: &Record, why: &str) -> NewRecord {
    let place = format!(
        "{}/{}/{}",
        record.partition.topic, record.partition.number, record.offset
    );
    let own = [Header::text(REASON, why), Header::text(PLACE, place)];
    NewRecord {
        topic: dead_letters(&record.partition.topic),
        key: record.key.clone(),
        headers: record.headers.iter().cloned().chain(own).collect(),
        body: record.body.clone(),
    }
}

fn incoming(record: &Record, rule: &InRule) -> Result<Incoming, String> {
    let content = vec![part(record)?];
    let message_id = message_id(record);
    let key = match &record.key {
        None => None,
        Some(key) => match std::str::from_utf8(key) {
            Ok("") => None,
            Ok(key) => Some(key),
            Err(_) => {
                return Err("its key is no UTF-8; the conversation is named by the key, or by the header context_id".to_owned());
            }
        },
    };
    let context_id = record.header(CONTEXT_ID).or(key).unwrap_or(&message_id);
    let task_id = match (&rule.target, record.header(TASK_ID)) {
        (_, Some(task)) => task.to_owned(),
        (Target::Agent(_), None) => {
            let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, message_id.as_bytes());
            format!("kafka-{}", id.simple())
        }
        (Target::Topic(_), None) => String::new(),
    };
    let mut message = Message {
        message_id: message_id.clone(),
        context_id: context_id.to_owned(),
        task_id,
        role: Role::User.into(),
        content,
        ..Message::default()
    };
    let task_type = rule.task_type.as_deref().or(record.header(TASK_TYPE));
    if let Some(task_type) = task_type {
        message = message.with_metadata(TASK_TYPE, task_type);
    }
    let via = match record.header(VIA) {
        Some(via) if !via.is_empty() => format!("{via},{}", record.partition.topic),
        _ => record.partition.topic.clone(),
    };
    message = message
        .with_metadata(CAME_VIA, via)
        .with_metadata(FROM_KAFKA, origin(record, key)?);
    let mut routing = AgentEventMetadata {
        event_type: "kafka.record".to_owned(),
        traceparent: record.header("traceparent").unwrap_or_default().to_owned(),
        ..AgentEventMetadata::default()
    };
    match &rule.target {
        Target::Agent(agent) => routing.to_agent_id.clone_from(agent),
        Target::Topic(topic) => {
            routing.event_type.clone_from(topic);
            routing.subscriptions = vec![topic.clone()];
            routing.matching_only = true;
        }
    }
    Ok(Incoming { message, routing })
}

/// The place of the record that a message was.
pub fn place(message: &Message) -> Option<(Partition, i64)> {
    let origin = message.metadata.as_ref()?.fields.get(FROM_KAFKA)?;
    let origin = from_value(origin);
    let partition = Partition {
        topic: origin["topic"].as_str()?.to_owned(),
        number: origin["partition"].as_f64()? as i32,
    };
    Some((partition, origin["offset"].as_str()?.parse().ok()?))
}

/// The id of the event where the record says it as CloudEvents has it; else the record's place, with its time, so that a topic that was made anew has others.
fn message_id(record: &Record) -> String {
    if let (Some(source), Some(id)) = (record.header("ce_source"), record.header("ce_id")) {
        let event = Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{source}\0{id}").as_bytes());
        return format!("cloudevent-{}", event.simple());
    }
    let place = format!(
        "kafka/{}/{}/{}@{}",
        record.partition.topic,
        record.partition.number,
        record.offset,
        record.timestamp_ms.unwrap_or_default()
    );
    match place.len() <= LONGEST_ID {
        true => place,
        false => {
            let short = Uuid::new_v5(&Uuid::NAMESPACE_URL, place.as_bytes());
            format!("kafka-{}", short.simple())
        }
    }
}

/// The content of a record, by its content type.
fn part(record: &Record) -> Result<Part, String> {
    let body = match &record.body {
        Some(body) if !body.is_empty() => body,
        Some(_) | None => return Err("it has no body".to_owned()),
    };
    let text =
        || std::str::from_utf8(body).map_err(|error| format!("its body is no UTF-8: {error}"));
    let Some(content_type) = record.header("content-type") else {
        // Without a word about it, a structure is taken for one, and all else for text.
        let text = std::str::from_utf8(body).map_err(|_| {
            "its body is no UTF-8: name what it is in the header content-type".to_owned()
        })?;
        return Ok(match serde_json::from_str::<Value>(text) {
            Ok(data @ (Value::Object(_) | Value::Array(_))) => Part::data(&data),
            _ => Part::text(text),
        });
    };
    let kind = content_type.split(';').next().unwrap_or_default();
    let kind = kind.trim().to_ascii_lowercase();
    if kind == "application/json" || kind.ends_with("+json") {
        let data: Value = serde_json::from_slice(body)
            .map_err(|error| format!("its body is no JSON, as its content type says: {error}"))?;
        return Ok(Part::data(&data));
    }
    if kind.starts_with("text/") {
        return text().map(Part::text);
    }
    Ok(Part {
        part: Some(Content::File(FilePart {
            file: Some(File::FileWithBytes(body.to_vec())),
            mime_type: kind,
            name: String::new(),
        })),
        ..Part::default()
    })
}

/// Metadata of the message about its record.
fn origin(record: &Record, key: Option<&str>) -> Result<Value, String> {
    let mut headers = Map::new();
    let mut bytes = 0;
    for Header { name, .. } in &record.headers {
        if let Some(value) = record.header(name) {
            bytes += name.len() + value.len();
            headers.insert(name.clone(), json!(value));
        }
    }
    if bytes > LONGEST_HEADERS {
        return Err(format!(
            "its headers have {bytes} bytes; at most {LONGEST_HEADERS} go along with a message"
        ));
    }
    Ok(json!({
        "topic": record.partition.topic,
        "partition": record.partition.number,
        // As a text, since numbers of metadata are not exact beyond 2^53.
        "offset": record.offset.to_string(),
        "key": key,
        "headers": headers,
    }))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn record(headers: &[(&str, &str)], body: &'static [u8]) -> Record {
        Record {
            partition: Partition {
                topic: "orders".to_owned(),
                number: 2,
            },
            offset: 41,
            timestamp_ms: Some(1_700_000_000_000),
            key: Some(Bytes::from_static(b"order-7")),
            headers: headers
                .iter()
                .map(|(name, value)| Header::text(*name, *value))
                .collect(),
            body: Some(Bytes::from_static(body)),
        }
    }

    fn to_agent() -> InRule {
        InRule {
            from: "orders".to_owned(),
            target: Target::Agent("agent_echo".to_owned()),
            task_type: None,
        }
    }

    fn to_topic() -> InRule {
        InRule {
            target: Target::Topic("orders.new".to_owned()),
            task_type: Some("order".to_owned()),
            ..to_agent()
        }
    }

    fn taken(record: &Record, rule: &InRule) -> Incoming {
        match fate(record, rule, "/hub") {
            Fate::Message(incoming) => *incoming,
            other => panic!("{other:?}"),
        }
    }

    fn misfit(record: &Record) -> String {
        match fate(record, &to_agent(), "/hub") {
            Fate::Misfit(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_record_is_a_task_for_an_agent_under_ids_that_do_not_change() {
        let first = taken(&record(&[], b"good day"), &to_agent());
        assert_eq!(first, taken(&record(&[], b"good day"), &to_agent()));
        assert_eq!(first.message.message_id, "kafka/orders/2/41@1700000000000");
        assert!(first.message.task_id.starts_with("kafka-"));
        let read = record(&[], b"good day");
        assert_eq!(place(&first.message), Some((read.partition, 41)));
        assert_eq!(first.message.context_id, "order-7", "its key");
        assert_eq!(first.message.text(), "good day");
        assert_eq!(first.routing.to_agent_id, "agent_echo");
        let next = Record {
            offset: 42,
            ..record(&[], b"good day")
        };
        let next = taken(&next, &to_agent()).message;
        assert_ne!(next.task_id, first.message.task_id);
        let anew = Record {
            timestamp_ms: Some(1),
            ..record(&[], b"good day")
        };
        assert_ne!(
            taken(&anew, &to_agent()).message.message_id,
            first.message.message_id
        );
    }

    #[test]
    fn a_record_is_a_message_on_a_topic_of_the_hub() {
        let headers = [("context_id", "c9"), ("traceparent", "00-a-b-01")];
        let Incoming { message, routing } = taken(&record(&headers, b"{\"n\": 1}"), &to_topic());
        assert_eq!(routing.subscriptions, ["orders.new"]);
        assert_eq!(routing.traceparent, "00-a-b-01");
        assert!(routing.matching_only && routing.to_agent_id.is_empty());
        assert_eq!((&*message.context_id, &*message.task_id), ("c9", ""));
        assert_eq!(message.task_type(), "order");
        assert_eq!(message.data().next(), Some(json!({ "n": 1 })));
        assert_eq!(message.metadata_str(CAME_VIA), "orders");
    }

    #[test]
    fn an_event_has_its_own_id_wherever_it_stands() {
        let of = |headers: &[(&str, &str)], offset| {
            let record = Record {
                offset,
                ..record(headers, b"x")
            };
            taken(&record, &to_agent()).message.message_id
        };
        let event = [("ce_id", "1"), ("ce_source", "/shop")];
        assert_eq!(of(&event, 1), of(&event, 2));
        assert_ne!(
            of(&event, 1),
            of(&[("ce_id", "1"), ("ce_source", "/till")], 1)
        );
        assert_ne!(of(&event[..1], 1), of(&event[..1], 2), "it has no source");
    }

    #[test]
    fn the_content_type_says_what_a_body_is() {
        let part = |kind: &str, body| {
            let headers = [("content-type", kind)];
            let message = taken(&record(&headers, body), &to_agent()).message;
            message.content[0].part.clone().expect("a part")
        };
        assert_eq!(
            part("text/csv; charset=utf-8", b"[1]"),
            Content::Text("[1]".to_owned())
        );
        assert!(matches!(
            part("application/cloudevents+json", b"1"),
            Content::Data(_)
        ));
        let Content::File(file) = part("image/png", b"\xff\x00") else {
            panic!("no file");
        };
        assert_eq!(file.mime_type, "image/png");
        // Without one, a structure is data and all else is text.
        let plain = taken(&record(&[], b"12"), &to_agent()).message;
        assert_eq!(plain.text(), "12");
    }

    #[test]
    fn what_does_not_fit_is_put_aside_as_it_came_with_the_reason() {
        let json = record(&[("content-type", "application/json")], b"{not");
        let why = misfit(&json);
        assert!(why.contains("no JSON"), "{why}");
        let aside = dead_letter(&json, &why);
        assert_eq!(aside.topic, "orders.dlq");
        assert_eq!(
            (aside.key.clone(), aside.body.clone()),
            (json.key.clone(), json.body.clone())
        );
        assert_eq!(aside.header("dead_letter_reason"), Some(&*why));
        assert_eq!(aside.header("dead_letter_place"), Some("orders/2/41"));
        assert_eq!(aside.header("content-type"), Some("application/json"));

        assert!(misfit(&record(&[], b"\xff")).contains("content-type"));
        assert!(misfit(&record(&[("content-type", "text/plain")], b"\xff")).contains("no UTF-8"));
        let empty = Record {
            body: None,
            ..record(&[], b"")
        };
        assert_eq!(misfit(&empty), "it has no body");
        let key = Record {
            key: Some(Bytes::from_static(b"\xff")),
            ..record(&[], b"x")
        };
        assert!(misfit(&key).contains("key"));
        let long = "x".repeat(9_000);
        assert!(misfit(&record(&[("h", &long)], b"x")).contains("headers"));
    }

    #[test]
    fn what_the_hub_gave_is_not_taken_again_and_the_way_of_the_rest_is_kept() {
        let own = record(&[("ce_source", "/hub"), ("ce_id", "1")], b"x");
        assert_eq!(fate(&own, &to_agent(), "/hub"), Fate::Own);
        let other = record(
            &[("ce_source", "/other"), ("ce_id", "1"), (VIA, "a,b")],
            b"x",
        );
        let message = taken(&other, &to_agent()).message;
        assert_eq!(message.metadata_str(CAME_VIA), "a,b,orders");
    }
}
