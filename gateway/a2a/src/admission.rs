//! Admission of messages to an agent: the demands of its card on callers, and those on every message.

use agenthub_sdk::proto::a2a::AgentCard;

use crate::{
    error::{Error, Kind},
    v1::{Message, Part, Role, part::Content},
};

/// Checks a message by itself.
///
/// # Errors
///
/// [`Kind::InvalidParams`] with the field that is missing or wrong.
pub(crate) fn well_formed(message: Option<&Message>) -> Result<&Message, Error> {
    let missing = |field: &str| Error::field(field, format!("{field} is required"));
    let message = message.ok_or_else(|| missing("message"))?;
    if message.message_id.is_empty() {
        return Err(missing("message.messageId"));
    }
    let wrong_role = |fault: &str| Err(Error::field("message.role", fault));
    match Role::try_from(message.role) {
        Ok(Role::User) => {}
        Ok(Role::Unspecified) => return wrong_role("message.role is required: ROLE_USER"),
        // What an agent says is its own to say (specification §4.1.5).
        Ok(Role::Agent) => {
            return wrong_role("message.role is ROLE_AGENT, but a client's messages are ROLE_USER");
        }
        Err(_) => {
            return wrong_role(&format!(
                "message.role is {}, which is no known value; there are ROLE_USER and ROLE_AGENT, and a client's messages are ROLE_USER",
                message.role
            ));
        }
    }
    if message.parts.is_empty() {
        let fault = "message.parts is required: at least one part";
        return Err(Error::field("message.parts", fault));
    }
    for (n, part) in message.parts.iter().enumerate() {
        if part.content.is_none() {
            let field = format!("message.parts[{n}]");
            let fault = format!("{field} has no content: one of text, raw, url and data");
            return Err(Error::field(&field, fault));
        }
    }
    Ok(message)
}

/// Checks a message against the card of the agent that it is for.
///
/// # Errors
///
/// [`Kind::ExtensionSupportRequired`] if the agent insists on an extension that the caller does not name,
/// [`Kind::ContentTypeNotSupported`] for a part of a type that the agent does not take.
pub(crate) fn fits_card(
    card: &AgentCard,
    message: &Message,
    extensions: &[String],
) -> Result<(), Error> {
    let wanted = card.capabilities.iter().flat_map(|c| &c.extensions);
    for extension in wanted.filter(|e| e.required) {
        if !extensions.contains(&extension.uri) {
            return Err(Kind::ExtensionSupportRequired
                .with(format!(
                    "{} asks for the extension {}: name it in A2A-Extensions",
                    card.name, extension.uri
                ))
                .about("extension", &extension.uri));
        }
    }
    let modes: Vec<&str> = modes(card);
    if modes.is_empty() {
        return Ok(());
    }
    for part in &message.parts {
        if let Some(mode) = media_type(part)
            && !modes.iter().any(|known| covers(known, mode))
        {
            return Err(Kind::ContentTypeNotSupported
                .with(format!(
                    "{} takes no {mode}; it takes {}",
                    card.name,
                    modes.join(", ")
                ))
                .about("mediaType", mode));
        }
    }
    Ok(())
}

/// The types that the agent takes, as far as its card says.
fn modes(card: &AgentCard) -> Vec<&str> {
    let of_skills = card.skills.iter().flat_map(|s| &s.input_modes);
    let all = card.default_input_modes.iter().chain(of_skills);
    let mut modes: Vec<&str> = all.map(String::as_str).collect();
    modes.sort_unstable();
    modes.dedup();
    modes
}

/// The type of a part that says one. Text and data without one are for every agent.
fn media_type(part: &Part) -> Option<&str> {
    let essence = part.media_type.split(';').next().unwrap_or_default().trim();
    let is_plain = match &part.content {
        Some(Content::Text(_)) => essence == "text/plain",
        Some(Content::Data(_)) => essence == "application/json",
        _ => false,
    };
    (!essence.is_empty() && !is_plain).then_some(essence)
}

/// True if a mode of a card, which may be `text/*`, covers a type.
fn covers(mode: &str, wanted: &str) -> bool {
    let mode = mode.split(';').next().unwrap_or_default().trim();
    match mode.strip_suffix("/*") {
        Some("*") => true,
        Some(class) => wanted
            .split('/')
            .next()
            .is_some_and(|c| c.eq_ignore_ascii_case(class)),
        None => mode.eq_ignore_ascii_case(wanted) || mode == "*",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_sdk::proto::a2a::{AgentCapabilities, AgentExtension};

    fn message(media_type: &str, content: Content) -> Message {
        Message {
            message_id: "m".into(),
            role: Role::User.into(),
            parts: vec![Part {
                content: Some(content),
                media_type: media_type.into(),
                ..Default::default()
            }],
            ..Default::default()
        }
    }

    fn text() -> Message {
        message("", Content::Text("hi".into()))
    }

    /// spec: A2A 1.0.1 §3.3.2
    #[test]
    fn what_is_missing_is_named() {
        let field = |change: fn(&mut Message)| {
            let mut message = text();
            change(&mut message);
            well_formed(Some(&message)).map(|_| ()).map_err(|e| e.field)
        };
        assert_eq!(field(|_| ()), Ok(()));
        assert_eq!(
            field(|m| m.message_id.clear()),
            Err("message.messageId".into())
        );
        assert_eq!(field(|m| m.role = 0), Err("message.role".into()));
        let by_agent = field(|m| m.role = Role::Agent.into());
        assert_eq!(by_agent, Err("message.role".into()));
        assert_eq!(field(|m| m.parts.clear()), Err("message.parts".into()));
        assert_eq!(
            field(|m| m.parts.push(Part::default())),
            Err("message.parts[1]".into())
        );
        assert_eq!(
            well_formed(None).map(|_| ()).map_err(|e| e.field),
            Err("message".into())
        );
    }

    /// spec: A2A 1.0.1 §3.1.1
    #[test]
    fn an_agent_that_says_what_it_takes_gets_nothing_else() {
        let check = |modes: &[&str], media_type: &str, content: Content| {
            let card = AgentCard {
                default_input_modes: modes.iter().map(|m| (*m).to_owned()).collect(),
                ..Default::default()
            };
            fits_card(&card, &message(media_type, content), &[]).map_err(|e| e.kind)
        };
        let raw = || Content::Raw(vec![1]);
        let refused = Err(Kind::ContentTypeNotSupported);
        assert_eq!(check(&["text/plain"], "application/x-odd", raw()), refused);
        assert_eq!(check(&["text/plain"], "image/png", raw()), refused);
        assert_eq!(check(&["image/*"], "image/png", raw()), Ok(()));
        assert_eq!(check(&[], "image/png", raw()), Ok(()));
        assert_eq!(check(&["image/png"], "", Content::Text("a".into())), Ok(()));
        assert_eq!(
            check(&["text/plain"], "text/plain; charset=utf-8", raw()),
            Ok(())
        );
    }

    /// spec: A2A 1.0.1 §3.3.4
    #[test]
    fn a_required_extension_has_to_be_named() {
        let card = AgentCard {
            capabilities: Some(AgentCapabilities {
                extensions: vec![AgentExtension {
                    uri: "urn:x".into(),
                    required: true,
                    ..Default::default()
                }],
                ..Default::default()
            }),
            ..Default::default()
        };
        let check = |named: &[String]| fits_card(&card, &text(), named).map_err(|e| e.kind);
        assert_eq!(check(&[]), Err(Kind::ExtensionSupportRequired));
        assert_eq!(check(&["urn:x".into()]), Ok(()));
    }
}
