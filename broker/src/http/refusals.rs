//! Words for refusals of routers, which have none, or which only people can read (RFC 9457).

use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
};
use hyper::body::Body as _;
use serde_json::json;

/// Maximum bytes of a text that becomes the detail of a problem.
const TEXT: u64 = 4 * 1024;
/// Maximum characters of a path in words.
const PATH: usize = 100;

/// A request, as far as the words for its refusal need it.
pub(super) struct RequestSummary {
    method: Method,
    path: String,
    takes_html: bool,
}

impl RequestSummary {
    pub(super) fn of(request: &Parts) -> Self {
        let accept = request.headers.get(header::ACCEPT);
        let accept = accept.and_then(|accept| accept.to_str().ok());
        Self {
            method: request.method.clone(),
            path: request.uri.path().to_owned(),
            takes_html: accept.is_some_and(|accept| accept.contains("text/html")),
        }
    }
}

/// The answer; a refusal without words, or in plain text for a program, as a problem.
pub(super) async fn in_words(request: RequestSummary, answer: Response) -> Response {
    let Some(length) = length_of_plain(&answer) else {
        return answer;
    };
    let is_told = length > 0 && request.takes_html;
    if request.method == Method::HEAD || is_told {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let text = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let detail = match text.trim() {
        "" => words(parts.status, &request, &parts.headers),
        text => text.to_owned(),
    };
    let problem = json!({
        "type": "about:blank",
        "title": parts.status.canonical_reason(),
        "status": parts.status.as_u16(),
        "detail": detail,
        "instance": request.path,
    });
    let headers = &mut parts.headers;
    headers.remove(header::CONTENT_LENGTH);
    let content_type = HeaderValue::from_static("application/problem+json");
    headers.insert(header::CONTENT_TYPE, content_type);
    let no_store = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(no_store);
    let no_sniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, no_sniff);
    Response::from_parts(parts, Body::from(format!("{problem}\n")))
}

/// Bytes of the body of a refusal that is empty or plain text.
fn length_of_plain(answer: &Response) -> Option<u64> {
    let content_type = answer.headers().get(header::CONTENT_TYPE);
    let is_plain = content_type.is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    let length = answer.body().size_hint().exact()?;
    (answer.status().is_client_error() && is_plain && length <= TEXT).then_some(length)
}

/// The words for a refusal that has none.
fn words(status: StatusCode, request: &RequestSummary, headers: &HeaderMap) -> String {
    let path: String = request.path.chars().take(PATH).collect();
    let method = &request.method;
    let allow = headers.get(header::ALLOW).and_then(|a| a.to_str().ok());
    match (status, allow) {
        (StatusCode::NOT_FOUND, _) => format!(
            "nothing is at {path}: see that the path is spelt right; /v1/openapi.json lists those for runs, /agents the agents"
        ),
        (StatusCode::METHOD_NOT_ALLOWED, Some(allow)) => {
            format!("{path} does not take {method}: send one of {allow}")
        }
        (StatusCode::METHOD_NOT_ALLOWED, None) => {
            format!("{path} does not take {method}: send GET or what its documentation says")
        }
        (StatusCode::PAYLOAD_TOO_LARGE, _) => {
            format!("the body is larger than {path} takes: send less at once")
        }
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, _) => {
            format!(
                "{path} does not take a body of this Content-Type: send the one that its documentation says"
            )
        }
        _ => {
            let reason = status.canonical_reason().unwrap_or("refused");
            format!("{method} {path} was refused ({reason}): see that the request is right")
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::{
        Router,
        http::{Request, Uri},
        response::IntoResponse as _,
        routing::{get, post},
    };
    use serde_json::Value;
    use tower::ServiceExt as _;

    use super::*;

    async fn answered(method: &str, path: &str, accept: &str) -> (Response, RequestSummary) {
        let router = Router::new()
            .route("/health", get(async || "ok"))
            .route("/form", post(async || StatusCode::UNSUPPORTED_MEDIA_TYPE))
            .route("/large", get(async || StatusCode::PAYLOAD_TOO_LARGE))
            .route("/odd", get(async || StatusCode::IM_A_TEAPOT))
            .route(
                "/told",
                get(async || (StatusCode::FORBIDDEN, "ask alice\n")),
            )
            .route("/down", get(async || StatusCode::SERVICE_UNAVAILABLE))
            .route(
                "/json",
                get(async || {
                    let json = [(header::CONTENT_TYPE, "application/json")];
                    (StatusCode::NOT_FOUND, json, "{}").into_response()
                }),
            );
        let request = Request::builder()
            .method(method)
            .uri(path.parse::<Uri>().expect("a path"))
            .header(header::ACCEPT, accept);
        let (parts, body) = request.body(Body::empty()).expect("right").into_parts();
        let summary = RequestSummary::of(&parts);
        let answer = router.oneshot(Request::from_parts(parts, body)).await;
        (answer.expect("it never fails"), summary)
    }

    async fn refused(method: &str, path: &str, accept: &str) -> (u16, Value) {
        let (answer, request) = answered(method, path, accept).await;
        let answer = in_words(request, answer).await;
        let status = answer.status().as_u16();
        let is_problem = answer
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind == "application/problem+json");
        let body = to_bytes(answer.into_body(), usize::MAX).await;
        let body = body.expect("a body");
        match is_problem {
            true => (status, serde_json::from_slice(&body).expect("JSON")),
            false => (status, String::from_utf8_lossy(&body).into_owned().into()),
        }
    }

    /// Issue 25, RFC 9457: every refusal says what, where and what to do.
    #[tokio::test]
    async fn a_refusal_without_words_gets_some() {
        for (method, path, status, said) in [
            (
                "POST",
                "/health",
                405,
                "/health does not take POST: send one of GET,HEAD",
            ),
            (
                "BREW",
                "/form",
                405,
                "/form does not take BREW: send one of POST",
            ),
            ("GET", "/nothing", 404, "nothing is at /nothing: "),
            (
                "POST",
                "/form",
                415,
                "/form does not take a body of this Content-Type",
            ),
            ("GET", "/large", 413, "larger than /large takes"),
            ("GET", "/odd", 418, "GET /odd was refused (I'm a teapot)"),
            ("GET", "/told", 403, "ask alice"),
        ] {
            let (found, problem) = refused(method, path, "*/*").await;
            assert_eq!(found, status, "{problem}");
            assert_eq!(problem["status"], status, "{problem}");
            assert_eq!(problem["instance"], path, "{problem}");
            let detail = problem["detail"].as_str().expect("a detail");
            assert!(
                detail.starts_with(said) || detail.contains(said),
                "{detail}"
            );
        }
    }

    #[tokio::test]
    async fn other_answers_stay_as_they_are() {
        for (method, path, accept, body) in [
            ("GET", "/health", "*/*", "ok"),
            ("GET", "/told", "text/html,*/*", "ask alice\n"),
            ("GET", "/down", "*/*", ""),
            ("GET", "/json", "*/*", "{}"),
            ("HEAD", "/nothing", "*/*", ""),
        ] {
            let (_, found) = refused(method, path, accept).await;
            assert_eq!(found, body, "{method} {path}");
        }
    }
}
