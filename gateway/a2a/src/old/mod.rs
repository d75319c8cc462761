//! A2A 0.3 as its clients write and read it over JSON-RPC: objects with a `kind`, states and roles in lower case.

mod answers;
mod message;
mod task;

use serde_json::{Value, json};

pub(crate) use self::{
    answers::{read_send, read_stream, read_task, send_params},
    task::{send_response, stream_response, task},
};
use crate::{
    json::{Malformed, from_json},
    v1,
};

/// The methods that are answered.
pub(crate) const METHODS: [&str; 5] = [
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/cancel",
    "tasks/resubscribe",
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
    let push = configuration["pushNotificationConfig"].take();
    if configuration.is_null() {
        configuration = json!({});
    }
    if !push.is_null() {
        configuration["taskPushNotificationConfig"] = push;
    }
    configuration["returnImmediately"] = (!is_blocking).into();
    from_json(json!({
        "message": message,
        "configuration": configuration,
        "metadata": params["metadata"],
    }))
}
