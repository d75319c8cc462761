//! Statuses of gRPC for the errors of runs.

use std::collections::HashMap;

use agenthub_proto::{
    INVALID_FIELD,
    reason::{DECIDED_AT, DECIDED_BY, DECISION, DOMAIN, Reason},
};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::runs::{Decided, Error};

/// The most faults of fields that a status describes, and the most bytes of a description and of a name: a status is sent in headers, of which clients take 16 KiB.
const DESCRIBED: usize = 8;
const MAX_DESCRIPTION: usize = 300;
const MAX_NAME: usize = 150;

/// The most bytes of a message as headers encode it. The details repeat it.
const MAX_MESSAGE: usize = 3 * 1024;

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let details = details(&error);
        let message = error.to_string();
        let message = beginning(&message, MAX_MESSAGE, encoded);
        let mut status = Self::with_error_details(code(&error), message, details);
        for (field, _) in faults(&error).into_iter().take(DESCRIBED) {
            let field = beginning(field, MAX_NAME, char::len_utf8);
            if let Ok(field) = field.parse() {
                status.metadata_mut().append(INVALID_FIELD, field);
            }
        }
        status
    }
}

/// The fields that are at fault, each with the reason.
fn faults(error: &Error) -> Vec<(&str, &str)> {
    match error {
        Error::Invalid { at, why } | Error::FieldRefused { at, why } => vec![(at, why)],
        Error::Faulty(faults) => {
            let faults = faults.iter();
            faults.map(|fault| (&*fault.at, &*fault.why)).collect()
        }
        _ => Vec::new(),
    }
}

/// The beginning of a text that is within so many bytes.
fn beginning(text: &str, most: usize, bytes: impl Fn(char) -> usize) -> &str {
    let mut taken = 0;
    let is_beyond = |&(_, c): &(usize, char)| {
        taken += bytes(c);
        taken > most
    };
    let end = text.char_indices().find(is_beyond);
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// Bytes of a character in the header of a message, which is percent-encoded.
fn encoded(c: char) -> usize {
    match c.is_ascii_alphanumeric() {
        true => 1,
        false => 3 * c.len_utf8(),
    }
}

/// Details for programs (`google.rpc`).
fn details(error: &Error) -> ErrorDetails {
    let mut details = ErrorDetails::new();
    for (field, why) in faults(error).into_iter().take(DESCRIBED) {
        let field = beginning(field, MAX_NAME, char::len_utf8);
        let why = beginning(why, MAX_DESCRIPTION, char::len_utf8);
        details.add_bad_request_violation(field, why);
    }
    let mut reason = |reason: Reason, told: &[(&str, &str)]| {
        let told = told
            .iter()
            .map(|&(name, value)| (name.into(), value.into()));
        details.set_error_info(reason.as_str(), DOMAIN, told.collect::<HashMap<_, _>>());
    };
    match error {
        Error::ThreadBusy { .. } => reason(Reason::ThreadBusy, &[]),
        Error::KeyReused { .. } => reason(Reason::KeyReused, &[]),
        Error::NotPending { decided: None, .. } => reason(Reason::NotPending, &[]),
        Error::NotPending {
            decided: Some(Decided { answer, by, at }),
            ..
        } => reason(
            Reason::NotPending,
            &[(DECISION, answer), (DECIDED_BY, by), (DECIDED_AT, at)],
        ),
        Error::OverQuota {
            reason,
            retry_after,
        } => {
            if let Some(after) = retry_after {
                details.set_retry_info(Some(*after));
            }
            let reason = beginning(reason, MAX_DESCRIPTION, char::len_utf8);
            details.add_quota_failure_violation("the caller", reason);
        }
        _ => {}
    }
    details
}

fn code(error: &Error) -> Code {
    match error {
        Error::NotFound { .. } => Code::NotFound,
        Error::Denied(_) => Code::PermissionDenied,
        Error::Invalid { .. } | Error::FieldRefused { .. } | Error::Faulty(_) => {
            Code::InvalidArgument
        }
        Error::KeyReused { .. } => Code::AlreadyExists,
        Error::ThreadBusy { .. }
        | Error::NotPending { .. }
        | Error::Active { .. }
        | Error::NotActive { .. }
        | Error::Unsuitable(_)
        | Error::Refused(_) => Code::FailedPrecondition,
        Error::OverQuota { .. } => Code::ResourceExhausted,
        Error::Unavailable(_) => Code::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_request_names_its_field() {
        let field = |error: Error| {
            let status = Status::from(error);
            let field = status.metadata().get(INVALID_FIELD)?;
            field.to_str().ok().map(str::to_owned)
        };
        let at = "constraints.acceptanceCriteria[1]";
        let invalid = Error::Invalid {
            at: at.to_owned(),
            why: "is empty".to_owned(),
        };
        assert_eq!(field(invalid).as_deref(), Some(at));
        assert_eq!(field(Error::Refused("`mode` is odd".to_owned())), None);
    }

    /// Issue 26: pages tell refusals apart by their reasons.
    #[test]
    fn a_refusal_has_a_reason_for_programs() {
        let info = |error: Error| {
            let info = Status::from(error).get_details_error_info();
            let info = info.expect("a reason");
            (Reason::of(&info.domain, &info.reason), info.metadata)
        };
        let busy = Error::ThreadBusy {
            thread: "t".to_owned(),
            run: "r".to_owned(),
        };
        assert_eq!(info(busy), (Some(Reason::ThreadBusy), HashMap::new()));
        let late = Error::NotPending {
            run: "r".to_owned(),
            approval: "a".to_owned(),
            decided: Some(Decided {
                answer: "allowed",
                by: "ann".to_owned(),
                at: "2026-11-28T14:03:12Z".to_owned(),
            }),
        };
        assert_eq!(
            late.to_string(),
            "run r does not wait for the approval \"a\": it was already allowed by ann at 2026-11-28T14:03:12Z"
        );
        let (reason, told) = info(late);
        assert_eq!(reason, Some(Reason::NotPending));
        assert_eq!((&*told[DECISION], &*told[DECIDED_BY]), ("allowed", "ann"));
    }

    /// Beyond 16 KiB of headers a client sees a broken connection and no status.
    #[test]
    fn a_status_fits_in_headers() {
        let size = |letter: &str| {
            let refused = Error::FieldRefused {
                at: "f".repeat(5000),
                why: letter.repeat(5000),
            };
            let answer = Status::from(refused).into_http::<()>();
            let headers = answer.headers().iter();
            let sizes = headers.map(|(name, value)| name.as_str().len() + value.len() + 32);
            sizes.sum::<usize>()
        };
        // Names and descriptions are Base64 in the details, names also headers of their own.
        let described = (MAX_NAME + MAX_DESCRIPTION + 16) * 4 / 3;
        let fault = described + INVALID_FIELD.len() + MAX_NAME + 32;
        for letter in ["a", " ", "é", "界"] {
            let all = size(letter) + (DESCRIBED - 1) * fault;
            assert!(all < 16 * 1024, "{all} bytes of headers with {letter:?}");
        }
    }

    #[test]
    fn a_field_that_an_agent_refuses_is_named_with_its_reason() {
        let refused = Error::FieldRefused {
            at: "model".to_owned(),
            why: "no such provider".to_owned(),
        };
        let status = Status::from(refused);
        let bad = status.get_details_bad_request().expect("a field");
        let field = &bad.field_violations[0];
        assert_eq!(
            (&*field.field, &*field.description),
            ("model", "no such provider")
        );
        assert_eq!(status.message(), "`model` is refused: no such provider");
    }
}
