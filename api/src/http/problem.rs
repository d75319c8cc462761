//! Errors as problem details, RFC 9457.

use std::time::Duration;

use agenthub_access::QuotaExceeded;
use agenthub_proto::retry_after;
use agenthub_sdk::runs::pointer::escaped;
use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::runs::Error;

/// Pause before a client may come back where nothing is there to answer it.
const SOON: Duration = Duration::from_secs(1);

/// The media type of a problem.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// A problem: the reason why a request is not answered as it was meant to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem(Box<Details>);

/// A problem, as a client gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct Details {
    /// Kind of the problem: the same for all of its kind, `urn:agenthub:problem:NAME`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The kind in words.
    pub(crate) title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub(crate) status: u16,
    /// The fault, its place and the remedy.
    pub(crate) detail: String,
    /// The path of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance: Option<String>,
    /// The fields of the body that are not as they must be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) errors: Vec<Fault>,
    /// The run that is in the way, or that was meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<String>,
    /// The thread that is busy.
    #[serde(rename = "threadId", skip_serializing_if = "Option::is_none")]
    pub(crate) thread_id: Option<String>,
    /// Time after which the same request may succeed, if it may.
    #[serde(skip)]
    retry_after: Option<Duration>,
}

/// A field that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Fault {
    /// Its place in the body: a JSON pointer as the fragment of a URI, such as `#/constraints/qualityThreshold`.
    pub(crate) pointer: String,
    /// The fault.
    pub(crate) detail: String,
}

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The body is no JSON.
    InvalidJson,
    /// A header or a parameter of the path or query is not as it must be.
    InvalidParameter,
    /// A browser sends it for a page of somebody else.
    ForeignOrigin,
    /// The caller may not do it.
    Denied,
    /// There is no such run or approval.
    NotFound,
    /// Nothing is served at this path.
    NoSuchPath,
    /// The path is served, but not this method.
    MethodNotAllowed,
    /// No form of the answer is one that the client takes.
    NotAcceptable,
    /// The body did not come in time.
    TooSlow,
    /// Another run of the thread is active.
    ThreadBusy,
    /// The run's state does not allow it.
    WrongState,
    /// The body is too large.
    TooLarge,
    /// The body is not of a type that is read here.
    UnsupportedMediaType,
    /// The name under which the server was called is not its own.
    ForeignHost,
    /// A field of the body is not as it must be.
    InvalidField,
    /// The idempotency key is that of another request.
    KeyReused,
    /// The run was not taken.
    Refused,
    /// A quota of the caller is used up.
    OverQuota,
    /// The service that would answer is not there.
    Unavailable,
}

impl Kind {
    /// Its name in the type, its status, and its title.
    pub(crate) const fn said(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Self::InvalidJson => (
                "invalid-json",
                StatusCode::BAD_REQUEST,
                "The body is no JSON",
            ),
            Self::InvalidParameter => (
                "invalid-parameter",
                StatusCode::BAD_REQUEST,
                "A header or parameter is not as it must be",
            ),
            Self::ForeignOrigin => (
                "foreign-origin",
                StatusCode::FORBIDDEN,
                "Pages of other sites change nothing here",
            ),
            Self::Denied => (
                "denied",
                StatusCode::FORBIDDEN,
                "The caller may not do this",
            ),
            Self::NotFound => ("not-found", StatusCode::NOT_FOUND, "It is not known"),
            Self::NoSuchPath => (
                "no-such-path",
                StatusCode::NOT_FOUND,
                "Nothing is served at this path",
            ),
            Self::MethodNotAllowed => (
                "method-not-allowed",
                StatusCode::METHOD_NOT_ALLOWED,
                "The path does not take this method",
            ),
            Self::NotAcceptable => (
                "not-acceptable",
                StatusCode::NOT_ACCEPTABLE,
                "No form of the answer is acceptable",
            ),
            Self::TooSlow => (
                "too-slow",
                StatusCode::REQUEST_TIMEOUT,
                "The body did not come in time",
            ),
            Self::ThreadBusy => (
                "thread-busy",
                StatusCode::CONFLICT,
                "Another run of the thread is active",
            ),
            Self::WrongState => (
                "wrong-state",
                StatusCode::CONFLICT,
                "The run's state does not allow it",
            ),
            Self::TooLarge => (
                "too-large",
                StatusCode::PAYLOAD_TOO_LARGE,
                "The body is too large",
            ),
            Self::UnsupportedMediaType => (
                "unsupported-media-type",
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "The body is of a type that is not read here",
            ),
            Self::ForeignHost => (
                "foreign-host",
                StatusCode::MISDIRECTED_REQUEST,
                "This server does not have that name",
            ),
            Self::InvalidField => (
                "invalid-field",
                StatusCode::UNPROCESSABLE_ENTITY,
                "A field is not as it must be",
            ),
            Self::KeyReused => (
                "key-reused",
                StatusCode::UNPROCESSABLE_ENTITY,
                "The idempotency key is that of another request",
            ),
            Self::Refused => (
                "refused",
                StatusCode::UNPROCESSABLE_ENTITY,
                "The run was not taken",
            ),
            Self::OverQuota => (
                "over-quota",
                StatusCode::TOO_MANY_REQUESTS,
                "A quota is used up",
            ),
            Self::Unavailable => (
                "unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "It cannot be answered at the moment",
            ),
        }
    }

    /// A problem of this kind.
    pub(crate) fn with(self, detail: impl Into<String>) -> Problem {
        let (name, status, title) = self.said();
        Problem(Box::new(Details {
            kind: format!("urn:agenthub:problem:{name}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            instance: None,
            errors: Vec::new(),
            run: None,
            thread_id: None,
            retry_after: matches!(self, Self::Unavailable).then_some(SOON),
        }))
    }
}

