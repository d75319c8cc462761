//! One request to a receiver.

use std::time::{Duration, SystemTime};

use agenthub_outbound::{Connector, Error};
use agenthub_sdk::proto::retry_after::retry_after;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri};

use super::delivery::Answer;

/// The most that is read of an answer's body, and the time for it: nothing is made of it, but the connection can be used again.
const DRAINED_BYTES: usize = 64 * 1024;
const DRAINING: Duration = Duration::from_secs(1);

/// Posts to receivers, through the guarded connector.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) connector: Connector,
}

impl Sender {
    /// Posts a body, and waits this long for the answer.
    pub(super) async fn post(
        &self,
        uri: Uri,
        headers: HeaderMap,
        body: Vec<u8>,
        deadline: Duration,
    ) -> Answer {
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        match self.connector.open(request, deadline).await {
            Ok(reply) => {
                // It is no matter if that fails.
                let _ = reply.body.collect(DRAINED_BYTES, DRAINING).await;
                Answer::Status {
                    code: reply.status.as_u16(),
                    retry_after: retry_after(&reply.headers, SystemTime::now()),
                }
            }
            Err(error @ (Error::Refused { .. } | Error::Url(_))) => {
                Answer::Forbidden(error.to_string())
            }
            Err(error) => Answer::NoResponse(error.to_string()),
        }
    }
}
