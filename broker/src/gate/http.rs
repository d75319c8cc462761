//! The gate before the routes of HTTP.

use std::sync::Arc;

use agenthub_access::{
    Admitted, Credential, Denied, Identities, Needs, PageRefusal, QuotaExceeded, StreamPermit,
    audit::Source, route,
};
use agenthub_proto::retry_after;
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tonic::codegen::Service as _;

use super::{
    addressing, credential,
    ending::{EndingBody, Form, unauthenticated},
    recording,
};
use crate::namespaces::{Namespaces, NoServices, Served};

/// Words for who wants a page and is no browser, which is led to the login.
const PAGE: &str = "Log in at /ui/login, or send a token.";

/// Lets nobody to these routes but those of the namespace `served` who may use them, and those of other namespaces to theirs.
pub fn gated(
    routes: Router,
    served: Served,
    others: Namespaces<Router>,
    identities: Identities,
) -> Router {
    let gate = Gate {
        routes,
        served,
        others,
        identities,
    };
    // Before any route is matched: what one router has matched confuses another one.
    Router::new().fallback(pass).with_state(gate)
}

#[derive(Clone)]
struct Gate {
    routes: Router,
    served: Served,
    others: Namespaces<Router>,
    identities: Identities,
}

async fn pass(State(gate): State<Gate>, mut request: Request) -> Response {
    let identities = &gate.identities;
    if let Some(why) = addressing::fault(request.version(), request.uri(), request.headers()) {
        let path = request.uri().path();
        let action = recording::http_action(request.method().as_str(), path);
        recording::turned_away(identities, None, Source::Http, &action, why);
        return problem(StatusCode::BAD_REQUEST, why, path);
    }
    let mut needs = route(request.method().as_str(), request.uri().path());
    let mut admitted = admit(identities, needs, &request);
    let mut is_refused = false;
    if let Err(Denied::PermissionDenied(why)) = &admitted
        && wants_page(&request)
    {
        // A page says so, and does nothing else: the request is for that one from here on.
        let refusal = PageRefusal {
            path: request.uri().path().to_owned(),
            why: why.clone(),
        };
        needs = Needs::Identity;
        admitted = admit(identities, needs, &request);
        *request.uri_mut() = Uri::from_static(PageRefusal::ROUTE);
        request.extensions_mut().insert(refusal);
        is_refused = true;
    }
    let admitted = match admitted {
        Ok(admitted) => admitted,
        Err(denied) => {
            return match (&denied, leads_to_login(&request)) {
                (Denied::Unauthenticated(_), Some(login)) => login,
                _ => refused(&denied, is_page(&request), request.uri().path()),
            };
        }
    };
    let other = gate
        .others
        .services_for(&gate.served, Some(needs), &admitted);
    let other = match other {
        Ok(other) => other,
        Err(why) => {
            let path = request.uri().path();
            let action = recording::http_action(request.method().as_str(), path);
            let caller = &admitted.caller;
            recording::not_served(identities, caller, Source::Http, &action, why);
            return no_services(why, path);
        }
    };
    let meter = identities.meter(&admitted.caller);
    let extensions = request.extensions_mut();
    extensions.insert(Arc::clone(&admitted.caller));
    // For pages, which call in its name.
    extensions.insert(admitted.clone());
    if !meter.is_unlimited() {
        extensions.insert(meter);
    }
    let is_asked_for = *request.method() != Method::HEAD;
    let path = request.uri().path().to_owned();
    let recorded = recording::before_http(identities, &admitted.caller, request).await;
    let (request, witness) = match recorded {
        Ok(recorded) => recorded,
        Err((status, why)) => return problem(status, &why, &path),
    };
    let mut routes = other.unwrap_or(gate.routes);
    let answer = match identities.is_open() {
        true => routes.call(request).await,
        false => {
            // Some wait for what agents do.
            tokio::select! {
                answer = routes.call(request) => answer,
                why = unauthenticated(identities, &admitted) => {
                    return refused(&Denied::Unauthenticated(why), false, &path);
                }
            }
        }
    };
    let mut answer = answer.unwrap_or_else(|never| match never {});
    // A refusal that a page shows was recorded when it was decided.
    if !is_refused {
        recording::after_http(&witness, &path, &answer);
    }
    // An answer that is there already ends by itself.
    let is_long = answer.headers().get(header::CONTENT_LENGTH).is_none()
        && hyper::body::Body::size_hint(answer.body())
            .exact()
            .is_none();
    if !is_asked_for || !is_long {
        return answer;
    }
    let (end, form) = match is_events(&answer) {
        false => (identities.waiting(&admitted), Form::Other),
        true => {
            // A service that does something before its stream begins has taken the permit before.
            let permit = answer.extensions_mut().remove::<StreamPermit>();
            match identities.open_stream_with(&admitted, permit) {
                Ok(end) => (end, Form::Events),
                Err(exceeded) => return too_many(&exceeded, &path),
            }
        }
    };
    answer.map(|body| Body::new(EndingBody::new(body, end, form)))
}

