//! Deadline of a call: the header `grpc-timeout` of gRPC over HTTP/2.

use std::{convert::Infallible, time::Duration};

use tokio::time::timeout;
use tonic::{
    Status,
    body::Body,
    codegen::http::{HeaderMap, Response},
};

/// The timeout in a call's headers. An invalid value is ignored.
pub(super) fn of(headers: &HeaderMap) -> Option<Duration> {
    const DIGITS: usize = 8;
    let value = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    let is_number = digits.len() <= DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
    let count: u64 = is_number.then(|| digits.parse().ok())??;
    match unit {
        "H" => Some(Duration::from_secs(count * 3600)),
        "M" => Some(Duration::from_secs(count * 60)),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

/// Waits for the answer until the deadline; of a stream, for its beginning.
pub(super) async fn keep(
    within: Option<Duration>,
    answer: impl Future<Output = Result<Response<Body>, Infallible>>,
) -> Response<Body> {
    let answer = match within {
        None => Ok(answer.await),
        Some(within) => timeout(within, answer).await,
    };
    match answer {
        Ok(Ok(answer)) => answer,
        Ok(Err(never)) => match never {},
        Err(_elapsed) => {
            Status::deadline_exceeded("no answer within the deadline of the call").into_http()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    fn check(value: &'static str, expected: Option<Duration>) {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-timeout", value.parse().expect("a header"));
        assert_eq!(of(&headers), expected, "{value}");
    }

    #[test]
    fn deadlines_of_callers() {
        check("3H", Some(Duration::from_secs(10_800)));
        check("2M", Some(Duration::from_secs(120)));
        check("42S", Some(Duration::from_secs(42)));
        check("13m", Some(Duration::from_millis(13)));
        check("99999999u", Some(Duration::from_micros(99_999_999)));
        check("0n", Some(Duration::ZERO));
        for wrong in [
            "",
            "H",
            "5",
            "5s",
            "-5S",
            "+5S",
            "123456789S",
            "5 S",
            "oneH",
            "é",
        ] {
            check(wrong, None);
        }
        assert_eq!(of(&HeaderMap::new()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_takes_too_long_is_given_up() {
        let late = keep(Some(Duration::from_secs(1)), pending()).await;
        assert_eq!(late.headers()["grpc-status"], "4");
        let in_time = keep(Some(Duration::from_secs(1)), async {
            Ok(Response::new(Body::empty()))
        });
        assert!(!in_time.await.headers().contains_key("grpc-status"));
    }
}
