//! HTTP as both of its bindings use it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_outbound::{Body, Connector, Limits};
use agenthub_sdk::proto::retry_after::retry_after;
use async_stream::try_stream;
use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use serde_json::Value;

use super::{
    Failure,
    credentials::{Credentials, RequestCredential},
    failure::of_http,
    sse,
};
use crate::{
    json::parse,
    version::{EXTENSIONS_HEADER, VERSION_HEADER},
};

/// Time without a byte after which a stream is taken for broken. Those that say nothing send heartbeats.
const SILENCE: Duration = Duration::from_secs(90);

/// Size of an answer in bytes.
const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// An address of an agent over HTTP.
#[derive(Clone, Debug)]
pub(super) struct Http {
    pub(super) connector: Connector,
    pub(super) url: Uri,
    pub(super) version: &'static str,
    pub(super) media_type: &'static str,
    pub(super) headers: HeaderMap,
    pub(super) credentials: Option<Arc<Credentials>>,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) method: Method,
    /// Follows the path of the address.
    pub(super) path: String,
    pub(super) query: String,
    pub(super) body: Option<Value>,
    /// Extensions that are asked for.
    pub(super) extensions: Option<HeaderValue>,
}

/// An answer.
pub(super) enum Answer {
    Json(u16, Value),
    Events(Body),
}

impl Http {
    /// Calls; the answer begins within this time. A token that is not accepted is renewed once.
    pub(super) async fn call(&self, call: &Call, time: Duration) -> Result<Answer, Failure> {
        match self.call_once(call, time).await? {
            Answer::Json(401, body) => match &self.credentials {
                Some(credentials) if credentials.renew().await => self.call_once(call, time).await,
                _ => Ok(Answer::Json(401, body)),
            },
            answer => Ok(answer),
        }
    }

    async fn call_once(&self, call: &Call, time: Duration) -> Result<Answer, Failure> {
        let shown = match &self.credentials {
            Some(credentials) => Some(credentials.show().await?),
            None => None,
        };
        let request = self.request(call, shown)?;
        let reply = self.connector.open(request, time).await?;
        let media_type = reply.headers.get(header::CONTENT_TYPE);
        let media_type = media_type.and_then(|t| t.to_str().ok()).unwrap_or_default();
        let is_events = media_type.starts_with("text/event-stream");
        if is_events && reply.status.is_success() {
            return Ok(Answer::Events(reply.body));
        }
        let pause = retry_after(&reply.headers, SystemTime::now());
        let body = reply
            .body
            .collect(MAX_ANSWER, Limits::default().body)
            .await?;
        let json = match parse(&body) {
            Ok(json) => json,
            Err(_) if !reply.status.is_success() => Value::Null,
            Err(malformed) => return Err(malformed.into()),
        };
        match (reply.status.as_u16(), pause) {
            (status @ (429 | 503), Some(_)) => Err(of_http(status, &json).after(pause)),
            (status, _) => Ok(Answer::Json(status, json)),
        }
    }

    fn request(
        &self,
        call: &Call,
        shown: Option<RequestCredential>,
    ) -> Result<Request<Bytes>, Failure> {
        let wrong = |error: String| Failure::Card(format!("its address cannot be called: {error}"));
        let mut query: Vec<&str> = vec![self.url.query().unwrap_or_default(), &call.query];
        if let Some(RequestCredential::Query(pair)) = &shown {
            query.push(pair);
        }
        query.retain(|part| !part.is_empty());
        let mut path = self.url.path().to_owned();
        if !call.path.is_empty() {
            path = format!("{}{}", path.trim_end_matches('/'), call.path);
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let mut parts = self.url.clone().into_parts();
        parts.path_and_query = Some(path.parse().map_err(|_| wrong("its path".to_owned()))?);
        let url = Uri::from_parts(parts).map_err(|error| wrong(error.to_string()))?;
        let body = call.body.as_ref().map(|body| body.to_string());
        let mut request = Request::new(Bytes::from(body.unwrap_or_default()));
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = url;
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        headers.insert(VERSION_HEADER, HeaderValue::from_static(self.version));
        let accept =
            HeaderValue::from_static("application/json, application/a2a+json, text/event-stream");
        headers.insert(header::ACCEPT, accept);
        if let Some(extensions) = &call.extensions {
            headers.append(EXTENSIONS_HEADER, extensions.clone());
        }
        if call.body.is_some() {
            let media_type = HeaderValue::from_static(self.media_type);
            headers.insert(header::CONTENT_TYPE, media_type);
        }
        if let Some(RequestCredential::Header(name, value)) = shown {
            headers.insert(name, value);
        }
        Ok(request)
    }
}

/// The events of an answer, as JSON. It ends when the agent ends it.
pub(super) fn events(mut body: Body) -> impl Stream<Item = Result<Value, Failure>> + Send {
    try_stream! {
        let mut events = sse::Events::default();
        while let Some(piece) = body.next(SILENCE).await {
            let data = events.take(&piece?);
            let data = data.map_err(|error| Failure::Malformed(error.to_string()))?;
            for data in data {
                // Some servers keep a stream alive with events that have none.
                if !data.is_empty() {
                    yield parse(&data)?;
                }
            }
        }
    }
}
