//! Configurations of push notifications.

use serde_json::{Value, json};

use super::take;
use crate::{
    json::{Malformed, from_json, to_json},
    v1::TaskPushNotificationConfig,
};

/// The parameters of `tasks/pushNotificationConfig/set`. A task has one configuration unless its client gives ids.
///
/// # Errors
///
/// The field that is wrong.
pub(crate) fn set_config_request(
    mut params: Value,
) -> Result<TaskPushNotificationConfig, Malformed> {
    let mut one = to_one(take(&mut params, "pushNotificationConfig"));
    let task_id = take(&mut params, "taskId");
    if one["id"].is_null() {
        one["id"] = task_id.clone();
    }
    one["taskId"] = task_id;
    from_json(one)
}

/// The parameters of the other methods, where `id` is the task's.
pub(crate) fn config_params(mut params: Value) -> Value {
    json!({"taskId": take(&mut params, "id"), "id": take(&mut params, "pushNotificationConfigId")})
}

/// A `PushNotificationConfig` of 0.3, which has several schemes; the first one is used.
pub(super) fn to_one(mut config: Value) -> Value {
    let mut authentication = take(&mut config, "authentication");
    let mut one = json!({});
    for key in ["id", "url", "token"] {
        one[key] = take(&mut config, key);
    }
    if !authentication.is_null() {
        let mut schemes = take(&mut authentication, "schemes");
        let scheme = schemes.get_mut(0).map(Value::take);
        one["authentication"] =
            json!({"scheme": scheme, "credentials": take(&mut authentication, "credentials")});
    }
    one
}

/// A configuration as 0.3 writes it.
pub(crate) fn config(config: &TaskPushNotificationConfig) -> Value {
    let mut one = to_json(config);
    let mut old = json!({});
    for key in ["id", "url", "token"] {
        if let Some(value) = one.get_mut(key) {
            old[key] = value.take();
        }
    }
    let mut authentication = take(&mut one, "authentication");
    if let Some(scheme) = authentication.get_mut("scheme") {
        old["authentication"] = json!({"schemes": [scheme.take()]});
    }
    json!({"taskId": take(&mut one, "taskId"), "pushNotificationConfig": old})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_of_0_3_is_read_and_written_back() {
        let old = json!({"url": "https://hook.example/", "token": "t", "authentication": {"schemes": ["Bearer"], "credentials": "c"}});
        let read = set_config_request(json!({"taskId": "1", "pushNotificationConfig": old}));
        let read = read.expect("right");
        assert_eq!((read.task_id.as_str(), read.id.as_str()), ("1", "1"));
        let auth = read.authentication.clone().unwrap_or_default();
        assert_eq!(
            (auth.scheme.as_str(), auth.credentials.as_str()),
            ("Bearer", "c")
        );
        let written = json!({"id": "1", "url": "https://hook.example/", "token": "t", "authentication": {"schemes": ["Bearer"]}});
        assert_eq!(
            config(&read),
            json!({"taskId": "1", "pushNotificationConfig": written})
        );
        let params = config_params(json!({"id": "1", "pushNotificationConfigId": "2"}));
        assert_eq!(params, json!({"taskId": "1", "id": "2"}));
        let wrong =
            set_config_request(json!({"taskId": "1", "pushNotificationConfig": {"url": 5}}));
        assert_eq!(wrong.expect_err("no url").field, "url");
        for odd in [
            json!(5),
            json!({"url": "u", "authentication": 5}),
            json!([]),
        ] {
            let read = set_config_request(json!({"taskId": "1", "pushNotificationConfig": odd}));
            assert!(read.is_ok_and(|read| read.authentication.is_none_or(|a| a.scheme.is_empty())));
        }
    }
}
