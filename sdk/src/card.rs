//! Cards, written in a few lines.

use agenthub_proto::{
    a2a::{AgentCapabilities, AgentCard, AgentExtension},
    json,
};
use serde_json::{Value, json};

use crate::{Phase, skill::SkillDeclaration};

/// The card extension for what cards have no field for. Its parameters are `agentType` and, by skill id, `skills` with an
/// `inputSchema`, an `outputSchema` and a `phase` each.
pub(crate) const EXTENSION: &str = "urn:agenthub:agent/v1";

/// Card of an agent. `Into<AgentCard>`.
///
/// ```
/// use agenthub_sdk::{Card, Skill};
///
/// let card = Card::new("agent_echo", "Repeats what it is told").skill(
///     Skill::new("echo", "Echo Messages", "Echoes any text back").tags(["testing"]),
/// );
/// ```
#[derive(Clone, Debug)]
pub struct Card(AgentCard);

impl Card {
    /// A card with this name, which is the agent's id: printable, at most 128 bytes.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self(AgentCard {
            protocol_version: "0.2.9".to_owned(),
            name: name.into(),
            description: description.into(),
            version: "1.0.0".to_owned(),
            capabilities: Some(AgentCapabilities::default()),
            ..Default::default()
        })
    }

    /// The agent's version; 1.0.0 if not given.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.0.version = version.into();
        self
    }

    /// Something that the agent can do, with what it takes and gives.
    #[must_use]
    pub fn skill(mut self, skill: impl Into<SkillDeclaration>) -> Self {
        declare(&mut self.0, skill.into());
        self
    }

    /// The JSON Schema of the data that a skill takes, for those who write requests to it.
    #[must_use]
    pub fn input_schema(mut self, skill: impl Into<String>, schema: Value) -> Self {
        extend(&mut self.0, |params| {
            params["skills"][skill.into()]["inputSchema"] = schema;
        });
        self
    }

    /// The JSON Schema of the data that a skill gives, for those who build on it.
    #[must_use]
    pub fn output_schema(mut self, skill: impl Into<String>, schema: Value) -> Self {
        extend(&mut self.0, |params| {
            params["skills"][skill.into()]["outputSchema"] = schema;
        });
        self
    }

    /// Phase of a run to which a skill belongs; `analysis` if not given.
    #[must_use]
    pub fn phase(mut self, skill: impl Into<String>, phase: Phase) -> Self {
        extend(&mut self.0, |params| {
            params["skills"][skill.into()]["phase"] = phase.as_str().into();
        });
        self
    }

    /// Says that the agent shows its answers as they grow.
    #[must_use]
    pub fn streaming(mut self) -> Self {
        self.0.capabilities.get_or_insert_default().streaming = true;
        self
    }
}

impl From<Card> for AgentCard {
    fn from(card: Card) -> Self {
        card.0
    }
}

/// Puts a skill on a card.
pub(crate) fn declare(card: &mut AgentCard, declared: SkillDeclaration) {
    let SkillDeclaration {
        skill,
        input,
        output,
        phase,
    } = declared;
    let phase = phase.map(|phase| phase.as_str().into());
    for (field, value) in [
        ("inputSchema", input),
        ("outputSchema", output),
        ("phase", phase),
    ] {
        if let Some(value) = value {
            extend(card, |params| params["skills"][&*skill.id][field] = value);
        }
    }
    card.skills.push(skill);
}

/// The ids of skills about which a card says something though it has none of that id.
pub(crate) fn undeclared(card: &AgentCard) -> Vec<String> {
    let extensions = card.capabilities.iter().flat_map(|c| &c.extensions);
    let params = extensions
        .filter(|e| e.uri == EXTENSION)
        .find_map(|e| e.params.as_ref())
        .map(json::from_struct)
        .unwrap_or_default();
    let ids = params["skills"].as_object().into_iter().flatten();
    ids.map(|(id, _)| id.clone())
        .filter(|id| card.skills.iter().all(|skill| skill.id != *id))
        .collect()
}

/// Changes the parameters of the card's extension, a JSON object.
pub(crate) fn extend(card: &mut AgentCard, change: impl FnOnce(&mut Value)) {
    let extensions = &mut card.capabilities.get_or_insert_default().extensions;
    let at = extensions.iter().position(|e| e.uri == EXTENSION);
    let at = at.unwrap_or_else(|| {
        extensions.push(AgentExtension {
            uri: EXTENSION.to_owned(),
            ..Default::default()
        });
        extensions.len() - 1
    });
    let params = &mut extensions[at].params;
    let mut changed = params.as_ref().map_or_else(|| json!({}), json::from_struct);
    change(&mut changed);
    *params = Some(json::to_struct(&changed));
}
