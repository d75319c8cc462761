//! A2A's JSON: the proto3 mapping of its types (specification §5.5, §5.6). Unknown fields are ignored, null is no value, and what is
//! wrong is named with its place.

use std::sync::LazyLock;

use agenthub_sdk::proto::json::of_dynamic;
use prost::{Message, Name};
use prost_reflect::{
    DescriptorPool, DeserializeOptions, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor,
};
use serde_json::Value;

/// The types of `a2a.proto`.
static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(crate::FILE_DESCRIPTOR_SET).expect("the build made these descriptors")
});

/// A value that is not of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{description}", self.field, if self.field.is_empty() { "" } else { ": " })]
pub struct Malformed {
    /// Path of the field, such as `message.parts[0].text`; empty for the whole.
    pub field: String,
    /// The fault.
    pub description: String,
}

/// A message as JSON, without fields that have their default value.
pub fn to_json<M: Message + Name>(message: &M) -> Value {
    let mut dynamic = DynamicMessage::new(descriptor::<M>());
    dynamic
        .transcode_from(message)
        .expect("a message decodes as its own type");
    let mut json = of_dynamic(dynamic);
    write_whole_numbers(&mut json);
    json
}

/// Numbers of a `Struct` are doubles; whole ones are written without a fraction, as they came.
fn write_whole_numbers(json: &mut Value) {
    /// Above this a double no longer holds every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match json {
        Value::Number(number) if number.is_f64() => {
            if let Some(n) = number.as_f64()
                && n.fract() == 0.0
                && n.abs() <= EXACT
            {
                *json = (n as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(write_whole_numbers),
        _ => {}
    }
}

/// A message from JSON.
///
/// # Errors
///
/// The first field whose value is not of its type.
pub fn from_json<M: Message + Name + Default>(mut json: Value) -> Result<M, Malformed> {
    let descriptor = descriptor::<M>();
    prune(&descriptor, &mut json);
    let mut track = serde_path_to_error::Track::new();
    let deserializer = serde_path_to_error::Deserializer::new(json, &mut track);
    let options = DeserializeOptions::new().deny_unknown_fields(true);
    let read = DynamicMessage::deserialize_with_options(descriptor, deserializer, &options);
    let dynamic = read.map_err(|error| Malformed {
        field: match track.path().to_string() {
            path if path == "." => String::new(),
            path => path,
        },
        description: error.to_string(),
    })?;
    dynamic.transcode_to().map_err(|error| Malformed {
        field: String::new(),
        description: error.to_string(),
    })
}

/// Parses a document.
///
/// # Errors
///
/// The place where it is no JSON.
pub fn parse(document: &[u8]) -> Result<Value, Malformed> {
    serde_json::from_slice(document).map_err(|error| Malformed {
        field: String::new(),
        description: format!("no JSON: {error}"),
    })
}

fn descriptor<M: Name>() -> MessageDescriptor {
    POOL.get_message_by_name(&M::full_name())
        .expect("every generated type is in the descriptor pool")
}

/// Leaves out what a message of this type has no field for, and fields without a value.
fn prune(descriptor: &MessageDescriptor, json: &mut Value) {
    let Value::Object(fields) = json else { return };
    if is_well_known(descriptor) {
        return;
    }
    fields.retain(|name, value| {
        let Some(field) = field(descriptor, name) else {
            return false;
        };
        if value.is_null() && !takes_null(&field) {
            return false;
        }
        prune_field(&field, value);
        true
    });
}

fn prune_field(field: &FieldDescriptor, value: &mut Value) {
    if field.is_map() {
        let Kind::Message(entry) = field.kind() else {
            return;
        };
        let (Kind::Message(inner), Value::Object(values)) =
            (entry.map_entry_value_field().kind(), value)
        else {
            return;
        };
        for value in values.values_mut() {
            prune(&inner, value);
        }
        return;
    }
    let Kind::Message(inner) = field.kind() else {
        return;
    };
    match value {
        Value::Array(items) if field.is_list() => {
            for item in items {
                prune(&inner, item);
            }
        }
        value => prune(&inner, value),
    }
}

fn field(descriptor: &MessageDescriptor, name: &str) -> Option<FieldDescriptor> {
    descriptor
        .get_field_by_json_name(name)
        .or_else(|| descriptor.get_field_by_name(name))
}

/// True if null is a value of this field.
fn takes_null(field: &FieldDescriptor) -> bool {
    !field.is_list()
        && !field.is_map()
        && matches!(field.kind(), Kind::Message(m) if m.full_name() == "google.protobuf.Value")
}

fn is_well_known(descriptor: &MessageDescriptor) -> bool {
    descriptor.parent_file().package_name() == "google.protobuf"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1;
    use serde_json::json;

    fn fault<M: Message + Name + Default + std::fmt::Debug>(json: Value) -> String {
        from_json::<M>(json)
            .map(|message| format!("{message:?}"))
            .expect_err("it is malformed")
            .to_string()
    }

    /// spec: A2A 1.0.1 §5.7
    #[test]
    fn unknown_fields_are_ignored_and_null_is_no_value() {
        let message: v1::Message = from_json(json!({
            "messageId": "m", "role": "ROLE_USER", "colour": {"deep": [1]}, "extensions": null, "metadata": null,
            "parts": [{"text": "hi", "kind": "text"}, {"data": null}, {"data": {"kind": 1}}],
        }))
        .expect("it is one");
        assert_eq!(
            message.parts[0].content,
            Some(v1::part::Content::Text("hi".into()))
        );
        assert!(matches!(
            message.parts[1].content,
            Some(v1::part::Content::Data(_))
        ));
        assert_eq!(to_json(&message)["parts"][2], json!({"data": {"kind": 1}}));
    }

    /// spec: A2A 1.0.1 §5.5
    #[test]
    fn names_are_exact_and_wrong_values_are_named() {
        let send = |message: Value| fault::<v1::SendMessageRequest>(json!({"message": message}));
        assert!(send(json!({"role": "user"})).starts_with("message.role: "));
        let parts = send(json!({"parts": [{"text": "a"}, {"text": 5}]}));
        assert!(parts.starts_with("message.parts[1]"), "{parts}");
        let status = fault::<v1::ListTasksRequest>(json!({"status": "working"}));
        assert!(status.starts_with("status: "), "{status}");
        let size = fault::<v1::ListTasksRequest>(json!({"pageSize": 4_294_967_296_u64}));
        assert!(size.starts_with("pageSize: "), "{size}");
        assert!(fault::<v1::GetTaskRequest>(json!([1])).contains("invalid type"));
    }

    /// spec: A2A 1.0.1 §5.6.1
    #[test]
    fn timestamps_are_written_in_utc() {
        let read: v1::TaskStatus = from_json(json!({
            "state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2025-10-28T10:30:00.120Z",
        }))
        .expect("it is one");
        assert_eq!(
            to_json(&read),
            json!({"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2025-10-28T10:30:00.120Z"})
        );
    }

    #[test]
    fn what_is_no_json_is_said_with_its_place() {
        assert_eq!(parse(b"{\"a\": [1, null]}"), Ok(json!({"a": [1, null]})));
        let fault = parse(b"{\"a\": ").expect_err("it breaks off").to_string();
        assert!(fault.contains("line 1"), "{fault}");
    }
}
