//! `Retry-After` of an answer over HTTP (RFC 9110 §10.2.3).

use std::time::{Duration, SystemTime};

use tonic::codegen::http::{HeaderMap, HeaderValue, header};

/// The pause that an answer asks for, in seconds or until a time.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let at = httpdate::parse_http_date(text).ok()?;
            Some(at.duration_since(now).unwrap_or_default())
        }
    }
}

/// Asks in an answer for this pause.
pub fn ask(headers: &mut HeaderMap, pause: Duration) {
    let seconds = HeaderValue::from(whole_seconds(pause));
    headers.insert(header::RETRY_AFTER, seconds);
}

/// A time in the whole seconds that the header counts, at least one.
pub fn whole_seconds(after: Duration) -> u64 {
    after
        .as_secs()
        .saturating_add(u64::from(after.subsec_nanos() > 0))
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_never_shorter_than_it_was_asked_for() {
        for (milliseconds, seconds) in [(0, "1"), (1, "1"), (1_000, "1"), (1_001, "2")] {
            let mut headers = HeaderMap::new();
            ask(&mut headers, Duration::from_millis(milliseconds));
            assert_eq!(headers[header::RETRY_AFTER], seconds);
        }
    }

    #[test]
    fn an_answer_asks_for_a_pause_in_seconds_or_until_a_time() {
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
