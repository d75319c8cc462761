//! Cards as the gateway serves them: the agent's own words, and the gateway's addresses and capabilities, as it is the gateway that answers.

use agenthub_sdk::proto::a2a::AgentCard;
use serde_json::{Value, json};

use crate::{
    Accepted, CardKey,
    convert::card_from_hub,
    extended,
    json::{from_json, to_json},
    v1::{self, AgentInterface},
};

/// Modes of an agent that names none: what every agent of the hub takes.
const MODES: [&str; 2] = ["text/plain", "application/json"];

/// Addresses of the gateway, as the caller sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Such as `http://127.0.0.1:8080`.
    pub(crate) http: String,
    /// Such as `127.0.0.1:50051`; empty if gRPC is not served.
    pub(crate) grpc: String,
    /// Streams are offered there.
    pub(crate) streaming: bool,
    /// Security schemes for callers; none if the hub needs no identities.
    pub(crate) accepted: Option<Accepted>,
}

/// Capabilities that settings decide on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Push notifications.
    pub(crate) push: bool,
    /// An extended card of this agent.
    pub(crate) extended: bool,
}

/// The card of an agent below `/agents/{slug}`, or of the default agent with `None`.
pub(crate) fn served(
    card: &AgentCard,
    slug: Option<&str>,
    place: &Place,
    offer: Offer,
) -> v1::AgentCard {
    let mut card = card_from_hub(card.clone());
    card.supported_interfaces = interfaces(slug, place);
    // What the agent's own address asks for, and what it signed, is not said of this one.
    card.security_schemes.clear();
    card.security_requirements.clear();
    card.signatures.clear();
    let capabilities = card.capabilities.get_or_insert_default();
    capabilities.streaming = Some(place.streaming);
    capabilities.push_notifications = Some(offer.push);
    if offer.extended {
        capabilities.extended_agent_card = Some(true);
        // On a hub with identities, those are what it is given for.
        if place.accepted.is_none()
            && let Ok(scheme) = from_json(extended::scheme())
        {
            card.security_schemes
                .insert(extended::SCHEME.to_owned(), scheme);
        }
    }
    if let Some(accepted) = &place.accepted {
        accepted.declare(&mut card);
    }
    for skill in &mut card.skills {
        fill(&mut skill.name, &skill.id);
        fill(&mut skill.description, &skill.name);
        if skill.tags.is_empty() {
            skill.tags.push(skill.id.clone());
        }
    }
    fill(&mut card.description, &card.name);
    fill(&mut card.version, "1.0.0");
    if card.default_input_modes.is_empty() {
        card.default_input_modes = modes(card.skills.iter().flat_map(|s| &s.input_modes));
    }
    if card.default_output_modes.is_empty() {
        card.default_output_modes = modes(card.skills.iter().flat_map(|s| &s.output_modes));
    }
    if card.skills.is_empty() {
        card.skills.push(v1::AgentSkill {
            id: "default".to_owned(),
            name: card.name.clone(),
            description: card.description.clone(),
            tags: vec!["agent".to_owned()],
            ..Default::default()
        });
    }
    card
}

impl Place {
    /// The address of the public keys.
    pub(crate) fn keys_url(&self) -> String {
        format!("{}/.well-known/jwks.json", self.http)
    }
}

/// The card as JSON, with the fields by which clients of A2A 0.3 find the agent. One signature is that of the card as A2A 1.0 defines it,
/// for clients that read no more; the other is that of all fields, for those that check the document as it comes.
pub(crate) fn written(card: &v1::AgentCard, place: &Place, key: Option<&CardKey>) -> Value {
    let mut json = for_all_versions(card);
    if let Some(key) = key {
        let both = [&to_json(card), &json];
        let signed = both.map(|card| key.sign(card, &place.keys_url()));
        json["signatures"] = signed.into_iter().flatten().collect();
    }
    json
}

/// The card as JSON, with the fields by which clients of A2A 0.3 find the agent.
fn for_all_versions(card: &v1::AgentCard) -> Value {
    let mut json = to_json(card);
    let url = |binding: &str| {
        let mut all = card.supported_interfaces.iter();
        all.find(|i| i.protocol_binding == binding).map(|i| &i.url)
    };
    json["url"] = json!(url("JSONRPC"));
    json["preferredTransport"] = json!("JSONRPC");
    json["protocolVersion"] = json!("0.3.0");
    let capabilities = card.capabilities.as_ref();
    let is_extended = capabilities.is_some_and(v1::AgentCapabilities::extended_agent_card);
    json["supportsAuthenticatedExtendedCard"] = json!(is_extended);
    json
}

