//! Answers in JSON and as events.

use std::{convert::Infallible, time::Duration};

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::Stream;
use serde_json::Value;

/// Media type of A2A's JSON over HTTP (specification §14.1).
pub(super) const A2A_JSON: &str = "application/a2a+json";

/// Media type of JSON-RPC.
pub(super) const JSON: &str = "application/json";

/// Interval at which a stream without events says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(super) fn json(status: StatusCode, media_type: &'static str, value: &Value) -> Response {
    let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static(media_type))];
    (status, content_type, value.to_string()).into_response()
}

/// Each value as the data of an event.
pub(super) fn events(values: impl Stream<Item = Value> + Send + 'static) -> Response {
    use futures_util::StreamExt;
    let events = values.map(|value| Ok::<_, Infallible>(Event::default().data(value.to_string())));
    let heartbeat = KeepAlive::new().interval(HEARTBEAT);
    Sse::new(events).keep_alive(heartbeat).into_response()
}

/// Says in a response of 401 how a caller says who it is.
pub(super) fn challenge(response: &mut Response) {
    if response.status() == StatusCode::UNAUTHORIZED {
        let bearer = HeaderValue::from_static("Bearer");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, bearer);
    }
}
