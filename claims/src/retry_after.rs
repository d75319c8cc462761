//! Calls of clouds: deadlines, retries, and the pause that a store asks for.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use object_store::{
    BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
        HttpService, ReqwestConnector,
    },
};

/// Longest time from the first try of a request to its last.
const RETRYING: Duration = Duration::from_secs(20);

/// Longest time of one try, its answer included.
const TRY: Duration = Duration::from_secs(20);

/// Longest time to connect.
const CONNECTING: Duration = Duration::from_secs(5);

/// The store of these settings, with all that is the same for every cloud.
macro_rules! remote {
    ($settings:expr, $options:expr) => {
        $settings
            .with_client_options($options)
            .with_retry(crate::retry_after::retries())
            .with_http_connector(crate::retry_after::Patient)
            .build()
            .map(|store| {
                std::sync::Arc::new(store) as std::sync::Arc<dyn object_store::ObjectStore>
            })
    };
}
pub(crate) use remote;

/// Deadlines of each try.
pub(crate) fn options() -> ClientOptions {
    ClientOptions::new()
        .with_timeout(TRY)
        .with_connect_timeout(CONNECTING)
}

/// The same, with what the environment says of the way to the store.
pub(crate) fn options_with(find: impl Fn(ClientConfigKey) -> Option<String>) -> ClientOptions {
    let keys = [
        ClientConfigKey::AllowHttp,
        ClientConfigKey::ProxyUrl,
        ClientConfigKey::ProxyCaCertificate,
        ClientConfigKey::ProxyExcludes,
    ];
    let found = keys.into_iter().filter_map(|key| Some((key, find(key)?)));
    found.fold(options(), |options, (key, value)| {
        options.with_config(key, value)
    })
}

/// Retries of what is transient: connecting, timeouts, 408, 429 and 5xx. The pauses are random, and grow from 100 ms to 5 s.
pub(crate) fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries: 8,
        retry_timeout: RETRYING,
    }
}

/// Makes clients that wait as long as a store asks them to, before the pause of the retry.
#[derive(Debug)]
pub(crate) struct Patient;

impl HttpConnector for Patient {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Another thread may have been faster, with the same one.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(PatientClient(client)))
    }
}

#[derive(Debug)]
struct PatientClient(HttpClient);

#[async_trait]
impl HttpService for PatientClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = self.0.execute(request).await?;
        match asked_pause(response.status(), response.headers(), SystemTime::now()) {
            Some(pause) if pause > RETRYING => Err(HttpError::new(
                HttpErrorKind::Unknown,
                TooBusy {
                    status: response.status(),
                    pause,
                },
            )),
            Some(pause) => {
                tokio::time::sleep(pause).await;
                Ok(response)
            }
            None => Ok(response),
        }
    }
}

/// A store that wants to be left alone for longer than a call may take.
#[derive(Debug, thiserror::Error)]
#[error("status {}, to be tried again in {} s", .status.as_u16(), .pause.as_secs())]
struct TooBusy {
    status: StatusCode,
    pause: Duration,
}

/// The pause that an answer asks for: `Retry-After` of 429 and 503, in seconds or as a date (RFC 9110, section 10.2.3).
fn asked_pause(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    if status != StatusCode::TOO_MANY_REQUESTS && status != StatusCode::SERVICE_UNAVAILABLE {
        return None;
    }
    let asked = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match asked.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let date = httpdate::parse_http_date(asked).ok()?;
            Some(date.duration_since(now).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_asked_for_by_busy_stores_in_seconds_or_as_a_date() {
        let now = httpdate::parse_http_date("Wed, 25 Nov 2026 20:00:00 GMT").expect("a date");
        let check = |status: u16, header: &str, expected: Option<u64>| {
            let headers =
                HeaderMap::from_iter([(RETRY_AFTER, header.parse().expect("a header's value"))]);
            let status = StatusCode::from_u16(status).expect("a status");
            let pause = asked_pause(status, &headers, now);
            assert_eq!(
                pause,
                expected.map(Duration::from_secs),
                "{status} {header}"
            );
        };
        check(429, "7", Some(7));
        check(503, " 0 ", Some(0));
        check(503, "Wed, 25 Nov 2026 20:00:30 GMT", Some(30));
        check(503, "Wed, 25 Nov 2026 19:00:00 GMT", Some(0));
        check(503, "soon", None);
        check(500, "7", None);
        check(200, "7", None);
        assert_eq!(
            asked_pause(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), now),
            None
        );
    }
}
