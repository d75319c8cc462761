//! Failures in words, bounded and without secrets.

use std::{error::Error, io, iter, time::Duration};

use rmcp::{
    model::ErrorData, service::ClientInitializeError,
    transport::streamable_http_client::StreamableHttpError,
};

use super::text;

/// The longest explanation, in bytes.
const MAX: usize = 400;

/// An error with its causes.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut whole = String::new();
    for error in causes(error) {
        let cause = error.to_string();
        // Many an error repeats its cause.
        if whole.contains(&cause) {
            continue;
        }
        if !whole.is_empty() {
            whole.push_str(": ");
        }
        whole.push_str(&cause);
    }
    plain(&whole)
}

/// The first source of an error.
pub(super) fn root(error: &(dyn Error + 'static)) -> String {
    plain(
        &causes(error)
            .last()
            .map(ToString::to_string)
            .unwrap_or_default(),
    )
}

/// The error of the HTTP client that is at the bottom of an error, if one is.
pub(super) fn of_http<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a reqwest::Error> {
    causes(error).find_map(|error| error.downcast_ref())
}

/// True if a program reads no more what is written to it.
pub(super) fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    // Further down it would be that of an HTTP connection, whose server may have read all the same.
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The error and its causes, but for those of this protocol's library that only wrap others.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(inner(error)), |&error| error.source().map(inner))
}

fn inner<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    if let Some(ClientInitializeError::TransportError { error, .. }) = error.downcast_ref() {
        return inner(error.error.as_ref());
    }
    if let Some(StreamableHttpError::<reqwest::Error>::Client(error)) = error.downcast_ref() {
        return error;
    }
    error
}

/// A server's words in place of a result.
pub(super) fn refused(error: &ErrorData) -> String {
    match error.message.trim() {
        "" => format!("error {}", error.code.0),
        message => plain(message),
    }
}

/// Reason of a server that took too long to begin.
pub(super) fn late(limit: Duration) -> String {
    format!("it was not ready within {} s", limit.as_secs())
}

/// A text in one line, bounded and without secrets.
pub(super) fn plain(text: &str) -> String {
    agenthub_sdk::internal::redacted(&text::line(text, MAX))
}
