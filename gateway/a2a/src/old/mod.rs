//! A2A 0.3 as its clients write and read it over JSON-RPC: objects with a `kind`, states and roles in lower case.

mod answers;
mod config;
mod message;
mod task;

use serde_json::{Value, json};

pub(crate) use self::{
    answers::{read_send, read_stream, read_task, send_params},
    config::{config, config_params, set_config_request},
    task::{send_response, stream_response, task},
};
use crate::{
    json::{Malformed, from_json},
    v1,
};

/// The methods that are answered.
pub(crate) const METHODS: [&str; 9] = [
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/pushNotificationConfig/set",
    "tasks/pushNotificationConfig/get",
    "tasks/pushNotificationConfig/list",
    "tasks/pushNotificationConfig/delete",
];

/// The parameters of `message/send` and `message/stream`.
///
/// # Errors
///
/// The field that is wrong.
pub(crate) fn send_request(mut params: Value) -> Result<v1::SendMessageRequest, Malformed> {
    let message = message::to_one(params["message"].take())?;
    let mut configuration = params["configuration"].take();
    let is_blocking = configuration["blocking"].as_bool().unwrap_or(true);
    let push = take(&mut configuration, "pushNotificationConfig");
    if configuration.is_null() {
        configuration = json!({});
    }
    if !configuration.is_object() {
        return Err(Malformed {
            field: "configuration".to_owned(),
            description: "it is an object".to_owned(),
        });
    }
    if !push.is_null() {
        configuration["taskPushNotificationConfig"] = config::to_one(push);
    }
    configuration["returnImmediately"] = (!is_blocking).into();
    from_json(json!({
        "message": message,
        "configuration": configuration,
        "metadata": params["metadata"],
    }))
}

/// Takes a field out of a value, which may be none that has fields.
fn take(value: &mut Value, key: &str) -> Value {
    value.get_mut(key).map(Value::take).unwrap_or_default()
}
