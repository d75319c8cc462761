//! Check that it is clear who sends a request, and to which host. What is in front of the hub may have read another header than it does.

use http::{HeaderMap, Uri, Version, header, uri::Authority};
use tonic::codegen::http;

/// The reason why nobody can say who sends a request, or to which host.
pub(super) fn fault(version: Version, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
    let has_several = |name| headers.get_all(name).iter().nth(1).is_some();
    if has_several(header::AUTHORIZATION) {
        return Some("the request has several headers `authorization`: send one");
    }
    if has_several(header::HOST) {
        return Some("the request has several headers `host`: send one");
    }
    let host = headers.get(header::HOST).map(|host| {
        let host = host.to_str().ok().and_then(|host| host.parse().ok());
        host.filter(is_host)
    });
    match (host, uri.authority()) {
        (Some(None), _) => {
            Some("the header `host` of the request names no host: send HOST or HOST:PORT")
        }
        (_, Some(authority)) if !is_host(authority) => Some(
            "the request goes to no host (in HTTP/2, `:authority`): send HOST or HOST:PORT, without a user",
        ),
        // RFC 9112 §3.2.2, RFC 9113 §8.3.1.
        (Some(Some(host)), Some(authority)) if host != *authority => Some(
            "the request goes to one host and names another in its header `host`: send the same",
        ),
        // RFC 9112 §3.2, RFC 9113 §8.3.1; HTTP/1.0 knows no hosts.
        (None, None) if version > Version::HTTP_10 => Some(
            "the request does not say which host it is for: send a header `host` with HOST or HOST:PORT (in HTTP/2, `:authority`)",
        ),
        _ => None,
    }
}

/// True for a host, with a port or without, and no user before it.
fn is_host(authority: &Authority) -> bool {
    !authority.host().is_empty() && !authority.as_str().contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fault of a request with these values of `host`.
    fn of(version: Version, uri: &str, hosts: &[&str]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, host.parse().expect("a value"));
        }
        fault(version, &uri.parse().expect("a URI"), &headers)
    }

    /// spec: RFC 9112 §3.2, RFC 9113 §8.3.1
    #[test]
    fn a_request_names_one_host() {
        let (old, one, two) = (Version::HTTP_10, Version::HTTP_11, Version::HTTP_2);
        let whole = "http://hub.example:80/x";
        for (version, uri, hosts) in [
            (old, "/x", &[][..]),
            (one, "/x", &["hub.example"]),
            (one, "/x", &["[::1]:8080"]),
            (one, whole, &["hub.example:80"]),
            (two, whole, &[]),
            (two, whole, &["HUB.example:80"]),
            (two, "/x", &["hub.example"]),
        ] {
            assert_eq!(of(version, uri, hosts), None, "{version:?} {uri} {hosts:?}");
        }
        for (version, uri, hosts, said) in [
            (one, "/x", &[][..], "which host it is for"),
            (two, "/x", &[], "which host it is for"),
            (one, "/x", &[""], "names no host"),
            (one, "/x", &["a b"], "names no host"),
            (one, "/x", &["a/b"], "names no host"),
            (one, "/x", &["root@hub.example"], "names no host"),
            (one, "/x", &["a:b:c"], "names no host"),
            (old, "/x", &["a", "a"], "several headers `host`"),
            (one, whole, &["evil.example"], "names another"),
            (two, whole, &["hub.example:81"], "names another"),
            (two, "http://root@hub.example/x", &[], "goes to no host"),
            (
                two,
                "http://root@hub.example/x",
                &["hub.example"],
                "goes to no host",
            ),
            (
                one,
                "http://root@hub.example/x",
                &["root@hub.example"],
                "names no host",
            ),
        ] {
            let why = of(version, uri, hosts).unwrap_or("nothing");
            assert!(why.contains(said), "{version:?} {uri} {hosts:?}: {why}");
        }
    }

    #[test]
    fn a_request_has_one_credential() {
        let mut headers = HeaderMap::new();
        headers.append(header::HOST, "hub.example".parse().expect("a value"));
        for n in 0..2 {
            headers.append(header::AUTHORIZATION, n.into());
            let why = fault(Version::HTTP_11, &Uri::from_static("/x"), &headers);
            assert_eq!(why.is_some(), n > 0, "{why:?}");
        }
    }
}
