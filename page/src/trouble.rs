//! Errors, as pages say them.

use std::{collections::HashMap, time::Duration};

use agenthub_proto::{reason::Reason, retry_after};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use maud::{Markup, html};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use crate::{
    form_key,
    shell::{self, Section},
    viewer::Viewer,
};

/// Words for a form that was sent before with another content.
const KEY_REUSED: &str = "This form was sent before, with something else in it. If that began a run, it is among the latest. Send the form again to begin another, or reload the page.";

/// A field of a form that is at fault: its name, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) field: String,
    pub(crate) why: String,
}

impl Fault {
    pub(crate) fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            why: why.into(),
        }
    }
}

/// Details of a refusal for programs (`google.rpc.ErrorInfo` and `BadRequest`).
#[derive(Clone, Debug, Default)]
struct RefusalDetails {
    reason: Option<Reason>,
    /// Metadata of the reason, by name.
    metadata: HashMap<String, String>,
    /// Fields of the request that are at fault, by their names there and not in a form.
    invalid: Vec<Fault>,
}

impl RefusalDetails {
    fn of(details: &ErrorDetails) -> Self {
        let info = details.error_info();
        let invalid = details.bad_request().into_iter();
        let invalid = invalid.flat_map(|bad| &bad.field_violations);
        let fault = |fault: &FieldViolation| Fault::new(&*fault.field, &*fault.description);
        Self {
            reason: info.and_then(|info| Reason::of(&info.domain, &info.reason)),
            metadata: info.map(|info| info.metadata.clone()).unwrap_or_default(),
            invalid: invalid.map(fault).collect(),
        }
    }
}

/// An error, and the status of the answer that says so.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    status: StatusCode,
    what: String,
    /// Name of the field that is at fault; empty if it is none of a form.
    field: String,
    /// Further fields that are at fault.
    others: Vec<Fault>,
    /// True if it is to be read also where its form is gone, as a live page may have taken it away.
    stays: bool,
    refused: Option<Box<RefusalDetails>>,
    /// Time after which to come back, if that is known.
    again: Option<Duration>,
}

impl Trouble {
    pub(crate) fn new(status: StatusCode, what: impl Into<String>) -> Self {
        Self {
            status,
            what: what.into(),
            field: String::new(),
            others: Vec::new(),
            stays: false,
            refused: None,
            again: None,
        }
    }

    /// Trouble with fields of a form, each of which is shown at its field. There is at least one.
    pub(crate) fn with_fields(faults: Vec<Fault>) -> Self {
        let mut faults = faults.into_iter();
        let first = faults.next().unwrap_or_default();
        Self {
            others: faults.collect(),
            ..Self::with_field(first.field, first.why)
        }
    }

    /// Trouble with a field of a form, at which it is shown.
    pub(crate) fn with_field(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, what)
        }
    }

    /// The same, at a field of a form.
    pub(crate) fn at(self, field: &str) -> Self {
        Self {
            field: field.to_owned(),
            ..self
        }
    }

    /// The same, to be read also where its form is gone.
    pub(crate) fn staying(self) -> Self {
        Self {
            stays: true,
            ..self
        }
    }

    pub(crate) fn starting() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "The hub is starting: reload in a moment.",
        )
    }

    pub(crate) fn crowded() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "As many pages are kept up to date as can be: what is shown is as old as this page.",
        )
    }

    pub(crate) fn late() -> Self {
        Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "No answer in time: reload to ask again.",
        )
    }

    pub(crate) fn without_cortex() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "This hub has no Cortex, which keeps the runs: it has been started as `agenthub broker`.",
        )
    }

    /// Trouble of a request that the hub refuses.
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, why)
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    /// The reason of the refusal, if it has one that programs know.
    pub(crate) fn reason(&self) -> Option<Reason> {
        self.refused.as_ref()?.reason
    }

    /// Value of the reason's metadata; empty if there is none.
    pub(crate) fn metadata(&self, name: &str) -> &str {
        let refused = self.refused.as_ref();
        let value = refused.and_then(|refused| refused.metadata.get(name));
        value.map_or("", String::as_str)
    }

    /// The fields of the request that are at fault.
    pub(crate) fn invalid(&self) -> &[Fault] {
        self.refused
            .as_ref()
            .map_or(&[], |refused| &refused.invalid)
    }

    #[cfg(test)]
    pub(crate) fn words(&self) -> &str {
        &self.what
    }

    /// The same in other words.
    pub(crate) fn saying(self, what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            ..self
        }
    }

    /// True if it is not for this viewer.
    pub(crate) fn is_denied(&self) -> bool {
        self.status == StatusCode::FORBIDDEN
    }

    /// True if the hub refuses, rather than that it cannot answer at present, as where a quota is used up.
    pub(crate) fn is_refusal(&self) -> bool {
        self.status.is_client_error() && self.status != StatusCode::TOO_MANY_REQUESTS
    }

    /// The trouble, where a page would have been.
    pub(crate) fn notice(&self) -> Markup {
        let field = (!self.field.is_empty()).then_some(&self.field);
        html! {
            p.notice.bad role="alert" data-field=[field] data-stays[self.stays] { (self.what) }
            @for other in &self.others { p.notice.bad role="alert" data-field=(other.field) { (other.why) } }
        }
    }

    /// The trouble, where a part of a page would have been. What is not there, or not for this viewer, is none.
    pub(crate) fn aside(&self) -> Markup {
        match self.is_not_found() || self.is_denied() {
            true => html! { p.nothing { (self.what) } },
            false => self.notice(),
        }
    }
}

