//! Requests of browsers: a page of another site can neither read under a name that it has led here (DNS rebinding) nor change anything. Two
//! headers that pages cannot forge say what is such a request.

use tonic::codegen::http::{HeaderMap, Method, header, uri::Authority};

use crate::local::is_local;

/// The names under which a server is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// Names of this machine, as the server listens on loopback: `localhost`, names below it, and addresses.
    Local,
    /// Any name, as the server listens for other machines, whose names for it are not known.
    #[default]
    Any,
}

/// The reason why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It goes to a name that is none of this machine.
    Host,
    /// It would change something, and comes from a page of another server.
    Origin,
}

impl Hosts {
    /// Checks whether a request may be answered, as far as its headers tell. One that reads may come from any page: the browser keeps the answer
    /// from it. One without an `Origin` comes from a program.
    ///
    /// # Errors
    ///
    /// The header that tells against it.
    pub fn check(self, method: &Method, headers: &HeaderMap) -> Result<(), Foreign> {
        self.check_host(headers)?;
        match method.is_safe() || origins(headers).all(|origin| origin == Some(Own)) {
            true => Ok(()),
            false => Err(Foreign::Origin),
        }
    }

    /// The same for requests that only pages of this server make: those that change something name it as their origin.
    ///
    /// # Errors
    ///
    /// The header that tells against it.
    pub fn check_page(self, method: &Method, headers: &HeaderMap) -> Result<(), Foreign> {
        self.check(method, headers)?;
        match method.is_safe() || origins(headers).next().is_some() {
            true => Ok(()),
            false => Err(Foreign::Origin),
        }
    }

    /// Checks the name that a request goes to.
    ///
    /// # Errors
    ///
    /// It is none of this machine, and has to be.
    pub fn check_host(self, headers: &HeaderMap) -> Result<(), Foreign> {
        let is_known = || host(headers).is_some_and(|host| is_local(host.host()));
        match self == Self::Any || is_known() {
            true => Ok(()),
            false => Err(Foreign::Host),
        }
    }
}

/// The host that a request names.
pub fn host(headers: &HeaderMap) -> Option<Authority> {
    headers.get(header::HOST)?.to_str().ok()?.parse().ok()
}

/// An origin that is this server.
#[derive(PartialEq)]
struct Own;

/// The origins of a request: [`Own`], or `None` for another.
fn origins(headers: &HeaderMap) -> impl Iterator<Item = Option<Own>> {
    let host = host(headers);
    headers.get_all(header::ORIGIN).iter().map(move |origin| {
        let authority = origin.to_str().ok()?.split_once("://")?.1;
        let authority = authority.parse::<Authority>().ok();
        (authority.is_some() && authority == host).then_some(Own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, origins: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if !host.is_empty() {
            headers.insert(header::HOST, host.parse().expect("a header"));
        }
        for origin in origins {
            headers.append(header::ORIGIN, origin.parse().expect("a header"));
        }
        headers
    }

    #[test]
    fn on_loopback_only_names_of_this_machine_are_answered() {
        for (host, is_answered) in [
            ("localhost", true),
            ("LocalHost:8080", true),
            ("localhost.", true),
            ("hub.localhost:8080", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("notlocalhost", false),
            ("", false),
        ] {
            let headers = headers(host, &[]);
            let checked = Hosts::Local.check(&Method::GET, &headers);
            let expected = if is_answered {
                Ok(())
            } else {
                Err(Foreign::Host)
            };
            assert_eq!(checked, expected, "{host}");
            assert_eq!(Hosts::Any.check(&Method::GET, &headers), Ok(()));
        }
    }

    #[test]
    fn pages_of_others_change_nothing() {
        for (origins, is_answered) in [
            (&["http://localhost:8080"][..], true),
            (&["https://localhost:8080"], true),
            (&["http://LOCALHOST:8080"], true),
            (&["http://localhost:8081"], false),
            (&["http://localhost"], false),
            (&["http://127.0.0.1:8080"], false),
            (&["https://evil.example"], false),
            (&["null"], false),
            (&[""], false),
            (&["http://localhost:8080", "https://evil.example"], false),
        ] {
            let headers = headers("localhost:8080", origins);
            let expected = if is_answered {
                Ok(())
            } else {
                Err(Foreign::Origin)
            };
            for hosts in [Hosts::Local, Hosts::Any] {
                assert_eq!(
                    hosts.check(&Method::POST, &headers),
                    expected,
                    "{origins:?}"
                );
                assert_eq!(hosts.check_page(&Method::POST, &headers), expected);
                assert_eq!(hosts.check_page(&Method::GET, &headers), Ok(()));
            }
        }
        let program = headers("localhost:8080", &[]);
        assert_eq!(Hosts::Local.check(&Method::POST, &program), Ok(()));
        let page = Hosts::Local.check_page(&Method::POST, &program);
        assert_eq!(
            page,
            Err(Foreign::Origin),
            "a form of a page says where it comes from"
        );
        let nowhere = headers("", &["http://localhost:8080"]);
        assert_eq!(
            Hosts::Any.check(&Method::POST, &nowhere),
            Err(Foreign::Origin)
        );
    }
}
