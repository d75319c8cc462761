//! Cards, one (specification §8) or many.

use agenthub_sdk::proto::{
    agenthub::{AgentEntry, AgentState, ListAgentsRequest},
    event::system_time,
};
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;
use uuid::Uuid;

use super::{ParsedRequest, query, reply};
use crate::{
    Gateway,
    card::{served, written},
    error::{Error, UNKNOWN_TOKEN},
};

/// Media type of a set of keys (RFC 7517).
const KEY_SET: &str = "application/jwk-set+json";

/// Time for which a card is fresh, in seconds.
const MAX_AGE: u32 = 60;

/// `GET …/.well-known/agent-card.json`
pub(super) async fn card(gateway: &Gateway, asked: &ParsedRequest) -> Response {
    let slug = asked.path.slug.as_deref();
    let found = find(gateway, slug).await;
    let entry = match found {
        Ok(entry) => entry,
        Err(error) => return (error.kind.http(), format!("{error}\n")).into_response(),
    };
    let place = gateway.place(&asked.headers, &asked.caller);
    let card = entry.agent_card.unwrap_or_default();
    let card = served(&card, slug, &place, gateway.offer(slug));
    let key = gateway.card_key();
    let key_id = key.map_or("", |key| key.id());
    let content = format!("{key_id} {}", crate::json::to_json(&card));
    let tag = Uuid::new_v5(&Uuid::NAMESPACE_OID, content.as_bytes());
    // Signatures of the same may differ.
    let weak = if key.is_some() { "W/" } else { "" };
    let tag = format!("{weak}\"{}\"", tag.simple());
    let modified = entry.registered_at.as_ref().and_then(system_time);
    let mut response = match is_fresh(asked, &tag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => reply::json(StatusCode::OK, reply::JSON, &written(&card, &place, key)),
    };
    let headers = response.headers_mut();
    let max_age = format!("public, max-age={MAX_AGE}");
    for (name, value) in [
        (header::ETAG, Some(tag)),
        (header::CACHE_CONTROL, Some(max_age)),
        (header::LAST_MODIFIED, modified.map(httpdate::fmt_http_date)),
    ] {
        if let Some(value) = value.and_then(|v| HeaderValue::try_from(v).ok()) {
            headers.insert(name, value);
        }
    }
    response
}

async fn find(gateway: &Gateway, slug: Option<&str>) -> Result<AgentEntry, Error> {
    let operations = gateway.operations();
    let slug = slug.unwrap_or(&operations.default_agent);
    let target = operations.hub.agent(slug).await?;
    Ok(operations.hub.client()?.agent(target.id).await?)
}

/// True if the caller has this card already (§8.6.2).
fn is_fresh(asked: &ParsedRequest, tag: &str) -> bool {
    let known = asked.header("if-none-match").unwrap_or_default();
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let mut tags = known.split(',').map(opaque);
    tags.any(|known| known == opaque(tag) || known == "*")
}

/// `GET /.well-known/jwks.json`: the public key of signed cards.
pub(super) fn keys(gateway: &Gateway) -> Response {
    let Some(key) = gateway.card_key() else {
        return (StatusCode::NOT_FOUND, "cards are not signed here\n").into_response();
    };
    let mut response = reply::json(StatusCode::OK, KEY_SET, &key.key_set());
    if let Ok(max_age) = HeaderValue::try_from(format!("public, max-age={MAX_AGE}")) {
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, max_age);
    }
    response
}

/// `GET /agents?text=&skill=&tag=&mode=&pageSize=&pageToken=`
pub(super) async fn list(gateway: &Gateway, asked: &ParsedRequest) -> Response {
    match listed(gateway, asked).await {
        Ok(page) => reply::json(StatusCode::OK, reply::JSON, &page),
        Err(error) => super::rest::failed(&error),
    }
}

async fn listed(gateway: &Gateway, asked: &ParsedRequest) -> Result<serde_json::Value, Error> {
    let mut request = ListAgentsRequest::default();
    for (name, value) in query(&asked.query) {
        match name.as_str() {
            "text" => request.text = value,
            "skill" => request.skill = value,
            "tag" => request.tag = value,
            "mode" => request.mode = value,
            "pageToken" => request.page_token = value,
            "pageSize" => {
                let size = value.parse().ok().filter(|n| (1..=1000).contains(n));
                request.page_size = size.ok_or_else(|| {
                    Error::field(
                        "pageSize",
                        format!("pageSize is {value}; it is from 1 to 1000"),
                    )
                })?;
            }
            _ => {}
        }
    }
    let page = gateway.operations().hub.client()?.agents(request).await;
    let page = page.map_err(|error| match error {
        agenthub_sdk::Error::Invalid(why) => wrong_parameter(why),
        error => error.into(),
    })?;
    let place = gateway.place(&asked.headers, &asked.caller);
    let agents: Vec<_> = page
        .agents
        .into_iter()
        .map(|entry| {
            let card = entry.agent_card.clone().unwrap_or_default();
            json!({
                "id": entry.agent_id,
                "slug": entry.slug,
                "online": entry.state() == AgentState::Online,
                "cardUrl": format!("{}/agents/{}/.well-known/agent-card.json", place.http, entry.slug),
                "card": crate::json::to_json(&served(&card, Some(&entry.slug), &place, gateway.offer(Some(&entry.slug)))),
            })
        })
        .collect();
    Ok(json!({"agents": agents, "nextPageToken": page.next_page_token}))
}

/// A fault that the hub finds with a request for a list, with the name of the parameter.
fn wrong_parameter(why: String) -> Error {
    let filters = ["text", "skill", "tag", "mode"];
    match filters.into_iter().find(|name| why.starts_with(name)) {
        Some(filter) => Error::field(filter, why),
        None => Error::field("pageToken", UNKNOWN_TOKEN),
    }
}
