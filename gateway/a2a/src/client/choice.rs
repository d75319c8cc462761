//! The interface of an agent that is used: the first of its card that is spoken here.

use agenthub_outbound::parse_url;
use http::Uri;

use super::Failure;
use crate::{v1, version::Version};

/// Binding of A2A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Binding {
    JsonRpc,
    Rest,
    Grpc,
}

impl Binding {
    /// Every binding.
    pub const ALL: [Self; 3] = [Self::JsonRpc, Self::Rest, Self::Grpc];

    /// Its name in cards.
    pub fn name(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::Rest => "HTTP+JSON",
            Self::Grpc => "GRPC",
        }
    }

    fn of(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|binding| binding.name().eq_ignore_ascii_case(name))
    }
}

/// An interface of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Binding.
    pub binding: Binding,
    /// Address; for gRPC without a path.
    pub url: Uri,
    /// Routing key that requests carry.
    pub tenant: String,
    pub(crate) version: Version,
}

/// Chooses the first interface of a card that is spoken here: 1.0 in every binding, and 0.3 over JSON-RPC. `wanted` leaves no other binding.
///
/// # Errors
///
/// [`Failure::Card`] with the interfaces that there are, or with the address that is none.
pub(super) fn choose(
    card: &v1::AgentCard,
    card_url: &Uri,
    wanted: Option<Binding>,
) -> Result<Interface, Failure> {
    let mut spoken = card.supported_interfaces.iter().filter_map(|interface| {
        let binding = Binding::of(&interface.protocol_binding)?;
        let version = match interface.protocol_version.as_str() {
            "" => Version::One,
            text => Version::of(Some(text)).ok()?,
        };
        let is_spoken = version == Version::One || binding == Binding::JsonRpc;
        let is_wanted = wanted.is_none_or(|wanted| wanted == binding);
        (is_spoken && is_wanted).then_some((interface, binding, version))
    });
    let Some((interface, binding, version)) = spoken.next() else {
        return Err(none(card, wanted));
    };
    let url = match binding {
        Binding::Grpc => grpc_url(&interface.url, card_url),
        _ => interface.url.clone(),
    };
    let url = parse_url(&url)
        .map_err(|error| Failure::Card(format!("its card's {}: {error}", binding.name())))?;
    Ok(Interface {
        binding,
        url,
        tenant: interface.tenant.clone(),
        version,
    })
}

fn none(card: &v1::AgentCard, wanted: Option<Binding>) -> Failure {
    let all = card.supported_interfaces.iter();
    let all = all.map(|i| format!("{} {}", i.protocol_binding, i.protocol_version));
    let all = all.collect::<Vec<_>>().join(", ");
    let wanted = wanted.map_or_else(
        || "JSONRPC, HTTP+JSON or GRPC of 1.0, or JSONRPC of 0.3".to_owned(),
        |binding| binding.name().to_owned(),
    );
    Failure::Card(format!(
        "the card of \"{}\" names no interface that is wanted: {wanted}; it has {}",
        card.name,
        if all.is_empty() { "none" } else { &all }
    ))
}

/// An address of gRPC is often host and port alone: whether it takes TLS is then as for the card.
fn grpc_url(url: &str, card_url: &Uri) -> String {
    match url.split_once("://") {
        Some(("grpc", rest)) => format!("http://{rest}"),
        Some(("grpcs", rest)) => format!("https://{rest}"),
        Some(_) => url.to_owned(),
        None => format!("{}://{url}", card_url.scheme_str().unwrap_or("https")),
    }
}

/// Refuses to send a secret where others could read it, or to another host than the card's if the card came without TLS: whoever changes such a
/// card on its way could name a host of theirs.
///
/// # Errors
///
/// [`Failure::Credentials`].
pub(super) fn may_have_secrets(url: &Uri, card_url: &Uri) -> Result<(), Failure> {
    let may = match is_tls(card_url) {
        true => is_tls(url),
        false => url.host() == card_url.host(),
    };
    if may {
        return Ok(());
    }
    let why = match is_tls(url) {
        true => "the card came without TLS from another host",
        false => "it has no TLS",
    };
    Err(Failure::Credentials(format!(
        "no credentials are sent to {}: {why}",
        url.host().unwrap_or_default()
    )))
}

pub(super) fn is_tls(url: &Uri) -> bool {
    url.scheme_str() == Some("https")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(interfaces: &[(&str, &str, &str)]) -> v1::AgentCard {
        v1::AgentCard {
            supported_interfaces: interfaces
                .iter()
                .map(|(url, binding, version)| v1::AgentInterface {
                    url: (*url).into(),
                    protocol_binding: (*binding).into(),
                    protocol_version: (*version).into(),
                    tenant: "t".into(),
                })
                .collect(),
            ..Default::default()
        }
    }

    fn check(
        interfaces: &[(&str, &str, &str)],
        wanted: Option<Binding>,
        expected: Option<(&str, Binding, Version)>,
    ) {
        let card_url = Uri::from_static("https://a.example/card");
        let chosen = choose(&card(interfaces), &card_url, wanted).ok();
        let chosen = chosen.map(|i| (i.url.to_string(), i.binding, i.version));
        let expected = expected.map(|(url, binding, version)| (url.to_owned(), binding, version));
        assert_eq!(chosen, expected, "{interfaces:?}");
    }

    /// spec: A2A 1.0.1 §8.3.2
    #[test]
    fn the_first_interface_that_is_spoken_is_used() {
        use Binding::{Grpc, JsonRpc, Rest};
        use Version::{Old, One};
        let rpc = ("https://a/rpc", "JSONRPC", "1.0");
        let rest = ("https://a/rest", "HTTP+JSON", "1.0");
        let grpc = ("a:50051", "GRPC", "1.0");
        let old = ("https://a/old", "JSONRPC", "0.3.0");
        check(&[rest, rpc], None, Some(("https://a/rest", Rest, One)));
        check(&[grpc, rpc], None, Some(("https://a:50051/", Grpc, One)));
        check(
            &[rest, rpc],
            Some(JsonRpc),
            Some(("https://a/rpc", JsonRpc, One)),
        );
        check(&[old], None, Some(("https://a/old", JsonRpc, Old)));
        check(
            &[("https://a", "HTTP+JSON", "0.3"), old],
            None,
            Some(("https://a/old", JsonRpc, Old)),
        );
        check(
            &[("https://a", "MQTT", "1.0"), rpc],
            None,
            Some(("https://a/rpc", JsonRpc, One)),
        );
        check(
            &[("https://a", "JSONRPC", "2.0"), rpc],
            None,
            Some(("https://a/rpc", JsonRpc, One)),
        );
        check(
            &[("grpcs://a:1", "GRPC", "1.0")],
            None,
            Some(("https://a:1/", Grpc, One)),
        );
        check(&[rpc], Some(Grpc), None);
        check(&[], None, None);
        check(&[("ftp://a", "JSONRPC", "1.0")], None, None);
    }

    #[test]
    fn secrets_go_out_over_tls_or_where_the_card_came_from() {
        let may = |url: &str, card: &str| {
            let uri = |text: &str| text.parse::<Uri>().expect("an address");
            may_have_secrets(&uri(url), &uri(card)).is_ok()
        };
        assert!(may("https://b.example/", "https://a.example/"));
        assert!(may("http://127.0.0.1:2/", "http://127.0.0.1:1/"));
        assert!(!may("http://a.example/", "https://a.example/"));
        assert!(!may("http://b.example/", "http://a.example/"));
        assert!(may("https://a.example/", "http://a.example/"));
        assert!(!may("https://b.example/", "http://a.example/"));
    }
}
