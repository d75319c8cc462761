//! Address on which a server listens.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

/// An address to listen on. A bare port, or `:port`, is that port on loopback; `localhost` is loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub struct Listen(pub SocketAddr);

/// As people write it in a file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Port(u16),
    Address(String),
}

/// The text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address to listen on: write IP:PORT, such as 127.0.0.1:50051, or a port")]
pub struct Invalid(String);

impl Listen {
    /// The port on loopback.
    pub const fn loopback(port: u16) -> Self {
        Self(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }

    /// The address by which this machine reaches what listens here.
    pub fn dialable(self) -> SocketAddr {
        let mut address = self.0;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => {
                address.set_ip(std::net::Ipv6Addr::LOCALHOST.into());
            }
            _ => {}
        }
        address
    }
}

impl FromStr for Listen {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let trimmed = text.trim();
        if let Ok(address) = trimmed.parse() {
            return Ok(Self(address));
        }
        let port = match trimmed.rsplit_once(':') {
            Some(("" | "localhost", port)) => port,
            None => trimmed,
            Some(_) => return Err(Invalid(text.to_owned())),
        };
        match port.parse() {
            Ok(port) => Ok(Self::loopback(port)),
            Err(_) => Err(Invalid(text.to_owned())),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Listen> for String {
    fn from(listen: Listen) -> Self {
        listen.to_string()
    }
}

impl TryFrom<Written> for Listen {
    type Error = Invalid;

    fn try_from(written: Written) -> Result<Self, Invalid> {
        match written {
            Written::Port(port) => Ok(Self::loopback(port)),
            Written::Address(text) => text.parse(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_to_write_an_address() {
        for (text, address) in [
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[::1]:7", "[::1]:7"),
            (":50051", "127.0.0.1:50051"),
            ("50051", "127.0.0.1:50051"),
            ("localhost:9", "127.0.0.1:9"),
        ] {
            let parsed: Listen = text.parse().expect(text);
            assert_eq!(parsed.to_string(), address);
        }
        for text in ["", "host", "example.com:80", "1.2.3.4", ":99999"] {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
    }

    #[test]
    fn everywhere_is_dialled_on_loopback() {
        let dialable = |text: &str| text.parse::<Listen>().expect(text).dialable().to_string();
        assert_eq!(dialable("0.0.0.0:5"), "127.0.0.1:5");
        assert_eq!(dialable("[::]:5"), "[::1]:5");
        assert_eq!(dialable("10.0.0.1:5"), "10.0.0.1:5");
    }
}
