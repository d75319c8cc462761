//! Networks, as settings name them.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// A range of addresses, such as `10.0.0.0/8`; an address alone is a range of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network(IpNet);

/// The text is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no network: write an address with a prefix length, such as 10.0.0.0/8 or fd00::/8, or an address alone"
)]
pub struct Invalid(String);

impl Network {
    /// Every address of IPv4, and every address of IPv6.
    pub fn everything() -> [Self; 2] {
        ["0.0.0.0/0", "::/0"].map(|text| text.parse().expect("they are networks"))
    }

    /// True if the address is in this range. A range of IPv4 has no address of IPv6.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

impl FromStr for Network {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let trimmed = text.trim();
        let one = trimmed.parse::<IpAddr>().map(IpNet::from);
        let network = one.or_else(|_| trimmed.parse::<IpNet>());
        network.map(Self).map_err(|_| Invalid(text.to_owned()))
    }
}

impl TryFrom<String> for Network {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_single_addresses_are_read() {
        for (text, written) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            (" 127.0.0.1 ", "127.0.0.1/32"),
            ("fd00::/8", "fd00::/8"),
            ("::1", "::1/128"),
        ] {
            assert_eq!(text.parse::<Network>().expect(text).to_string(), written);
        }
        for text in ["", "localhost", "10.0.0.0/33", "10.0.0/8", "[::1]"] {
            let error = text.parse::<Network>().expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
