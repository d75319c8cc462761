//! Addresses of hubs.

use tonic::{
    codegen::http::{Uri, uri::Authority},
    transport::Endpoint,
};

/// Address of a hub: `http://host:port`, or `https://host:port` for TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubAddress {
    /// As it is called in requests.
    origin: Uri,
    /// As it is dialled: its scheme is `http`, as TLS is spoken below HTTP, and its port is explicit.
    dialled: Uri,
    is_tls: bool,
}

/// An address as it may be shown: without the user name and password that somebody has put into it.
pub fn without_login(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    match rest.rsplit_once('@') {
        Some((_, rest)) => format!("{scheme}…@{rest}"),
        None => text.to_owned(),
    }
}

impl HubAddress {
    /// Reads an address. A bare `host:port` is taken for `http://host:port`.
    ///
    /// # Errors
    ///
    /// The fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let (scheme, rest) = trimmed.split_once("://").unwrap_or(("http", trimmed));
        let is_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err("it must begin with http:// or https://".to_owned()),
        };
        let origin: Uri = format!("{scheme}://{rest}")
            .parse()
            .map_err(|error| format!("invalid URL: {error}"))?;
        let authority = origin
            .authority()
            .map(Authority::as_str)
            .unwrap_or_default();
        if origin.host().is_none_or(str::is_empty) {
            return Err("it names no host".to_owned());
        }
        if authority.contains('@') {
            return Err("user names and passwords have no place in it".to_owned());
        }
        let port = match origin.port() {
            Some(_) => "",
            None if is_tls => ":443",
            None => ":80",
        };
        let dialled = format!("http://{authority}{port}")
            .parse()
            .map_err(|error| format!("invalid URL: {error}"))?;
        Ok(Self {
            origin,
            dialled,
            is_tls,
        })
    }

    /// True for `https://`.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        let host = self.dialled.host().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// `host:port`.
    pub fn authority(&self) -> &str {
        self.dialled.authority().map_or("", Authority::as_str)
    }

    pub(super) fn dialled(&self) -> &Uri {
        &self.dialled
    }

    /// A channel to it, to be connected with [`connect`](super::connect()).
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::from(self.dialled.clone()).origin(self.origin.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(&str, &str, bool), &str>) {
        match (HubAddress::parse(text), expected) {
            (Ok(address), Ok(expected)) => {
                let found = (address.authority(), address.host(), address.is_tls());
                assert_eq!(found, expected, "{text}");
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn addresses() {
        check("http://h:1", Ok(("h:1", "h", false)));
        check(" h:1 ", Ok(("h:1", "h", false)));
        check("https://h:1", Ok(("h:1", "h", true)));
        check("https://h", Ok(("h:443", "h", true)));
        check("http://h/", Ok(("h:80", "h", false)));
        check("https://[::1]:2", Ok(("[::1]:2", "::1", true)));
        check("ftp://h", Err("http://"));
        check("http://", Err(""));
        check("", Err(""));
        check("a b", Err("invalid"));
        check("https://u:p@h:1", Err("passwords"));
    }

    #[test]
    fn a_login_in_an_address_is_not_shown() {
        for (text, shown) in [
            ("https://u:p@h:1", "https://…@h:1"),
            ("u:p@x@h", "…@h"),
            ("http://h:1/", "http://h:1/"),
            ("", ""),
        ] {
            assert_eq!(without_login(text), shown);
        }
    }
}
