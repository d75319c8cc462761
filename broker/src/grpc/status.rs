//! Status codes of the hub's errors, and trailers of its answers.

use agenthub_access::QuotaExceeded;
use agenthub_proto::agenthub::PublishResponse;
use bytes::Bytes;
use hyper::body::Frame;
use tonic::{Code, Status, codegen::http::HeaderMap};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::{
    Error,
    hub::{End, Receipt},
};

/// The status code of an error.
pub(super) fn code(error: &Error) -> Code {
    match error {
        Error::InvalidArgument(_) | Error::Incomplete(_) => Code::InvalidArgument,
        Error::NotFound(_) => Code::NotFound,
        Error::FailedPrecondition(_) => Code::FailedPrecondition,
        Error::AlreadyExists(_) => Code::AlreadyExists,
        Error::PermissionDenied(_) => Code::PermissionDenied,
        Error::ResourceExhausted(_) | Error::OverQuota(_) => Code::ResourceExhausted,
        Error::OutOfRange(_) => Code::OutOfRange,
        Error::Unavailable(_) => Code::Unavailable,
        Error::Aborted(_) => Code::Aborted,
    }
}

/// Maximum characters of a message. A status is sent in a header, where each character may take twelve bytes, of the
/// sixteen thousand that a client accepts by default.
const EXPLANATION: usize = 500;

/// The message of an error, truncated if it quotes a long text.
pub(super) fn explanation(error: &Error) -> String {
    let text = error.to_string();
    match text.char_indices().nth(EXPLANATION) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// The status of what a quota does not allow, with when to come back (`google.rpc.RetryInfo`).
pub(crate) fn quota_exceeded(exceeded: &QuotaExceeded) -> Status {
    let mut details = ErrorDetails::new();
    if let Some(again) = exceeded.again {
        details.set_retry_info(Some(again));
    }
    let violation = exceeded.to_string();
    details.add_quota_failure_violation(&exceeded.whose, &violation);
    Status::with_error_details(Code::ResourceExhausted, violation, details)
}

/// An error as a status.
pub(super) fn status(error: Error) -> Status {
    match error {
        Error::OverQuota(exceeded) => quota_exceeded(&exceeded),
        error => Status::new(code(&error), explanation(&error)),
    }
}

/// Trailers with the final status of a call.
pub(super) fn trailers(status: &Status) -> Result<Frame<Bytes>, Status> {
    let mut trailers = HeaderMap::new();
    status.add_header(&mut trailers)?;
    Ok(Frame::trailers(trailers))
}

/// Result of a publish for older clients: missing fields are reported in the response.
pub(super) fn published(result: Result<Receipt, Error>) -> Result<PublishResponse, Status> {
    match result {
        Ok(receipt) => Ok(PublishResponse {
            success: true,
            error: String::new(),
            event_id: receipt.event_id,
            position: receipt.position,
            repeated: receipt.is_repeated,
        }),
        Err(error @ Error::Incomplete(_)) => Ok(PublishResponse {
            success: false,
            error: explanation(&error),
            ..PublishResponse::default()
        }),
        Err(error) => Err(status(error)),
    }
}

/// Status at the end of a server stream.
pub(super) fn ended(end: &End) -> Status {
    match end {
        End::Drain => Status::unavailable("the hub is shutting down; connect again"),
        End::Superseded(reason) => status(Error::Aborted(reason.clone())),
        End::Overflow => Status::resource_exhausted(
            "the subscriber did not read its events; subscribe again with `after` set to the last position it saw",
        ),
    }
}
