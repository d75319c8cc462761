//! Type of an agent: worker or supervisor.

use agenthub_proto::{
    a2a::{AgentCard, AgentExtension},
    agenthub::TaskStatusUpdateEvent,
    json,
    wkt::Struct,
};

use crate::card::EXTENSION;

/// Key of the type in cards and statuses.
pub(crate) const AGENT_TYPE: &str = "agentType";

/// True if a status says what kind of agent of this SDK it is of.
pub fn is_of_sdk(update: &TaskStatusUpdateEvent) -> bool {
    let metadata = update.metadata.as_ref();
    metadata.is_some_and(|metadata| metadata.fields.contains_key(AGENT_TYPE))
}

/// Type of an agent. It never changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentType {
    /// Does its work itself.
    #[default]
    Worker,
    /// Leads others.
    Supervisor,
}

impl AgentType {
    /// As status updates and cards have it: `worker` or `supervisor`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Supervisor => "supervisor",
        }
    }

    /// The type in a card; a card without one is a worker's.
    pub fn of(card: &AgentCard) -> Self {
        let params = extension(card).and_then(|e| e.params.as_ref());
        let value = params.and_then(|p| p.fields.get(AGENT_TYPE));
        match value.map(json::from_value) {
            Some(serde_json::Value::String(text)) if text == Self::Supervisor.as_str() => {
                Self::Supervisor
            }
            _ => Self::Worker,
        }
    }

    /// Says it in the card, beside what else the extension has there.
    pub(super) fn declare(self, card: &mut AgentCard) {
        let extensions = &mut card.capabilities.get_or_insert_default().extensions;
        let place = extensions.iter().position(|e| e.uri == EXTENSION);
        let place = place.unwrap_or_else(|| {
            extensions.push(AgentExtension {
                uri: EXTENSION.to_owned(),
                description: "What the agent is to others".to_owned(),
                ..Default::default()
            });
            extensions.len() - 1
        });
        let params = extensions[place].params.get_or_insert_with(Struct::default);
        let value = json::to_value(&self.as_str().into());
        params.fields.insert(AGENT_TYPE.to_owned(), value);
    }
}

fn extension(card: &AgentCard) -> Option<&AgentExtension> {
    let extensions = &card.capabilities.as_ref()?.extensions;
    extensions.iter().find(|e| e.uri == EXTENSION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Card;

    /// spec: AGT-1.5, AGT-9.4
    #[test]
    fn a_card_says_what_its_agent_is_beside_the_rest() {
        let mut card: AgentCard = Card::new("a", "").into();
        assert_eq!(AgentType::of(&card), AgentType::Worker);
        let params = json::to_struct(&serde_json::json!({"recovery": "retry", "agentType": "x"}));
        card.capabilities.get_or_insert_default().extensions = vec![AgentExtension {
            uri: EXTENSION.into(),
            params: Some(params),
            ..Default::default()
        }];
        AgentType::Supervisor.declare(&mut card);
        AgentType::Supervisor.declare(&mut card);
        assert_eq!(AgentType::of(&card), AgentType::Supervisor);
        let extensions = card.capabilities.map(|c| c.extensions).unwrap_or_default();
        assert_eq!(extensions.len(), 1);
        let params = extensions[0].params.as_ref().map(json::from_struct);
        let expected = serde_json::json!({"agentType": "supervisor", "recovery": "retry"});
        assert_eq!(params, Some(expected));
    }
}
