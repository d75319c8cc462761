//! Conversions between Protobuf and JSON.

use std::sync::LazyLock;

use prost::Name;
use prost_reflect::Value as Reflected;
use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage, SerializeOptions};
use prost_types::{ListValue, Struct, Value, value::Kind};
use serde_json::Value as Json;

/// Descriptors of all `.proto` files.
pub(crate) static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(crate::FILE_DESCRIPTOR_SET).expect("the build made these descriptors")
});

/// Time at which the year 9999 ends, in seconds since 1970: the last one that a Protobuf timestamp has.
pub const LAST_SECOND: i64 = 253_402_300_799;

/// A message as canonical Protobuf JSON (camelCase names, enum names, RFC 3339 times), without default values. What JSON has no form for, such as
/// a time after the year 9999, becomes the nearest that it has; a number that is none becomes null.
pub fn of<M: prost::Message + Name>(message: &M) -> Json {
    let descriptor = POOL
        .get_message_by_name(&M::full_name())
        .expect("every generated type is in the descriptor pool");
    let mut dynamic = DynamicMessage::new(descriptor);
    dynamic
        .transcode_from(message)
        .expect("a message decodes as its own type");
    of_dynamic(dynamic)
}

/// The same of a message whose type is known when the program runs.
pub fn of_dynamic(mut dynamic: DynamicMessage) -> Json {
    let json = |message: &DynamicMessage| {
        message.serialize_with_options(serde_json::value::Serializer, &SerializeOptions::new())
    };
    json(&dynamic).unwrap_or_else(|_| {
        mend(&mut dynamic);
        json(&dynamic)
            .unwrap_or_else(|error| serde_json::json!({ "unreadable": error.to_string() }))
    })
}

/// Puts into the nearest form of JSON what has none.
fn mend(message: &mut DynamicMessage) {
    match message.descriptor().full_name() {
        "google.protobuf.Timestamp" => return clamp(message, -62_135_596_800, LAST_SECOND),
        "google.protobuf.Duration" => return clamp(message, -315_576_000_000, 315_576_000_000),
        "google.protobuf.Value" => {
            let number = message.get_field_by_name("number_value");
            let number = number.and_then(|value| value.as_f64());
            if number.is_some_and(|number| !number.is_finite()) {
                message.set_field_by_name("null_value", Reflected::EnumNumber(0));
            }
        }
        _ => {}
    }
    for (_, value) in message.fields_mut() {
        match value {
            Reflected::Message(inner) => mend(inner),
            Reflected::List(items) => items.iter_mut().for_each(mend_value),
            Reflected::Map(entries) => entries.values_mut().for_each(mend_value),
            _ => {}
        }
    }
}

fn mend_value(value: &mut Reflected) {
    if let Reflected::Message(inner) = value {
        mend(inner);
    }
}

/// Bounds a timestamp or a duration.
fn clamp(message: &mut DynamicMessage, least: i64, most: i64) {
    let number = |name: &str| message.get_field_by_name(name);
    let seconds = number("seconds").and_then(|value| value.as_i64());
    let nanos = number("nanos").and_then(|value| value.as_i32());
    let seconds = seconds.unwrap_or_default().clamp(least, most);
    // Those of a duration have its sign.
    let nanos = match (seconds.signum(), message.descriptor().name()) {
        (-1, "Duration") => nanos.unwrap_or_default().clamp(-999_999_999, 0),
        _ => nanos.unwrap_or_default().clamp(0, 999_999_999),
    };
    message.set_field_by_name("seconds", Reflected::I64(seconds));
    message.set_field_by_name("nanos", Reflected::I32(nanos));
}

/// A JSON object as a `Struct`; any other value is put under `value`.
pub fn to_struct(json: &Json) -> Struct {
    match to_value(json).kind {
        Some(Kind::StructValue(s)) => s,
        kind => Struct {
            fields: [("value".to_owned(), Value { kind })].into(),
        },
    }
}

/// A JSON value as a Protobuf `Value`. Numbers become doubles, the only numbers there.
pub fn to_value(json: &Json) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(b) => Kind::BoolValue(*b),
        Json::Number(n) => Kind::NumberValue(n.as_f64().unwrap_or(f64::NAN)),
        Json::String(s) => Kind::StringValue(s.clone()),
        Json::Array(items) => Kind::ListValue(ListValue {
            values: items.iter().map(to_value).collect(),
        }),
        Json::Object(fields) => Kind::StructValue(Struct {
            fields: fields
                .iter()
                .map(|(k, v)| (k.clone(), to_value(v)))
                .collect(),
        }),
    };
    Value { kind: Some(kind) }
}

/// A `Struct` as a JSON object. Whole numbers become integers; values that JSON cannot represent become null.
pub fn from_struct(s: &Struct) -> Json {
    Json::Object(
        s.fields
            .iter()
            .map(|(k, v)| (k.clone(), from_value(v)))
            .collect(),
    )
}

/// A Protobuf `Value` as JSON.
pub fn from_value(value: &Value) -> Json {
    /// Above this a double no longer represents every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match &value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(b)) => Json::Bool(*b),
        Some(Kind::NumberValue(n)) if n.fract() == 0.0 && n.abs() <= EXACT => Json::from(*n as i64),
        Some(Kind::NumberValue(n)) => Json::from(*n),
        Some(Kind::StringValue(s)) => Json::String(s.clone()),
        Some(Kind::ListValue(list)) => Json::Array(list.values.iter().map(from_value).collect()),
        Some(Kind::StructValue(s)) => from_struct(s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn messages_use_canonical_names() {
        let message = a2a::Message {
            message_id: "m1".into(),
            role: a2a::Role::User.into(),
            metadata: Some(to_struct(&json!({"task_type": "echo"}))),
            ..Default::default()
        };
        assert_eq!(
            of(&message),
            json!({"messageId": "m1", "role": "ROLE_USER", "metadata": {"task_type": "echo"}})
        );
    }

    #[test]
    fn what_json_has_no_form_for_becomes_the_nearest() {
        let at = |seconds, nanos| Some(prost_types::Timestamp { seconds, nanos });
        let number = |number| Value {
            kind: Some(Kind::NumberValue(number)),
        };
        let metadata = Struct {
            fields: [
                ("none".to_owned(), number(f64::NAN)),
                ("good".to_owned(), number(1.0)),
            ]
            .into(),
        };
        let routing = crate::agenthub::AgentEventMetadata {
            deadline: at(1_000_000_000_000, -5),
            time_left: Some(prost_types::Duration {
                seconds: i64::MAX,
                nanos: i32::MIN,
            }),
            ..Default::default()
        };
        let message = a2a::Message {
            metadata: Some(metadata),
            ..Default::default()
        };
        let request = crate::agenthub::PublishMessageRequest {
            message: Some(message),
            routing: Some(routing),
            ..Default::default()
        };
        assert_eq!(
            of(&request),
            json!({
                "message": {"metadata": {"none": null, "good": 1.0}},
                "routing": {"deadline": "9999-12-31T23:59:59Z", "timeLeft": "315576000000s"},
            })
        );
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i32>().prop_map(Json::from),
            ".*".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
                prop::collection::hash_map(".*", inner, 0..6)
                    .prop_map(|m| Json::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_comes_back(json in any_json()) {
            prop_assert_eq!(from_value(&to_value(&json)), json);
        }
    }
}
