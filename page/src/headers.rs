//! Headers: which requests of browsers are refused, and what browsers are told about pages.

use agenthub_access::Admitted;
use agenthub_proto::browser::{Foreign, Hosts};
use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{trouble::Trouble, viewer::Viewer};

/// Rules for what a page may load and do: nothing but what this server gives, no script within a page, in nobody's frame.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Media type of streams.
const EVENT_STREAM: &str = "text/event-stream";

/// Answers what may be asked.
pub(crate) async fn guarded(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let viewer = request.extensions().get::<Admitted>().map(Viewer::new);
    let mut response = match hosts.check_page(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(Foreign::Host) => {
            let reason = "This hub listens on loopback and answers to localhost and to addresses.";
            Trouble::new(StatusCode::MISDIRECTED_REQUEST, reason).into_response()
        }
        Err(Foreign::Origin) => {
            let reason = "Only a page of this hub may do that.";
            Trouble::new(StatusCode::FORBIDDEN, reason).into_response()
        }
    };
    if let Some(trouble) = response.extensions_mut().remove::<Trouble>() {
        response = trouble.page(&path, viewer.as_ref());
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::VARY, "accept"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Files of the pages alone are kept. A browser that may keep a stream has others wait who ask for the same address.
    let is_stream = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind == EVENT_STREAM);
    let no_store = HeaderValue::from_static("no-store");
    if is_stream {
        headers.insert(header::CACHE_CONTROL, no_store);
    } else {
        headers.entry(header::CACHE_CONTROL).or_insert(no_store);
    }
    response
}