impl From<Status> for Trouble {
    fn from(status: Status) -> Self {
        let code = match status.code() {
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::InvalidArgument | Code::OutOfRange => StatusCode::UNPROCESSABLE_ENTITY,
            Code::FailedPrecondition | Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
            Code::PermissionDenied => StatusCode::FORBIDDEN,
            Code::Unauthenticated => StatusCode::UNAUTHORIZED,
            Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
            Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
            Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let details = status.get_error_details();
        let refused = RefusalDetails::of(&details);
        let what = match refused.reason {
            Some(Reason::KeyReused) => KEY_REUSED,
            _ => status.message(),
        };
        Self {
            again: details.retry_info().and_then(|info| info.retry_delay),
            refused: Some(Box::new(refused)),
            ..Self::new(code, what)
        }
    }
}

impl Trouble {
    /// The trouble as a page. `path` is the address that was asked for: it leads back to what it belongs to.
    pub(crate) fn page(&self, path: &str, viewer: Option<&Viewer>) -> Response {
        let title = match self.status {
            StatusCode::NOT_FOUND => "Not found",
            status if status.is_client_error() => "That cannot be done",
            _ => "Not now",
        };
        let section = Section::of(path);
        let body = html! {
            h1 { (title) }
            (self.notice())
            // Where the hub may still do it, the same is sent again under the same key.
            @if self.is_refusal() { (form_key::renewed()) }
            @if !self.field.is_empty() { p { "Go back in the browser to mend it: what was filled in is still there." } }
            ul {
                @if let Some((path, name)) = section.link() { li { a href=(path) { "Back to " (name) } } }
                li { a href="/" { "Overview" } }
            }
        };
        let page = shell::page(section, title, &body, viewer);
        let mut answer = (self.status, page).into_response();
        if let Some(again) = self.again {
            retry_after::ask(answer.headers_mut(), again);
        }
        answer
    }
}

/// An answer without a page yet: `headers.rs` makes it, as it knows the address.
impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let mut answer = self.status.into_response();
        answer.extensions_mut().insert(self);
        answer
    }
}

/// Trouble as a refusal for this reason brings it.
#[cfg(test)]
pub(crate) fn refused_for(reason: Reason, metadata: &[(&str, &str)]) -> Trouble {
    let metadata = metadata
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()));
    Trouble {
        refused: Some(Box::new(RefusalDetails {
            reason: Some(reason),
            metadata: metadata.collect(),
            ..RefusalDetails::default()
        })),
        ..Trouble::new(StatusCode::CONFLICT, "run d7f98c7b has it")
    }
}

/// Trouble with a field of a request.
#[cfg(test)]
pub(crate) fn refused_at(field: &str, why: &str) -> Trouble {
    Trouble {
        refused: Some(Box::new(RefusalDetails {
            invalid: vec![Fault::new(field, why)],
            ..RefusalDetails::default()
        })),
        ..Trouble::refused(format!("`{field}` is refused: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::reason::DOMAIN;
    use axum::body::to_bytes;

    use super::*;

    async fn page(trouble: Trouble) -> String {
        let page = trouble.page("/ui/runs/r/retry", None).into_body();
        let page = to_bytes(page, 1_000_000).await.expect("a page");
        String::from_utf8_lossy(&page).into_owned()
    }

    /// A message id follows from a key, so nothing else can be asked for under the key of a try that was refused.
    #[tokio::test]
    async fn a_refusal_brings_a_new_key_for_the_form_and_an_absence_does_not() {
        let refused = || Trouble::with_field("input", "no");
        let (first, second) = (page(refused()).await, page(refused()).await);
        assert!(first.contains("data-key=\""), "{first}");
        assert_ne!(first, second);
        // It may begin all the same: the same is sent again under the same key.
        assert!(!page(Trouble::late()).await.contains("data-key"));
        let later = Trouble::from(Status::resource_exhausted("no room at present"));
        assert!(!page(later).await.contains("data-key"));
    }

    #[test]
    fn a_key_that_was_used_is_a_conflict_with_a_way_on() {
        let mut details = ErrorDetails::new();
        details.set_error_info(Reason::KeyReused.as_str(), DOMAIN, HashMap::new());
        let why = "the idempotency key \"k\" was used for run r";
        let status = Status::with_error_details(Code::AlreadyExists, why, details);
        let trouble = Trouble::from(status);
        assert_eq!(trouble.status, StatusCode::CONFLICT);
        assert!(trouble.words().contains("Send the form again"));
        let other = Trouble::from(Status::already_exists("the agent is here already"));
        assert_eq!(other.words(), "the agent is here already");
    }
}
