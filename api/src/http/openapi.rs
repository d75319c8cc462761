//! The OpenAPI document, made from the routes, and the page that shows it.

use std::sync::LazyLock;

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use utoipa::{
    OpenApi,
    openapi::{self, ContentBuilder, Ref, RefOr, ResponseBuilder, path::Operation},
};

use super::{BASE, frame::Frame, problem, problem::Details, routes, watching::GraphForm};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "AgentHub: runs",
        description = "Starts runs of the orchestrator, watches them, and answers what they ask. Every error is a problem of RFC 9457. \
                       Nobody's identity is checked: it listens on loopback, and pages of other sites are refused.",
    ),
    tags(
        (name = "runs", description = "Starting runs, and what people decide about them"),
        (name = "watching", description = "What runs do and have done"),
        (name = "about", description = "This document"),
    ),
    components(schemas(Frame, GraphForm, Details)),
)]
struct Document;

/// As it is served.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let document = whole();
    serde_json::to_string(&document).expect("the document has only keys of text")
});

/// The page has neither anything from elsewhere nor anything of users in it.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The document: every route, and the problems that each may answer with.
pub(super) fn whole() -> openapi::OpenApi {
    let (_, routes) = routes().split_for_parts();
    let mut document = Document::openapi().nest(BASE, routes);
    for item in document.paths.paths.values_mut() {
        for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
            may_fail(operation);
        }
    }
    document
}

/// Adds what follows from the kind of a route: bodies may have wrong fields, and who asks for runs needs a Cortex and its journal.
fn may_fail(operation: &mut Operation) {
    let is_about_runs = operation.tags.iter().flatten().all(|tag| tag != "about");
    let mut may = vec![("default", "What went wrong")];
    if operation.request_body.is_some() {
        may.push(("422", "A field is not as it must be"));
    }
    if is_about_runs {
        may.push(("503", "Cortex, its journal or its hub does not answer"));
    }
    for (status, why) in may {
        let responses = &mut operation.responses.responses;
        let failed = || failure(why);
        responses.entry(status.to_owned()).or_insert_with(failed);
    }
}

fn failure(why: &str) -> RefOr<openapi::Response> {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("Problem")))
        .build();
    let response = ResponseBuilder::new()
        .description(why)
        .content(problem::MEDIA_TYPE, content);
    RefOr::T(response.build())
}

/// Gives this document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "about", operation_id = "getDocument",
    responses((status = 200, description = "The document, OpenAPI 3.1", body = Object))
)]
pub(super) async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], &**TEXT).into_response()
}

/// Shows this document.
#[utoipa::path(
    get, path = "/docs", tag = "about", operation_id = "getPage",
    responses((status = 200, description = "A page for people", body = String, content_type = "text/html"))
)]
pub(super) async fn page() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    (headers, include_str!("docs.html")).into_response()
}
