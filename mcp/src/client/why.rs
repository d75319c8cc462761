//! Failures in words, bounded and without secrets.

use std::{error::Error, time::Duration};

use rmcp::{model::ErrorData, transport::streamable_http_client::StreamableHttpError};

use super::text;

/// The longest explanation, in bytes.
const MAX: usize = 400;

/// An error with its causes.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut whole = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        add(&mut whole, &error.to_string());
        // This one does not name what it contains as its source.
        let http = error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
        next = match http {
            Some(StreamableHttpError::Client(error)) => Some(error),
            _ => error.source(),
        };
    }
    plain(&whole)
}

/// What a server said instead of giving a result.
pub(super) fn refused(error: &ErrorData) -> String {
    match error.message.trim() {
        "" => format!("error {}", error.code.0),
        message => plain(message),
    }
}

/// It took too long to begin.
pub(super) fn late(limit: Duration) -> String {
    format!("it was not ready within {} s", limit.as_secs())
}

fn add(whole: &mut String, cause: &str) {
    if whole.contains(cause) {
        return;
    }
    if !whole.is_empty() {
        whole.push_str(": ");
    }
    whole.push_str(cause);
}

fn plain(text: &str) -> String {
    agenthub_sdk::redacted(&text::line(text, MAX))
}
