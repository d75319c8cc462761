//! Conversions between Protobuf and JSON.

use std::sync::LazyLock;

use prost::Name;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use prost_types::{ListValue, Struct, Value, value::Kind};
use serde_json::Value as Json;

/// Descriptors of all `.proto` files.
pub(crate) static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(crate::FILE_DESCRIPTOR_SET).expect("the build made these descriptors")
});

/// A message as canonical Protobuf JSON (camelCase names, enum names, RFC 3339 times), without default values.
pub fn of<M: prost::Message + Name>(message: &M) -> Json {
    let descriptor = POOL
        .get_message_by_name(&M::full_name())
        .expect("every generated type is in the descriptor pool");
    let mut dynamic = DynamicMessage::new(descriptor);
    dynamic
        .transcode_from(message)
        .expect("a message decodes as its own type");
    dynamic
        .serialize_with_options(serde_json::value::Serializer, &SerializeOptions::new())
        .expect("a message serializes into a JSON value")
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
