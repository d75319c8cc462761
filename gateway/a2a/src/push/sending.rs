//! One request to a receiver.

use std::time::{Duration, SystemTime};

use agenthub_outbound::{Connector, Error};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri, header};

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

/// The pause that a receiver asks for, in seconds or until a time.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let at = httpdate::parse_http_date(text).ok()?;
            Some(at.duration_since(now).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_asks_for_a_pause_in_seconds_or_until_a_time() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let asked = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, value.parse().expect("a header"));
            retry_after(&headers, now)
        };
        assert_eq!(asked("120"), Some(Duration::from_secs(120)));
        let later = httpdate::fmt_http_date(now + Duration::from_secs(9));
        assert_eq!(asked(&later), Some(Duration::from_secs(9)));
        let earlier = httpdate::fmt_http_date(now - Duration::from_secs(9));
        assert_eq!(asked(&earlier), Some(Duration::ZERO));
        assert_eq!(asked("soon"), None);
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
