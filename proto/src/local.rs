//! Names of this machine, for servers on loopback.

use std::net::{Ipv4Addr, Ipv6Addr};

/// True if a host, as an authority has it, leads to this machine or to an address, whatever DNS says: `localhost`, names below it, and
/// addresses (those of version 6 in brackets). A page of another site that a browser shows has none of these (DNS rebinding).
pub fn is_local(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let in_brackets = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    name == "localhost"
        || name.ends_with(".localhost")
        || host.parse::<Ipv4Addr>().is_ok()
        || in_brackets.is_some_and(|h| h.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_localhost_and_addresses_are_local() {
        for host in [
            "localhost",
            "LocalHost",
            "localhost.",
            "hub.localhost",
            "127.0.0.1",
            "[::1]",
        ] {
            assert!(is_local(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "notlocalhost",
            "::1",
            "[localhost]",
            "",
        ] {
            assert!(!is_local(host), "{host}");
        }
    }
}
