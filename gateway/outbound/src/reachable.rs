//! May this address be reached? IPv4 by the registry of special-purpose addresses (RFC 6890), IPv6 by what is given out as global unicast
//! (2000::/3): all else is refused unless a setting allows it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Network;

/// Reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum Refusal {
    #[error("this machine")]
    Loopback,
    #[error("no address of a peer")]
    Unspecified,
    #[error("a private network")]
    Private,
    #[error("link-local, where clouds serve their metadata")]
    LinkLocal,
    #[error("a service of the cloud that this machine runs in")]
    Metadata,
    #[error("many peers at once")]
    Multicast,
    #[error("an IPv4 address written as IPv6")]
    Translated,
    #[error("reserved")]
    Reserved,
}

/// Says yes to public addresses, and to those in a network that is allowed.
///
/// # Errors
///
/// The kind of address that this is.
pub fn may_reach(address: IpAddr, allow: &[Network]) -> Result<(), Refusal> {
    if allow.iter().any(|network| network.contains(address)) {
        return Ok(());
    }
    match address {
        IpAddr::V4(address) => public_v4(address),
        IpAddr::V6(address) => public_v6(address, allow),
    }
}

fn public_v4(address: Ipv4Addr) -> Result<(), Refusal> {
    let refusal = match address.octets() {
        [0, ..] => Refusal::Unspecified,
        [127, ..] => Refusal::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Refusal::Private,
        [169, 254, ..] => Refusal::LinkLocal,
        // Azure's is a public address.
        [168, 63, 129, 16] => Refusal::Metadata,
        [224..=239, ..] => Refusal::Multicast,
        // Protocol assignments, documentation, relays of 6to4, benchmarks, future use and broadcast.
        [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Refusal::Reserved,
        _ => return Ok(()),
    };
    Err(refusal)
}

fn public_v6(address: Ipv6Addr, allow: &[Network]) -> Result<(), Refusal> {
    let refusal = match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Refusal::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Refusal::Loopback,
        // Compatible and mapped (RFC 4291), translated (RFC 2765), NAT64 of a site (RFC 8215), 6to4 (RFC 3056) and Teredo (RFC 4380).
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _]
        | [0, 0, 0, 0, 0xffff, 0, _, _]
        | [0x64, 0xff9b, 1, ..]
        | [0x2002, ..]
        | [0x2001, 0, ..] => Refusal::Translated,
        // NAT64 (RFC 6052), by which networks without IPv4 reach it.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            return may_reach(Ipv4Addr::new(a, b, c, d).into(), allow);
        }
        [0xfc00..=0xfdff, ..] => Refusal::Private,
        [0xfe80..=0xfeff, ..] => Refusal::LinkLocal,
        [0xff00..=0xffff, ..] => Refusal::Multicast,
        // Protocol assignments and documentation within global unicast.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => {
            Refusal::Reserved
        }
        [0x2000..=0x3fff, ..] => return Ok(()),
        _ => Refusal::Reserved,
    };
    Err(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Refusal as R;

    fn check(allow: &[&str], table: &[(&str, Result<(), Refusal>)]) {
        let allow: Vec<Network> = allow.iter().map(|n| n.parse().expect(n)).collect();
        for (text, expected) in table {
            let address = text.parse().expect(text);
            assert_eq!(
                may_reach(address, &allow),
                *expected,
                "{text} with {allow:?}"
            );
        }
    }

    #[test]
    fn public_addresses_alone_are_reached() {
        check(
            &[],
            &[
                ("8.8.8.8", Ok(())),
                ("172.15.0.1", Ok(())),
                ("172.32.0.1", Ok(())),
                ("100.63.0.1", Ok(())),
                ("100.128.0.1", Ok(())),
                ("169.253.0.1", Ok(())),
                ("192.0.1.1", Ok(())),
                ("198.20.0.1", Ok(())),
                ("223.255.255.255", Ok(())),
                ("0.0.0.0", Err(R::Unspecified)),
                ("0.1.2.3", Err(R::Unspecified)),
                ("127.0.0.1", Err(R::Loopback)),
                ("127.255.0.1", Err(R::Loopback)),
                ("10.1.2.3", Err(R::Private)),
                ("172.16.0.1", Err(R::Private)),
                ("172.31.255.255", Err(R::Private)),
                ("192.168.1.1", Err(R::Private)),
                ("100.64.0.1", Err(R::Private)),
                ("100.100.100.200", Err(R::Private)),
                ("169.254.169.254", Err(R::LinkLocal)),
                ("169.254.170.2", Err(R::LinkLocal)),
                ("168.63.129.16", Err(R::Metadata)),
                ("192.0.0.192", Err(R::Reserved)),
                ("192.0.2.1", Err(R::Reserved)),
                ("192.88.99.1", Err(R::Reserved)),
                ("198.18.0.1", Err(R::Reserved)),
                ("198.51.100.7", Err(R::Reserved)),
                ("203.0.113.7", Err(R::Reserved)),
                ("224.0.0.1", Err(R::Multicast)),
                ("239.255.255.250", Err(R::Multicast)),
                ("240.0.0.1", Err(R::Reserved)),
                ("255.255.255.255", Err(R::Reserved)),
            ],
        );
        check(
            &[],
            &[
                ("2606:4700::1111", Ok(())),
                ("2001:4860:4860::8888", Ok(())),
                ("2a00:1450::1", Ok(())),
                ("::", Err(R::Unspecified)),
                ("::1", Err(R::Loopback)),
                ("::7f00:1", Err(R::Translated)),
                ("::ffff:127.0.0.1", Err(R::Translated)),
                ("::ffff:8.8.8.8", Err(R::Translated)),
                ("::ffff:0:127.0.0.1", Err(R::Translated)),
                ("64:ff9b::7f00:1", Err(R::Loopback)),
                ("64:ff9b::169.254.169.254", Err(R::LinkLocal)),
                ("64:ff9b::8.8.8.8", Ok(())),
                ("64:ff9b:1::8.8.8.8", Err(R::Translated)),
                ("64:ff9b:0:0:1::", Err(R::Reserved)),
                ("2002:7f00:1::", Err(R::Translated)),
                ("2001::1", Err(R::Translated)),
                ("2001:20::1", Err(R::Reserved)),
                ("2001:db8::1", Err(R::Reserved)),
                ("3fff:1::1", Err(R::Reserved)),
                ("fc00::1", Err(R::Private)),
                ("fd00:ec2::254", Err(R::Private)),
                ("fd20:ce::254", Err(R::Private)),
                ("fe80::1", Err(R::LinkLocal)),
                ("fec0::1", Err(R::LinkLocal)),
                ("ff02::1", Err(R::Multicast)),
                ("100::1", Err(R::Reserved)),
                ("5f00::1", Err(R::Reserved)),
                ("4000::1", Err(R::Reserved)),
            ],
        );
    }

    #[test]
    fn a_network_that_is_allowed_is_reached_and_no_other_way_to_write_it() {
        check(
            &["127.0.0.0/8", "10.1.0.0/16", "fd00::/8"],
            &[
                ("127.0.0.1", Ok(())),
                ("10.1.2.3", Ok(())),
                ("10.2.2.3", Err(R::Private)),
                ("fd00::1", Ok(())),
                ("fc00::1", Err(R::Private)),
                ("::1", Err(R::Loopback)),
                ("::ffff:127.0.0.1", Err(R::Translated)),
                ("64:ff9b::10.1.2.3", Ok(())),
                ("169.254.169.254", Err(R::LinkLocal)),
            ],
        );
        check(&["::ffff:127.0.0.0/104"], &[("::ffff:127.0.0.1", Ok(()))]);
    }
}
