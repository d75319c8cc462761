//! Pages of other sites in somebody's browser: they may ask only if the settings let them (CORS).
//!
//! On loopback, requests under another name than this machine's are refused (DNS rebinding), as are requests that change something for a
//! page of another origin.

use agenthub_sdk::proto::browser::{Foreign, Hosts};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};

/// Origins that may ask.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    /// Names that it is called by.
    pub(super) hosts: Hosts,
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
        match self.hosts.check(method, headers) {
            Err(Foreign::Host) => Err((
                StatusCode::MISDIRECTED_REQUEST,
                "this hub listens on loopback and answers to localhost and to addresses",
            )),
            Err(Foreign::Origin) if self.allowed(headers).is_none() => Err((
                StatusCode::FORBIDDEN,
                "pages of this Origin may not ask: the setting a2a.cors names those that may",
            )),
            Ok(()) | Err(Foreign::Origin) => Ok(()),
        }
    }

    /// The value of `Access-Control-Allow-Origin`, if the origin may ask.
    pub(super) fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let text = origin.to_str().ok()?;
        let is_allowed = self.origins.iter().any(|o| o == "*" || o == text);
        is_allowed.then(|| origin.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(method: Method, host: &str, origin: Option<&str>, origins: &[&str]) -> u16 {
        let guard = Guard {
            hosts: Hosts::Local,
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
