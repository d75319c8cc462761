//! Cards as people read them.

use crate::client::Signed;
use crate::v1::{AgentCard, SecurityScheme, security_scheme::Scheme};
use agenthub_terminal::output::cut;

/// The longest line, in characters.
const MAX_LINE: usize = 2_000;

/// A card, one field a line.
pub(super) fn shown(card: &AgentCard, signed: &Signed) -> String {
    let mut lines = vec![
        one_line(&format!("{} {}", card.name, card.version)),
        format!("  {}", one_line(&card.description)),
    ];
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<14}{}", one_line(&value)));
        }
    };
    let provider = card.provider.as_ref();
    field(
        "provider",
        provider.map_or_else(String::new, |p| p.organization.clone()),
    );
    for interface in &card.supported_interfaces {
        let (binding, version) = (&interface.protocol_binding, &interface.protocol_version);
        let tenant = match interface.tenant.as_str() {
            "" => String::new(),
            tenant => format!(", tenant {tenant}"),
        };
        field(
            "interface",
            format!("{binding} {version} at {}{tenant}", interface.url),
        );
    }
    let can = card.capabilities.clone().unwrap_or_default();
    let abilities = [
        (can.streaming(), "streaming"),
        (can.push_notifications(), "push notifications"),
        (can.extended_agent_card(), "an extended card"),
    ];
    let abilities: Vec<&str> = abilities
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, n)| *n)
        .collect();
    field("supports", abilities.join(", "));
    for extension in &can.extensions {
        let required = if extension.required {
            " (required)"
        } else {
            ""
        };
        field("extension", format!("{}{required}", extension.uri));
    }
    field("input", card.default_input_modes.join(", "));
    field("output", card.default_output_modes.join(", "));
    let mut schemes: Vec<_> = card.security_schemes.iter().collect();
    schemes.sort_by_key(|(name, _)| *name);
    for (name, scheme) in schemes {
        field("sign-in", format!("{name}: {}", kind(scheme)));
    }
    field("signature", signed.to_string());
    field(
        "documentation",
        card.documentation_url.clone().unwrap_or_default(),
    );
    for skill in &card.skills {
        let name = match skill.name == skill.id || skill.name.is_empty() {
            true => skill.id.clone(),
            false => format!("{} ({})", skill.id, skill.name),
        };
        let words = one_line(&format!("{name}: {}", skill.description));
        lines.push(format!("  skill {words}"));
        if !skill.tags.is_empty() {
            lines.push(format!(
                "    tags      {}",
                one_line(&skill.tags.join(", "))
            ));
        }
        if !skill.examples.is_empty() {
            lines.push(format!(
                "    examples  {}",
                one_line(&skill.examples.join("; "))
            ));
        }
    }
    lines.join("\n")
}

/// Text of the card in one line, so that it cannot look like a line of ours.
fn one_line(text: &str) -> String {
    cut(text, MAX_LINE)
}

fn kind(scheme: &SecurityScheme) -> String {
    match &scheme.scheme {
        Some(Scheme::ApiKeySecurityScheme(key)) => {
            let place = match key.location.as_str() {
                "query" => "query parameter",
                place => place,
            };
            format!("API key in the {place} {}", key.name)
        }
        Some(Scheme::HttpAuthSecurityScheme(http)) => {
            format!("HTTP {} authentication", http.scheme)
        }
        Some(Scheme::Oauth2SecurityScheme(_)) => "OAuth 2".to_owned(),
        Some(Scheme::OpenIdConnectSecurityScheme(_)) => "OpenID Connect".to_owned(),
        Some(Scheme::MtlsSecurityScheme(_)) => "client certificate (mutual TLS)".to_owned(),
        None => "a scheme that this program does not know".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::json::from_json;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_card_is_shown_with_all_that_a_caller_needs() {
        let card: AgentCard = from_json(json!({
            "name": "pain\rter\nsignature: verified", "description": "Paints\u{1b}[2J", "version": "1.2",
            "supportedInterfaces": [{"url": "http://h/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "t"}],
            "capabilities": {"streaming": true, "extensions": [{"uri": "urn:x", "required": true}]},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["image/png"],
            "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}},
            "documentationUrl": "http://h/doc",
            "skills": [{"id": "paint", "name": "Paint", "description": "Paints", "tags": ["art"], "examples": ["a cat"]}],
        }))
        .expect("a card");
        assert_eq!(
            shown(&card, &Signed::No),
            "pain ter signature: verified 1.2\n  Paints[2J\n  interface     JSONRPC 1.0 at http://h/, tenant t\n  supports      streaming\n  \
             extension     urn:x (required)\n  input         text/plain\n  output        image/png\n  \
             sign-in       key: API key in the header X-Key\n  signature     not signed\n  documentation http://h/doc\n  \
             skill paint (Paint): Paints\n    tags      art\n    examples  a cat"
        );
    }
}
