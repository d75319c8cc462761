//! Cards, written in a few lines.

use agenthub_proto::{
    a2a::{AgentCapabilities, AgentCard, AgentExtension, AgentSkill},
    json,
};
use serde_json::{Value, json};

use crate::Phase;

/// The card extension for what cards have no field for. Its parameters are `agentType` and, by skill id, `skills` with an
/// `inputSchema`, an `outputSchema` and a `phase` each.
pub(crate) const EXTENSION: &str = "urn:agenthub:agent/v1";

/// What an agent says of itself. `Into<AgentCard>`.
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

    /// Something that the agent can do.
    #[must_use]
    pub fn skill(mut self, skill: impl Into<AgentSkill>) -> Self {
        self.0.skills.push(skill.into());
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

    /// Where in a run a skill belongs; `analysis` if not given.
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

/// Something that an agent can do. `Into<AgentSkill>`; takes and gives plain text unless told otherwise.
#[derive(Clone, Debug)]
pub struct Skill(AgentSkill);

impl Skill {
    /// A skill; the id is what others name to get it.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self(AgentSkill {
            id: id.into(),
            name: name.into(),
            description: description.into(),
            input_modes: vec!["text/plain".to_owned()],
            output_modes: vec!["text/plain".to_owned()],
            ..Default::default()
        })
    }

    /// Words to find it by.
    #[must_use]
    pub fn tags<S: Into<String>>(mut self, tags: impl IntoIterator<Item = S>) -> Self {
        self.0.tags = strings(tags);
        self
    }

    /// Requests that it is right for.
    #[must_use]
    pub fn examples<S: Into<String>>(mut self, examples: impl IntoIterator<Item = S>) -> Self {
        self.0.examples = strings(examples);
        self
    }

    /// The MIME types that it takes and gives.
    #[must_use]
    pub fn modes<S: Into<String>>(
        mut self,
        input: impl IntoIterator<Item = S>,
        output: impl IntoIterator<Item = S>,
    ) -> Self {
        self.0.input_modes = strings(input);
        self.0.output_modes = strings(output);
        self
    }
}

impl From<Skill> for AgentSkill {
    fn from(skill: Skill) -> Self {
        skill.0
    }
}

fn strings<S: Into<String>>(items: impl IntoIterator<Item = S>) -> Vec<String> {
    items.into_iter().map(Into::into).collect()
}
