//! Writes an SOP to begin with.

use crate::{Kind, loader::name};

/// Beginning of an agent's file.
const AGENT: &str = include_str!("../prompts/agent-starter.md");

/// Beginning of an orchestrator's file.
const ORCHESTRATOR: &str = include_str!("../prompts/orchestrator-starter.md");

/// The text of an SOP of this name, with comments that say what goes where.
///
/// # Errors
///
/// No agent can have the name; says why.
pub fn starter(name: &str, kind: Kind) -> Result<String, String> {
    let name = name.trim();
    name::usable(name).map_err(|unusable| format!("{}; {}", unusable.why, unusable.help))?;
    let text = match kind {
        Kind::Agent => AGENT,
        Kind::Orchestrator => ORCHESTRATOR,
    };
    // What people call somebody of this name.
    let words = name.replace(['-', '_'], " ");
    let description = format!("Does the work of {words}. Ask it for that.").replace('\'', "''");
    let is_plain = name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '))
        && name.starts_with(char::is_alphabetic)
        && !matches!(name.to_lowercase().as_str(), "true" | "false" | "null");
    let written = match is_plain {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', "''")),
    };
    let text = text.replace("DESCRIPTION", &format!("'{description}'"));
    let text = text.replace("NAME", &written);
    Ok(text.replace("WORDS", &words))
}
