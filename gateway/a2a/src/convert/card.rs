//! Cards.

use agenthub_sdk::proto::{a2a, json as proto_json};
use prost::{Message, Name};
use prost_types::Struct;

use crate::{json, v1};

/// The version of A2A of an interface that names none.
const OLD: &str = "0.3";

/// The binding of an interface that names none.
const DEFAULT_BINDING: &str = "JSONRPC";

/// The card as its agent states it.
pub fn card_from_hub(card: a2a::AgentCard) -> v1::AgentCard {
    let supported_interfaces = interfaces(&card);
    let capabilities = card.capabilities.unwrap_or_default();
    v1::AgentCard {
        name: card.name,
        description: card.description,
        supported_interfaces,
        provider: card.provider.map(|provider| v1::AgentProvider {
            url: provider.url,
            organization: provider.organization,
        }),
        version: card.version,
        documentation_url: given(card.documentation_url),
        capabilities: Some(v1::AgentCapabilities {
            streaming: Some(capabilities.streaming),
            push_notifications: Some(capabilities.push_notifications),
            extensions: capabilities
                .extensions
                .into_iter()
                .map(|extension| v1::AgentExtension {
                    uri: extension.uri,
                    description: extension.description,
                    required: extension.required,
                    params: extension.params,
                })
                .collect(),
            extended_agent_card: Some(card.supports_authenticated_extended_card),
        }),
        security_schemes: card
            .security_schemes
            .into_iter()
            .filter_map(|(name, scheme)| Some((name, read(&scheme)?)))
            .collect(),
        security_requirements: read_all(&card.security_requirements),
        default_input_modes: card.default_input_modes,
        default_output_modes: card.default_output_modes,
        skills: card.skills.into_iter().map(skill_from_hub).collect(),
        signatures: read_all(&card.signatures),
        icon_url: given(card.icon_url),
    }
}

/// The card of an outside agent, for the hub.
pub fn card_to_hub(card: v1::AgentCard) -> a2a::AgentCard {
    let capabilities = card.capabilities.unwrap_or_default();
    let first = card.supported_interfaces.first();
    let first = first.cloned().unwrap_or_default();
    a2a::AgentCard {
        protocol_version: first.protocol_version,
        name: card.name,
        description: card.description,
        url: first.url,
        preferred_transport: first.protocol_binding,
        additional_interfaces: Vec::new(),
        provider: card.provider.map(|provider| a2a::AgentProvider {
            url: provider.url,
            organization: provider.organization,
        }),
        version: card.version,
        documentation_url: card.documentation_url.unwrap_or_default(),
        capabilities: Some(a2a::AgentCapabilities {
            streaming: capabilities.streaming(),
            push_notifications: capabilities.push_notifications(),
            extensions: capabilities
                .extensions
                .iter()
                .cloned()
                .map(|extension| a2a::AgentExtension {
                    uri: extension.uri,
                    description: extension.description,
                    required: extension.required,
                    params: extension.params,
                })
                .collect(),
        }),
        skills: card.skills.into_iter().map(skill_to_hub).collect(),
        supports_authenticated_extended_card: capabilities.extended_agent_card(),
        icon_url: card.icon_url.unwrap_or_default(),
        security_schemes: card
            .security_schemes
            .iter()
            .map(|(name, scheme)| (name.clone(), written(scheme)))
            .collect(),
        security_requirements: card.security_requirements.iter().map(written).collect(),
        default_input_modes: card.default_input_modes,
        default_output_modes: card.default_output_modes,
        signatures: card.signatures.iter().map(written).collect(),
        supported_interfaces: card
            .supported_interfaces
            .into_iter()
            .map(|interface| a2a::AgentInterface {
                url: interface.url,
                transport: interface.protocol_binding,
                tenant: interface.tenant,
                protocol_version: interface.protocol_version,
            })
            .collect(),
    }
}

/// The agent's own addresses; of older cards the main one and then the others.
fn interfaces(card: &a2a::AgentCard) -> Vec<v1::AgentInterface> {
    let interface = |interface: &a2a::AgentInterface, version: &str| v1::AgentInterface {
        url: interface.url.clone(),
        protocol_binding: or(&interface.transport, DEFAULT_BINDING),
        tenant: interface.tenant.clone(),
        protocol_version: or(&interface.protocol_version, version),
    };
    if !card.supported_interfaces.is_empty() || card.url.is_empty() {
        let all = card.supported_interfaces.iter();
        return all.map(|i| interface(i, OLD)).collect();
    }
    let main = a2a::AgentInterface {
        url: card.url.clone(),
        transport: card.preferred_transport.clone(),
        ..Default::default()
    };
    let all = std::iter::once(&main).chain(&card.additional_interfaces);
    all.map(|i| interface(i, OLD)).collect()
}

fn skill_from_hub(skill: a2a::AgentSkill) -> v1::AgentSkill {
    v1::AgentSkill {
        id: skill.id,
        name: skill.name,
        description: skill.description,
        tags: skill.tags,
        examples: skill.examples,
        input_modes: skill.input_modes,
        output_modes: skill.output_modes,
        security_requirements: read_all(&skill.security_requirements),
    }
}

fn skill_to_hub(skill: v1::AgentSkill) -> a2a::AgentSkill {
    a2a::AgentSkill {
        id: skill.id,
        name: skill.name,
        description: skill.description,
        tags: skill.tags,
        examples: skill.examples,
        input_modes: skill.input_modes,
        output_modes: skill.output_modes,
        security_requirements: skill.security_requirements.iter().map(written).collect(),
    }
}

fn given(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn or(text: &str, default: &str) -> String {
    match text {
        "" => default.to_owned(),
        text => text.to_owned(),
    }
}

fn written<M: Message + Name>(message: &M) -> Struct {
    proto_json::to_struct(&json::to_json(message))
}

/// Elements that the agent wrote in another form are left out.
fn read<M: Message + Name + Default>(written: &Struct) -> Option<M> {
    json::from_json(proto_json::from_struct(written)).ok()
}

fn read_all<M: Message + Name + Default>(written: &[Struct]) -> Vec<M> {
    written.iter().filter_map(read).collect()
}
