//! The request that brings a notification (specification §4.3.3).

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::{SigningKey, store::NextNotification};

/// Media type of what is sent.
const A2A_JSON: &str = "application/a2a+json";

/// Media type of what receivers of A2A 0.3 get.
const JSON: &str = "application/json";

/// The client's token (`TaskPushNotificationConfig.token`).
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// Headers of Standard Webhooks. The id is that of the notification, the same in each attempt.
const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// The headers of an attempt at this time, in Unix seconds.
pub(super) fn headers(
    front: &NextNotification,
    body: &[u8],
    now_s: u64,
    key: Option<&SigningKey>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut set = |name: HeaderName, value: &str, is_secret: bool| {
        // Values were checked as they came.
        if let Ok(mut value) = HeaderValue::from_str(value) {
            value.set_sensitive(is_secret);
            headers.insert(name, value);
        }
    };
    let content_type = if front.is_old { JSON } else { A2A_JSON };
    set(header::CONTENT_TYPE, content_type, false);
    let agent = concat!("agenthub/", env!("CARGO_PKG_VERSION"));
    set(header::USER_AGENT, agent, false);
    if !front.config.token.is_empty() {
        set(TOKEN, &front.config.token, true);
    }
    if let Some(authorization) = front.config.authorization() {
        set(header::AUTHORIZATION, &authorization, true);
    }
    set(ID, &front.id, false);
    set(TIMESTAMP, &now_s.to_string(), false);
    if let Some(key) = key {
        set(SIGNATURE, &key.sign(&front.id, now_s, body), false);
    }
    headers
}
