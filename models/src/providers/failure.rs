//! Errors of the crate `genai`, by their meaning to the caller.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::ModelError;

/// Characters of a provider's message that are kept.
const MAX_MESSAGE: usize = 300;

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) error: ModelError,
    /// Time after which the provider wants to be asked again.
    pub(super) retry_after: Option<Duration>,
}

impl Failure {
    /// True if the next attempt may succeed.
    pub(super) fn is_transient(&self) -> bool {
        self.error.is_retryable()
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self {
            error,
            retry_after: None,
        }
    }
}

/// The failure that `error` is. `secret` does not appear in it.
pub(super) fn explain(error: &genai::Error, secret: &str) -> Failure {
    use genai::Error as E;
    if let (Some(status), Some(headers)) = (error.status(), error.headers()) {
        let body = match error {
            E::HttpError { body, .. } => body.as_str(),
            E::WebModelCall {
                webc_error: genai::webc::Error::ResponseFailedStatus { body, .. },
                ..
            } => body,
            _ => "",
        };
        return refused(status, headers, body, secret);
    }
    match error {
        E::WebStream { error, .. } => match error.downcast_ref::<E>() {
            Some(inner) => explain(inner, secret),
            None => lost(error.as_ref()).into(),
        },
        E::ChatResponse { body, .. } => in_stream(body, secret).into(),
        E::StreamParse { .. }
        | E::SerdeJson(_)
        | E::JsonValueExt(_)
        | E::InvalidJsonResponseElement { .. } => {
            ModelError::Malformed("it is not in the provider's format".into()).into()
        }
        E::AdapterNotSupported { feature, .. } => {
            ModelError::InvalidRequest(clean(&format!("the provider has no {feature}"), secret))
                .into()
        }
        E::MessageContentTypeNotSupported { cause, .. } => {
            ModelError::InvalidRequest((*cause).into()).into()
        }
        // The rest cannot come from a provider, and some of it repeats the request.
        _ => ModelError::InvalidRequest(
            "the request cannot be written in the provider's format".into(),
        )
        .into(),
    }
}

