//! Guard against pages of other sites in somebody's browser.
//!
//! Without identities, as on the hub, whoever reaches the address may use it, which is this machine unless it was opened on purpose.
//! A browser on this machine, though, reaches it for every page that it shows. A page cannot read answers, since no other origin is
//! allowed to (there is no CORS); that it can neither change anything nor read under a name of its own that it has led here (DNS
//! rebinding) is decided by [`Hosts`].

use agenthub_sdk::proto::browser::{Foreign, Hosts};
use axum::http::{HeaderMap, Method};

use super::problem::{Kind, Problem};

/// Checks whether a request may be answered, as far as its headers tell.
///
/// # Errors
///
/// It goes to another name, or it would change something for a page of another site.
pub(crate) fn check(hosts: Hosts, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    hosts.check(method, headers).map_err(|foreign| match foreign {
        Foreign::Host => Kind::ForeignHost.with(
            "it listens on loopback and answers to localhost and to addresses: call it by one of them, or have the \
             proxy in front of it set `Host`",
        ),
        Foreign::Origin => Kind::ForeignOrigin.with(
            "its `Origin` is not this server: ask from a program, or from a page of this server",
        ),
    })
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, header};

    use super::*;

    #[test]
    fn pages_of_others_are_told_what_is_wrong() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("localhost:1"));
        assert!(check(Hosts::Local, &Method::POST, &headers).is_ok());
        let origin = HeaderValue::from_static("https://evil.example");
        headers.insert(header::ORIGIN, origin);
        let problem = check(Hosts::Local, &Method::POST, &headers).expect_err("a foreign origin");
        assert_eq!(problem.details().status, 403);
        headers.insert(header::HOST, HeaderValue::from_static("evil.example"));
        let problem = check(Hosts::Local, &Method::GET, &headers).expect_err("a foreign host");
        assert_eq!(problem.details().status, 421);
    }
}