fn is_events(answer: &Response) -> bool {
    let content_type = answer.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// The answer to who has as many streams as its quotas allow.
fn too_many(exceeded: &QuotaExceeded, path: &str) -> Response {
    let mut answer = problem(StatusCode::TOO_MANY_REQUESTS, &exceeded.to_string(), path);
    retry_after::ask(answer.headers_mut(), exceeded.retry_after());
    answer
}

fn admit(identities: &Identities, needs: Needs, request: &Request) -> Result<Admitted, Denied> {
    if needs == Needs::Nothing && !identities.is_open() {
        return Ok(Admitted::nobody());
    }
    let presented = credential(request.headers(), request.extensions());
    let session = identities.cookies().read(request.headers());
    let credential = match (presented, session) {
        // A cookie counts for pages alone: what calls other routes names its token.
        (Credential::None | Credential::Certificate(_), Some(session)) if is_page(request) => {
            Credential::Session(session)
        }
        (presented, _) => presented,
    };
    let admitted = identities.authenticate(credential);
    let admitted = admitted.inspect_err(|denied| {
        recording::turned_away_http(identities, None, request, denied);
    })?;
    let checked = needs.check(&admitted.caller);
    let checked = checked.map_err(Denied::PermissionDenied);
    let checked = checked.inspect_err(|denied| {
        recording::turned_away_http(identities, Some(&admitted.caller), request, denied);
    });
    checked.map(|()| admitted)
}

fn is_page(request: &Request) -> bool {
    let path = request.uri().path();
    // What is posted to `/` is A2A.
    path == "/" && request.method().is_safe() || path.starts_with("/ui/")
}

/// True for a browser that wants to see a page.
fn wants_page(request: &Request) -> bool {
    is_page(request) && request.method().is_safe() && takes_html(request)
}

fn takes_html(request: &Request) -> bool {
    let accepted = request.headers().get(header::ACCEPT);
    let accepted = accepted.and_then(|accepted| accepted.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// The way to the login, for a browser that wants a page.
fn leads_to_login(request: &Request) -> Option<Response> {
    if !is_page(request) || !takes_html(request) {
        return None;
    }
    let wanted = request.uri().path_and_query().map_or("/", |p| p.as_str());
    let location = match request.method().is_safe() && wanted != "/" {
        true => format!("/ui/login?next={}", in_query(wanted)),
        false => "/ui/login".to_owned(),
    };
    let no_store = (header::CACHE_CONTROL, "no-store".to_owned());
    let headers = [(header::LOCATION, location), no_store];
    Some((StatusCode::SEE_OTHER, headers).into_response())
}

/// A text as a value in a query.
fn in_query(text: &str) -> String {
    text.bytes().fold(String::new(), |coded, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
            coded + &char::from(byte).to_string()
        }
        _ => coded + &format!("%{byte:02X}"),
    })
}

/// The answer to who is refused.
fn refused(denied: &Denied, is_page: bool, path: &str) -> Response {
    let status = match denied {
        Denied::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Denied::PermissionDenied(_) => StatusCode::FORBIDDEN,
        Denied::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut answer = match (is_page, denied) {
        (true, Denied::Unauthenticated(why)) => {
            (status, format!("{PAGE}\n{why}\n")).into_response()
        }
        (true, Denied::PermissionDenied(why) | Denied::Unavailable(why)) => {
            (status, format!("{why}\n")).into_response()
        }
        (false, _) => problem(status, &denied.to_string(), path),
    };
    if status == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer realm=\"agenthub\"");
        answer
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, scheme);
    }
    answer
}

/// The answer to who is let in and finds nothing.
fn no_services(why: NoServices, path: &str) -> Response {
    let status = match why {
        NoServices::NotYet => StatusCode::SERVICE_UNAVAILABLE,
        NoServices::Unknown => StatusCode::FORBIDDEN,
    };
    problem(status, &why.to_string(), path)
}

/// A problem as RFC 9457 has it.
fn problem(status: StatusCode, detail: &str, path: &str) -> Response {
    let body = json!({
        "type": "about:blank",
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "detail": detail,
        "instance": path,
    });
    let headers = [
        (header::CONTENT_TYPE, "application/problem+json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, format!("{body}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_is_told_when_to_come_back_does_not_come_too_early() {
        for (milliseconds, seconds) in [(200, "1"), (1_500, "2"), (3_000, "3")] {
            let again = Duration::from_millis(milliseconds);
            let answer = too_many(&QuotaExceeded::of_mailbox("a", again), "/x");
            assert_eq!(answer.headers()[header::RETRY_AFTER], seconds);
        }
    }
}
