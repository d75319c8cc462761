//! Answers in JSON and as events.

use std::{convert::Infallible, time::Duration};

use agenthub_access::StreamPermit;
use agenthub_sdk::proto::retry_after;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::Stream;
use serde_json::Value;

use crate::error::Error;

/// Media type of A2A's JSON over HTTP (specification §14.1).
pub(super) const A2A_JSON: &str = "application/a2a+json";

/// Media type of JSON-RPC.
pub(super) const JSON: &str = "application/json";

/// Interval at which a stream without events says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(super) fn json(status: StatusCode, media_type: &'static str, value: &Value) -> Response {
    written(status, media_type, value.to_string())
}

/// A document that is JSON already.
pub(super) fn written(status: StatusCode, media_type: &'static str, document: String) -> Response {
    let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static(media_type))];
    (status, content_type, document).into_response()
}

/// Each document as the data of an event. The permit goes to who counts streams.
pub(super) fn events(
    documents: impl Stream<Item = String> + Send + 'static,
    permit: StreamPermit,
) -> Response {
    use futures_util::StreamExt;
    let events = documents.map(|document| Ok::<_, Infallible>(Event::default().data(document)));
    let heartbeat = KeepAlive::new().interval(HEARTBEAT);
    let mut answer = Sse::new(events).keep_alive(heartbeat).into_response();
    answer.extensions_mut().insert(permit);
    answer
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

/// Says in a response when to come back, if the error knows (RFC 9110 §10.2.3).
pub(super) fn come_back(response: &mut Response, error: &Error) {
    if let Some(after) = error.retry_after {
        retry_after::ask(response.headers_mut(), after);
    }
}