impl Problem {
    /// A field of the body that is not as it must be; `at` is its path, such as `constraints.acceptanceCriteria[2]`, empty for the body as a
    /// whole.
    pub(crate) fn field(at: &str, why: impl Into<String>) -> Self {
        let why = why.into();
        let detail = match at.is_empty() {
            true => why.clone(),
            false => format!("`{at}` {why}"),
        };
        Kind::InvalidField.with(detail).with_fault(at, why)
    }

    fn with_fault(mut self, at: &str, detail: String) -> Self {
        let pointer = pointer(at);
        self.0.errors.push(Fault { pointer, detail });
        self
    }

    /// The problem of a request to this path.
    pub(crate) fn at(mut self, path: &str) -> Self {
        self.0.instance = Some(path.to_owned());
        self
    }

    /// Its text for a client.
    pub(crate) fn details(&self) -> &Details {
        &self.0
    }
}

/// The pointer for a path as people write it.
fn pointer(at: &str) -> String {
    let keys = at.split(['.', '[']).map(|key| key.trim_end_matches(']'));
    let keys = keys.filter(|key| !key.is_empty());
    keys.fold("#".to_owned(), |pointer, key| pointer + "/" + &escaped(key))
}

/// The one place where what is wrong with a run becomes an HTTP status.
impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let said = error.to_string();
        let (kind, thread_id, run) = match error {
            Error::Invalid { at, why } => return Self::field(&at, why),
            Error::FieldRefused { at, why } => {
                return Self::field(&at, format!("is refused: {why}"));
            }
            Error::Faulty(faults) => {
                return faults
                    .iter()
                    .fold(Kind::InvalidField.with(said), |problem, fault| {
                        problem.with_fault(&fault.at, fault.why.clone())
                    });
            }
            Error::NotFound { .. } => (Kind::NotFound, None, None),
            Error::Denied(_) => (Kind::Denied, None, None),
            Error::ThreadBusy { thread, run } => (Kind::ThreadBusy, Some(thread), Some(run)),
            Error::KeyReused { run, .. } => (Kind::KeyReused, None, Some(run)),
            Error::NotPending { run, .. }
            | Error::Active { run, .. }
            | Error::NotActive { run, .. } => (Kind::WrongState, None, Some(run)),
            Error::Unsuitable(_) => (Kind::WrongState, None, None),
            Error::Refused(_) => (Kind::Refused, None, None),
            Error::OverQuota { retry_after, .. } => {
                let mut problem = Kind::OverQuota.with(said);
                problem.0.retry_after = retry_after;
                return problem;
            }
            Error::Unavailable(_) => (Kind::Unavailable, None, None),
        };
        let mut problem = kind.with(said);
        problem.0.run = run;
        problem.0.thread_id = thread_id;
        problem
    }
}

impl Problem {
    /// The refusal of a stream by a quota.
    pub(crate) fn over_quota(exceeded: &QuotaExceeded) -> Self {
        let mut problem = Kind::OverQuota.with(exceeded.to_string());
        problem.0.retry_after = Some(exceeded.retry_after());
        problem
    }
}

/// The problem stays with the response, so that what knows the request can add to it.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let details = self.details();
        let status = StatusCode::from_u16(details.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after = details.retry_after;
        let mut response = (status, Json(details)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if let Some(pause) = retry_after {
            retry_after::ask(headers, pause);
        }
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_field_is_pointed_at() {
        for (at, expected) in [
            ("", "#"),
            ("objective", "#/objective"),
            (
                "constraints.qualityThreshold",
                "#/constraints/qualityThreshold",
            ),
            (
                "constraints.acceptanceCriteria[2].text",
                "#/constraints/acceptanceCriteria/2/text",
            ),
            ("payload.a/b~c", "#/payload/a~1b~0c"),
        ] {
            assert_eq!(pointer(at), expected, "{at}");
        }
    }

    #[test]
    fn a_problem_says_what_where_and_only_what_it_knows() {
        let problem = Problem::field("budget.tokens", "is 0: give at least 1").at("/v1/runs");
        let value: Value = json!(problem.details());
        assert_eq!(
            value,
            json!({
                "type": "urn:agenthub:problem:invalid-field",
                "title": "A field is not as it must be",
                "status": 422,
                "detail": "`budget.tokens` is 0: give at least 1",
                "instance": "/v1/runs",
                "errors": [{"pointer": "#/budget/tokens", "detail": "is 0: give at least 1"}],
            })
        );
    }

    #[test]
    fn what_passes_says_when_to_come_back() {
        let response = Kind::Unavailable.with("wait").into_response();
        assert_eq!(response.headers()["retry-after"], "1");
        assert_eq!(response.headers()["content-type"], MEDIA_TYPE);
        let response = Kind::NotFound.with("no").into_response();
        assert!(!response.headers().contains_key("retry-after"));
    }
}
