//! Style and scripts of the pages. `scripts/page-assets` gets those of others from npm, and checks that they are what it gives.

use axum::{
    Router,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
    routing::get,
};

use crate::Pages;

/// Each file: its path, its content, and its media type.
const FILES: [(&str, &str, &str); 5] = [
    (
        "/ui/assets/icon.svg",
        include_str!("../assets/icon.svg"),
        "image/svg+xml",
    ),
    (
        "/ui/assets/page.css",
        include_str!("../assets/page.css"),
        "text/css; charset=utf-8",
    ),
    (
        "/ui/assets/page.js",
        include_str!("../assets/page.js"),
        "text/javascript; charset=utf-8",
    ),
    (
        "/ui/assets/htmx.min.js",
        include_str!("../assets/htmx.min.js"),
        "text/javascript; charset=utf-8",
    ),
    (
        "/ui/assets/hx-sse.min.js",
        include_str!("../assets/hx-sse.min.js"),
        "text/javascript; charset=utf-8",
    ),
];

/// The files change with the program, under the same names, so browsers ask again after a while.
const CACHE: HeaderValue = HeaderValue::from_static("private, max-age=60");

pub(crate) fn router() -> Router<Pages> {
    FILES
        .into_iter()
        .fold(Router::new(), |router, (path, content, media)| {
            router.route(path, get(move || async move { file(content, media) }))
        })
}

fn file(content: &'static str, media: &'static str) -> Response {
    (
        [
            (header::CONTENT_TYPE, HeaderValue::from_static(media)),
            (header::CACHE_CONTROL, CACHE),
        ],
        content,
    )
        .into_response()
}
