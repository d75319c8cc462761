//! Guard against pages of other sites in somebody's browser.
//!
//! Nobody's identity is checked, as on the hub: whoever reaches the address may use it, which is this machine unless it was opened on purpose.
//! A browser on this machine, though, reaches it for every page that it shows. A page cannot read answers, since no other origin is
//! allowed to (there is no CORS); so that it can neither change anything nor read under a name of its own that it has led here (DNS
//! rebinding), two headers that pages cannot forge are looked at.

use agenthub_sdk::proto::local::is_local;
use axum::http::{HeaderMap, Method, header, uri::Authority};

use super::problem::{Kind, Problem};

/// The names under which the server is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// Names of this machine, as the server listens on loopback: `localhost`, names below it, and addresses.
    Local,
    /// Any name, as the server listens for other machines, whose names for it are not known.
    Any,
}

impl Hosts {
    /// Checks whether a request may be answered, as far as its headers tell.
    ///
    /// # Errors
    ///
    /// It goes to another name, or it would change something for a page of another site.
    pub(crate) fn check(self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        let host = authority(headers);
        if self == Self::Local && !host.as_ref().is_some_and(|host| is_local(host.host())) {
            return Err(Kind::ForeignHost.with(
                "it listens on loopback and answers to localhost and to addresses: call it by one of them, or have the \
                 proxy in front of it set `Host`",
            ));
        }
        if method.is_safe() {
            return Ok(());
        }
        for origin in headers.get_all(header::ORIGIN) {
            let origin = origin.to_str().ok();
            let origin = origin.and_then(|o| o.split_once("://")?.1.parse::<Authority>().ok());
            if origin.is_none() || origin != host {
                return Err(Kind::ForeignOrigin.with(
                    "its `Origin` is not this server: ask from a program, or from a page of this server",
                ));
            }
        }
        Ok(())
    }
}

fn authority(headers: &HeaderMap) -> Option<Authority> {
    headers.get(header::HOST)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn answer(hosts: Hosts, method: Method, host: &'static str, origin: &[&'static str]) -> u16 {
        let mut headers = HeaderMap::new();
        if !host.is_empty() {
            headers.insert(header::HOST, HeaderValue::from_static(host));
        }
        for origin in origin {
            headers.append(header::ORIGIN, HeaderValue::from_static(origin));
        }
        let checked = hosts.check(&method, &headers);
        checked.map_or_else(|problem| problem.details().status, |()| 200)
    }

    #[test]
    fn on_loopback_only_names_of_this_machine_are_answered() {
        for (host, status) in [
            ("localhost", 200),
            ("LocalHost:8080", 200),
            ("localhost.", 200),
            ("hub.localhost:8080", 200),
            ("127.0.0.1:8080", 200),
            ("[::1]:8080", 200),
            ("evil.example", 421),
            ("localhost.evil.example", 421),
            ("127.0.0.1.evil.example", 421),
            ("notlocalhost", 421),
            ("", 421),
        ] {
            assert_eq!(
                answer(Hosts::Local, Method::GET, host, &[]),
                status,
                "{host}"
            );
        }
        assert_eq!(answer(Hosts::Any, Method::GET, "hub.example", &[]), 200);
    }

    #[test]
    fn pages_of_others_change_nothing() {
        let host = "localhost:8080";
        for (origin, status) in [
            (&[][..], 200),
            (&["http://localhost:8080"], 200),
            (&["https://localhost:8080"], 200),
            (&["http://LOCALHOST:8080"], 200),
            (&["http://localhost:8081"], 403),
            (&["http://localhost"], 403),
            (&["http://127.0.0.1:8080"], 403),
            (&["https://evil.example"], 403),
            (&["null"], 403),
            (&[""], 403),
            (&["http://localhost:8080", "https://evil.example"], 403),
        ] {
            for hosts in [Hosts::Local, Hosts::Any] {
                let changes = answer(hosts, Method::POST, host, origin);
                assert_eq!(changes, status, "{origin:?}");
            }
            let reads = answer(Hosts::Local, Method::GET, host, origin);
            assert_eq!(
                reads, 200,
                "the browser keeps the answer from it: {origin:?}"
            );
        }
    }
}
