//! A2A over HTTP: cards, JSON-RPC (specification §9) and HTTP+JSON (§11) on the same paths.
//!
//! `path.rs` says what a path asks for, `guard.rs` who may ask, `body.rs` how much may come and until when. `jsonrpc.rs` and `rest.rs` are the bindings.

mod body;
mod cards;
mod guard;
mod jsonrpc;
mod path;
mod reply;
mod rest;

use std::sync::Arc;

use agenthub_access::{Action, Caller, Meter, audit::Witness};
use agenthub_sdk::proto::browser::{self, Hosts};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::any,
};

use self::{
    guard::Guard,
    path::{Path, Resource},
};
use crate::{
    Gateway,
    card::Place,
    operations::Call,
    rights::may,
    version::{EXTENSIONS_HEADER, VERSION_HEADER},
};

/// Every path that is served; `path.rs` reads them.
const PATHS: [&str; 18] = [
    "/",
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/.well-known/jwks.json",
    "/message:send",
    "/message:stream",
    "/tasks",
    "/tasks/{*rest}",
    "/extendedAgentCard",
    "/agents",
    "/agents/",
    "/agents/{slug}",
    "/agents/{slug}/",
    "/agents/{slug}/{*rest}",
    "/{tenant}/message:send",
    "/{tenant}/message:stream",
    "/{tenant}/tasks",
    "/{tenant}/tasks/{*rest}",
];

/// The routes. Merge them with others that are not among `PATHS`.
pub(crate) fn router(gateway: Gateway) -> Router {
    let answer = any(answer);
    let routes = PATHS.iter().fold(Router::new(), |router, path| {
        router.route(path, answer.clone())
    });
    routes.with_state(gateway)
}

/// A request, read as far as every binding needs it.
struct ParsedRequest {
    method: Method,
    headers: HeaderMap,
    query: String,
    body: Bytes,
    path: Path,
    caller: Arc<Caller>,
    witness: Witness,
    meter: Meter,
}

impl ParsedRequest {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The version of A2A, which may be in the query as well (§3.6.1).
    fn version(&self) -> Option<String> {
        let header = self.header(VERSION_HEADER).filter(|v| !v.is_empty());
        let header = header.map(str::to_owned);
        header.or_else(|| {
            let mut pairs = query(&self.query).into_iter();
            pairs
                .find(|(name, _)| name.eq_ignore_ascii_case(VERSION_HEADER))
                .map(|(_, value)| value)
        })
    }

    fn call(&self) -> Call {
        let extensions = self.headers.get_all(EXTENSIONS_HEADER).iter();
        let extensions = extensions
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(|uri| uri.trim().to_owned())
            .filter(|uri| !uri.is_empty());
        Call {
            slug: self.path.slug.clone(),
            extensions: extensions.collect(),
            traceparent: self.header("traceparent").unwrap_or_default().to_owned(),
            is_old: false,
            authorization: self.header("authorization").unwrap_or_default().to_owned(),
            caller: Arc::clone(&self.caller),
            witness: self.witness.clone(),
            meter: self.meter.clone(),
        }
    }

    /// True if the body says that it is JSON (§9.1, §11.1). Resource a page can send without being asked for it is none.
    fn is_json(&self) -> bool {
        let essence = self
            .header("content-type")
            .and_then(|t| t.split(';').next())
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        essence == "application/json" || essence == "application/a2a+json"
    }
}

async fn answer(State(gateway): State<Gateway>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let guard = gateway.guard();
    if let Err((status, reason)) = guard.check(&parts.method, &parts.headers) {
        return (status, format!("{reason}\n")).into_response();
    }
    let allowed = guard.allowed(&parts.headers);
    let mut response = match parts.method == Method::OPTIONS {
        true => preflight(allowed.is_some()),
        false => serve(&gateway, parts, body).await,
    };
    let headers = response.headers_mut();
    if let Some(origin) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let exposed = HeaderValue::from_static("ETag, Last-Modified");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    if !guard.origins.is_empty() {
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    let no_store = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(no_store);
    let no_sniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, no_sniff);
    response
}

fn preflight(is_allowed: bool) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    if is_allowed {
        let headers = response.headers_mut();
        let methods = HeaderValue::from_static("GET, POST, DELETE");
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        let names = HeaderValue::from_static(
            "Content-Type, Authorization, A2A-Version, A2A-Extensions, If-None-Match, traceparent",
        );
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
        headers.insert(
            header::ACCESS_CONTROL_MAX_AGE,
            HeaderValue::from_static("600"),
        );
    }
    response
}

async fn serve(gateway: &Gateway, parts: axum::http::request::Parts, body: Body) -> Response {
    let Some(path) = path::read(parts.uri.path()) else {
        let fault = format!("nothing of A2A is at {}", parts.uri.path());
        return rest::refused(StatusCode::NOT_FOUND, &fault);
    };
    let body = match body::read(body).await {
        Ok(body) => body,
        Err((status, reason)) => {
            return match path.resource {
                Resource::Rpc => jsonrpc::refused(status, reason),
                Resource::Rest(_) => rest::refused(status, &reason),
                Resource::Agents | Resource::Card | Resource::Keys => {
                    (status, format!("{reason}\n")).into_response()
                }
            };
        }
    };
    let resource = path.resource.clone();
    let asked = ParsedRequest {
        method: parts.method,
        headers: parts.headers,
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body,
        path,
        caller: Caller::of_request(&parts.extensions),
        witness: Witness::of_request(&parts.extensions),
        meter: Meter::of_request(&parts.extensions),
    };
    let is_read = asked.method == Method::GET || asked.method == Method::HEAD;
    // Cards are the directory.
    if matches!(resource, Resource::Agents | Resource::Card)
        && let Err(error) = may(&asked.caller, Action::SeeDirectory)
    {
        return (error.kind.http(), format!("{error}\n")).into_response();
    }
    match resource {
        Resource::Agents if is_read => cards::list(gateway, &asked).await,
        Resource::Card if is_read => cards::card(gateway, &asked).await,
        Resource::Keys if is_read => cards::keys(gateway),
        Resource::Agents | Resource::Card | Resource::Keys => not_allowed("GET"),
        Resource::Rpc if asked.method == Method::POST => jsonrpc::answer(gateway, &asked).await,
        Resource::Rpc => not_allowed("POST"),
        Resource::Rest(operation) => rest::answer(gateway, &asked, operation).await,
    }
}

fn not_allowed(allow: &'static str) -> Response {
    let fault = format!("the method here is one of {allow}");
    let mut response = rest::refused(StatusCode::METHOD_NOT_ALLOWED, &fault);
    let allow = HeaderValue::from_static(allow);
    response.headers_mut().insert(header::ALLOW, allow);
    response
}

/// The pairs of a query, decoded.
fn query(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        percent_encoding::percent_decode_str(&text)
            .decode_utf8_lossy()
            .into_owned()
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

impl Gateway {
    fn guard(&self) -> Guard {
        Guard {
            hosts: match self.settings().local_only {
                true => Hosts::Local,
                false => Hosts::Any,
            },
            origins: self.settings().cors.clone(),
        }
    }

    /// The addresses as this caller sees them.
    fn place(&self, headers: &HeaderMap, caller: &Caller) -> Place {
        self.place_for(browser::host(headers), caller)
    }
}
