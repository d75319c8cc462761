//! Pages of other sites in somebody's browser: they may ask only if the settings let them (CORS).
//!
//! On loopback, requests under another name than this machine's are refused (DNS rebinding), as are requests that change something for a
//! page of another origin.

use agenthub_sdk::proto::local::is_local;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header, uri::Authority};

/// Origins that may ask.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    /// Only names of this machine.
    pub(super) local_only: bool,
    /// Such as `https://app.example`; `*` is any.
    pub(super) origins: Vec<String>,
}

impl Guard {
    /// # Errors
    ///
    /// The status and the reason of a refusal.
    pub(super) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(), (StatusCode, &'static str)> {
        let host = host(headers);
        if self.local_only && !host.as_ref().is_some_and(|host| is_local(host.host())) {
            let reason = "this hub listens on loopback and answers to localhost and to addresses";
            return Err((StatusCode::MISDIRECTED_REQUEST, reason));
        }
        if method.is_safe() || method == Method::OPTIONS {
            return Ok(());
        }
        for origin in headers.get_all(header::ORIGIN) {
            let text = origin.to_str().unwrap_or_default();
            let authority = text
                .split_once("://")
                .and_then(|(_, rest)| rest.parse::<Authority>().ok());
            let is_own = authority.is_some() && authority == host;
            if !is_own && self.allowed(headers).is_none() {
                let reason =
                    "pages of this Origin may not ask: the setting a2a.cors names those that may";
                return Err((StatusCode::FORBIDDEN, reason));
            }
        }
        Ok(())
    }

    /// The value of `Access-Control-Allow-Origin`, if the origin may ask.
    pub(super) fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let text = origin.to_str().ok()?;
        let is_allowed = self.origins.iter().any(|o| o == "*" || o == text);
        is_allowed.then(|| origin.clone())
    }
}

/// The host that a request names.
pub(super) fn host(headers: &HeaderMap) -> Option<Authority> {
    headers.get(header::HOST)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(method: Method, host: &str, origin: Option<&str>, origins: &[&str]) -> u16 {
        let guard = Guard {
            local_only: true,
            origins: origins.iter().map(|o| (*o).to_owned()).collect(),
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a header"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("a header"));
        }
        guard
            .check(&method, &headers)
            .map_or_else(|(s, _)| s.as_u16(), |()| 200)
    }

    #[test]
    fn pages_of_other_sites_ask_only_if_they_may() {
        let site = Some("https://app.example");
        assert_eq!(answer(Method::POST, "localhost:1", None, &[]), 200);
        assert_eq!(
            answer(Method::POST, "localhost:1", Some("http://localhost:1"), &[]),
            200
        );
        assert_eq!(answer(Method::POST, "localhost:1", site, &[]), 403);
        assert_eq!(answer(Method::POST, "localhost:1", Some("null"), &[]), 403);
        assert_eq!(
            answer(Method::POST, "localhost:1", site, &["https://app.example"]),
            200
        );
        assert_eq!(answer(Method::POST, "localhost:1", site, &["*"]), 200);
        assert_eq!(answer(Method::GET, "evil.example", None, &["*"]), 421);
        assert_eq!(answer(Method::GET, "[::1]:1", None, &[]), 200);
    }
}