/// A connection that did not come about or broke.
fn lost(error: &(dyn std::error::Error + 'static)) -> ModelError {
    let what = match error.downcast_ref::<reqwest::Error>() {
        Some(error) if error.is_connect() => "cannot connect to its endpoint",
        Some(error) if error.is_timeout() => "connecting to its endpoint takes too long",
        Some(error) if error.is_builder() => {
            return ModelError::InvalidRequest("the key or URL cannot be sent".into());
        }
        Some(_) => "the connection broke",
        None => return ModelError::Malformed("it is not text".into()),
    };
    ModelError::Unavailable(what.into())
}

/// An answer with an error status.
fn refused(status: StatusCode, headers: &HeaderMap, body: &str, secret: &str) -> Failure {
    let json: Value = serde_json::from_str(body).unwrap_or_default();
    let retry_after = retry_after(headers);
    let said = said(&json).map(|message| clean(message, secret));
    let message = match said {
        Some(said) => format!("{said} (HTTP {})", status.as_u16()),
        None => format!("HTTP {}", status.as_u16()),
    };
    let error = match status.as_u16() {
        // Providers repeat parts of a wrong key in their message.
        401 => ModelError::Unauthorized("the provider refused the key (HTTP 401)".into()),
        400 if body.contains("API_KEY_INVALID") => {
            ModelError::Unauthorized("the provider refused the key (HTTP 400)".into())
        }
        403 => ModelError::Unauthorized(message),
        429 => ModelError::RateLimited {
            message,
            retry_after,
        },
        408 | 425 | 500.. => ModelError::Unavailable(message),
        _ => ModelError::InvalidRequest(message),
    };
    Failure { error, retry_after }
}

/// An error that came in place of the next piece.
fn in_stream(body: &Value, secret: &str) -> ModelError {
    let inner = body.get("error").unwrap_or(body);
    let Some(said) = said(body).or_else(|| said(inner)) else {
        // Gemini answers a blocked prompt without candidates, and of that only this is left.
        return ModelError::Refused("it gave no candidate for an answer".into());
    };
    let message = clean(said, secret);
    let status = inner
        .get("code")
        .and_then(Value::as_u64)
        .and_then(|code| StatusCode::from_u16(code as u16).ok());
    match status {
        Some(status) => refused(status, &HeaderMap::new(), &body.to_string(), secret).error,
        None if inner["type"] == "invalid_request_error" => ModelError::InvalidRequest(message),
        None => ModelError::Unavailable(message),
    }
}

/// The message in a provider's error body.
fn said(body: &Value) -> Option<&str> {
    ["/error/message", "/message", "/0/error/message", "/error"]
        .iter()
        .find_map(|at| body.pointer(at)?.as_str())
}

fn clean(message: &str, secret: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = if secret.is_empty() {
        line
    } else {
        line.replace(secret, "…")
    };
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// `retry-after-ms` or `retry-after` in seconds. Dates, which no provider of ours sends, are ignored.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms")
        .map(|ms| ms / 1_000.0)
        .or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn on(status: u16, body: &str) -> ModelError {
        let status = StatusCode::from_u16(status).expect("a status");
        refused(status, &HeaderMap::new(), body, "sk-secret").error
    }

    #[test]
    fn statuses_become_what_the_caller_can_do() {
        let body = json!({"error": {"message": "so\nsaid  the key sk-secret"}}).to_string();
        let said = |status: u16| format!("so said the key … (HTTP {status})");
        for (status, expected) in [
            (400, ModelError::InvalidRequest(said(400))),
            (
                401,
                ModelError::Unauthorized("the provider refused the key (HTTP 401)".into()),
            ),
            (403, ModelError::Unauthorized(said(403))),
            (404, ModelError::InvalidRequest(said(404))),
            (
                429,
                ModelError::RateLimited {
                    message: said(429),
                    retry_after: None,
                },
            ),
            (500, ModelError::Unavailable(said(500))),
            (503, ModelError::Unavailable(said(503))),
            (529, ModelError::Unavailable(said(529))),
            (302, ModelError::InvalidRequest(said(302))),
        ] {
            assert_eq!(on(status, &body), expected);
        }
        assert_eq!(
            on(502, "<html>bad gateway</html>"),
            ModelError::Unavailable("HTTP 502".into())
        );
        let gemini =
            json!({"error": {"code": 400, "details": [{"reason": "API_KEY_INVALID"}]}}).to_string();
        assert!(matches!(on(400, &gemini), ModelError::Unauthorized(_)));
    }

    #[test]
    fn long_messages_are_cut() {
        let body = json!({"error": {"message": "é".repeat(1_000)}}).to_string();
        assert!(on(500, &body).to_string().chars().count() < MAX_MESSAGE + 100);
    }

    #[test]
    fn retry_after_is_read_in_seconds_and_milliseconds() {
        for (name, value, expected) in [
            ("retry-after", "7", Some(Duration::from_secs(7))),
            ("retry-after", "0.5", Some(Duration::from_millis(500))),
            ("retry-after-ms", "20", Some(Duration::from_millis(20))),
            ("retry-after", "-3", None),
            ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT", None),
            ("retry-after", "1e300", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().expect("a header value"));
            assert_eq!(retry_after(&headers), expected, "{name}: {value}");
        }
    }

    #[test]
    fn errors_in_the_stream_are_told_apart() {
        for (body, expected) in [
            (
                json!({"finishReason": null, "usageMetadata": null}),
                "Refused",
            ),
            (
                json!({"message": "busy", "type": "overloaded_error"}),
                "Unavailable",
            ),
            (
                json!({"message": "no", "type": "invalid_request_error"}),
                "InvalidRequest",
            ),
            (
                json!({"error": {"code": 429, "message": "quota"}}),
                "RateLimited",
            ),
            (
                json!({"error": {"code": 99_999, "message": "odd"}}),
                "Unavailable",
            ),
        ] {
            let error = format!("{:?}", in_stream(&body, ""));
            assert!(error.starts_with(expected), "{body} became {error}");
        }
    }
}
