//! The place where a browser is: the path of a request and what is asked for in it.

use std::collections::HashMap;

use axum::{
    extract::{FromRequestParts, Path, Query},
    http::{StatusCode, request::Parts},
};

use crate::trouble::Trouble;

/// A place among the pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// Path and query, as in a link.
    pub(crate) url: String,
    path: HashMap<String, String>,
    query: HashMap<String, String>,
    last_event: String,
}

impl Place {
    /// A part of the path; empty if the route has none of that name.
    pub(crate) fn path(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The value that is asked for by that name, without spaces around it; empty if there is none.
    pub(crate) fn query(&self, name: &str) -> &str {
        self.query.get(name).map_or("", |value| value.trim())
    }

    /// The position that a page has seen which lost its stream; empty of any other.
    pub(crate) fn last_event(&self) -> &str {
        &self.last_event
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Place {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Trouble> {
        let unreadable = || Trouble::new(StatusCode::BAD_REQUEST, "This address cannot be read.");
        let path = Path::from_request_parts(parts, state).await;
        let query = Query::from_request_parts(parts, state).await;
        let url = parts.uri.path_and_query().map_or("/", |p| p.as_str());
        let last_event = parts.headers.get("last-event-id");
        let last_event = last_event
            .and_then(|id| id.to_str().ok())
            .unwrap_or_default();
        Ok(Self {
            url: url.to_owned(),
            path: path.map_err(|_| unreadable())?.0,
            query: query.map_err(|_| unreadable())?.0,
            last_event: last_event.to_owned(),
        })
    }
}