fn interfaces(slug: Option<&str>, place: &Place) -> Vec<AgentInterface> {
    let tenant = slug.unwrap_or_default();
    let http = match slug {
        Some(slug) => format!("{}/agents/{slug}", place.http),
        None => place.http.clone(),
    };
    let interface = |url: &str, binding: &str| AgentInterface {
        url: url.to_owned(),
        protocol_binding: binding.to_owned(),
        tenant: tenant.to_owned(),
        protocol_version: "1.0".to_owned(),
    };
    let mut all = vec![interface(&http, "JSONRPC"), interface(&http, "HTTP+JSON")];
    if !place.grpc.is_empty() {
        all.push(interface(&place.grpc, "GRPC"));
    }
    all
}

fn fill(text: &mut String, with: &str) {
    if text.is_empty() {
        with.clone_into(text);
    }
}

fn modes<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut modes: Vec<String> = Vec::new();
    for mode in all {
        if !modes.contains(mode) {
            modes.push(mode.clone());
        }
    }
    match modes.is_empty() {
        true => MODES.map(str::to_owned).to_vec(),
        false => modes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_sdk::proto::a2a::AgentSkill;

    const OFFER: Offer = Offer {
        push: true,
        extended: false,
    };

    fn place() -> Place {
        Place {
            http: "http://hub:8080".into(),
            grpc: "hub:50051".into(),
            streaming: true,
            accepted: None,
        }
    }

    /// Issue 25: A2A cards name the security schemes. spec: A2A 1.0.1 §4.5
    #[test]
    fn a_card_of_a_hub_with_identities_names_each_way_to_show_one() {
        let place = Place {
            accepted: Some(Accepted {
                certificates: true,
                issuers: vec![("corp".into(), "https://id.example/".into())],
            }),
            ..place()
        };
        let card = served(&AgentCard::default(), None, &place, OFFER);
        let json = to_json(&card);
        let schemes = json["securitySchemes"].as_object().expect("schemes");
        assert_eq!(schemes.len(), 3, "{json}");
        assert_eq!(
            schemes["oidc-corp"]["openIdConnectSecurityScheme"]["openIdConnectUrl"],
            "https://id.example/.well-known/openid-configuration"
        );
        assert!(schemes["mtls"]["mtlsSecurityScheme"].is_object());
        let requirements = json["securityRequirements"].as_array().expect("a list");
        assert_eq!(requirements.len(), 3, "one of them is enough: {json}");
        let nobody = served(&AgentCard::default(), None, &self::place(), OFFER);
        assert!(nobody.security_schemes.is_empty());
        // An extended card has a token of its own only where there are no identities.
        let extended = Offer {
            extended: true,
            ..OFFER
        };
        let card = served(&AgentCard::default(), None, &place, extended);
        assert_eq!(card.security_schemes.len(), 3);
        let card = served(&AgentCard::default(), None, &self::place(), extended);
        let schemes: Vec<_> = card.security_schemes.keys().collect();
        assert_eq!(schemes, [crate::extended::SCHEME]);
    }

    /// spec: A2A 1.0.1 §8.3.1, §4.4.1, §5.7
    #[test]
    fn a_card_of_little_has_all_that_a_card_must_have() {
        let card = AgentCard {
            name: "bare".into(),
            ..Default::default()
        };
        let json = for_all_versions(&served(&card, Some("bare"), &place(), OFFER));
        for field in [
            "name",
            "description",
            "version",
            "capabilities",
            "defaultInputModes",
            "defaultOutputModes",
            "skills",
            "supportedInterfaces",
        ] {
            assert!(json.get(field).is_some(), "{field}");
        }
        assert_eq!(
            json["supportedInterfaces"],
            json!([
                {"url": "http://hub:8080/agents/bare", "protocolBinding": "JSONRPC", "tenant": "bare", "protocolVersion": "1.0"},
                {"url": "http://hub:8080/agents/bare", "protocolBinding": "HTTP+JSON", "tenant": "bare", "protocolVersion": "1.0"},
                {"url": "hub:50051", "protocolBinding": "GRPC", "tenant": "bare", "protocolVersion": "1.0"},
            ])
        );
        assert_eq!(json["url"], "http://hub:8080/agents/bare");
    }

    #[test]
    fn modes_of_skills_are_the_cards() {
        let skill = |modes: &[&str]| AgentSkill {
            id: "s".into(),
            input_modes: modes.iter().map(|m| (*m).to_owned()).collect(),
            ..Default::default()
        };
        let card = AgentCard {
            name: "a".into(),
            skills: vec![skill(&["text/plain"]), skill(&["image/png", "text/plain"])],
            ..Default::default()
        };
        let card = served(&card, None, &place(), OFFER);
        assert_eq!(card.default_input_modes, ["text/plain", "image/png"]);
        assert_eq!(card.default_output_modes, MODES);
        assert_eq!(card.supported_interfaces[0].url, "http://hub:8080");
        assert_eq!(card.supported_interfaces[0].tenant, "");
    }
}
