//! Contracts of skills, as an agent's card says them: their input and output.

use std::collections::BTreeMap;

use agenthub_proto::{
    a2a::{AgentCard, AgentSkill},
    json,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::card::EXTENSION;

/// The part of a run that a skill belongs to.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Decides what is to be done.
    Planning,
    /// Finds out facts.
    #[default]
    Analysis,
    /// Something is made.
    Generation,
    /// Reviews results.
    Qa,
    /// Puts results together.
    Finalization,
}

impl Phase {
    /// All of them, in the order of a run.
    pub const ALL: [Self; 5] = [
        Self::Planning,
        Self::Analysis,
        Self::Generation,
        Self::Qa,
        Self::Finalization,
    ];

    /// The name that cards and frames have for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Analysis => "analysis",
            Self::Generation => "generation",
            Self::Qa => "qa",
            Self::Finalization => "finalization",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == name)
    }
}

/// Contract of a skill: its input and its output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contract {
    /// The JSON Schema of the data that it takes, if the card has one.
    pub input: Option<Value>,
    /// The JSON Schema of the data that it gives, if the card has one.
    pub output: Option<Value>,
    /// Phase of a run to which it belongs; `analysis` if the card does not say, or says something unknown.
    pub phase: Phase,
}

/// Type of a task that asks an agent for one of its skills: the skill's id. An agent whose card does not have the extension of
/// this SDK tells tasks apart by the names of its skills, as those of the original AgentHub do.
pub fn task_type<'a>(card: &AgentCard, skill: &'a AgentSkill) -> &'a str {
    let extensions = card.capabilities.iter().flat_map(|c| &c.extensions);
    let is_of_sdk = extensions.into_iter().any(|e| e.uri == EXTENSION);
    match is_of_sdk || skill.name.is_empty() {
        true => &skill.id,
        false => &skill.name,
    }
}

/// The type by which the agent with this card knows a task: of a skill, named by its id or its name, what the card says; without one, its only
/// skill's, where the agent goes by the names of its skills.
pub fn known_as(wanted: Option<String>, card: &AgentCard) -> Option<String> {
    let skill = match &wanted {
        Some(wanted) => card
            .skills
            .iter()
            .find(|s| [&s.id, &s.name].contains(&wanted)),
        None => match &card.skills[..] {
            [only] if task_type(card, only) != only.id => Some(only),
            _ => None,
        },
    };
    skill
        .map(|skill| task_type(card, skill).to_owned())
        .or(wanted)
}

/// The contracts of all of the card's skills, by skill id. The schemas are as the agent wrote them and may be no schemas.
pub fn contracts(card: &AgentCard) -> BTreeMap<String, Contract> {
    let extensions = card.capabilities.iter().flat_map(|c| &c.extensions);
    let params = extensions
        .filter(|e| e.uri == EXTENSION)
        .find_map(|e| e.params.as_ref())
        .map(json::from_struct)
        .unwrap_or_default();
    let contract = |skill: &AgentSkill| {
        let said = &params["skills"][&skill.id];
        let contract = Contract {
            input: said.get("inputSchema").cloned(),
            output: said.get("outputSchema").cloned(),
            phase: said["phase"]
                .as_str()
                .and_then(Phase::of)
                .unwrap_or_default(),
        };
        (skill.id.clone(), contract)
    };
    card.skills.iter().map(contract).collect()
}

/// The reason why the agent with this card refuses a task of this type: none of its skills goes by that name. `None` of a task without a type, and for
/// an agent that names no skills.
pub(crate) fn refusal(card: &AgentCard, wanted: &str) -> Option<String> {
    let names =
        |skill: &AgentSkill| [&*skill.id, &*skill.name, task_type(card, skill)].contains(&wanted);
    if wanted.is_empty() || card.skills.is_empty() || card.skills.iter().any(names) {
        return None;
    }
    let skills: Vec<&str> = card.skills.iter().map(|skill| &*skill.id).collect();
    Some(format!(
        "{} has no skill {wanted:?}; it has {}",
        card.name,
        skills.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Agent, Card, Skill, TaskContext, card::extend};
    use agenthub_proto::a2a::{AgentCapabilities, AgentExtension};
    use serde_json::json;

    /// spec: HUB-5.2
    #[test]
    fn who_does_not_speak_the_extension_is_asked_by_the_names_of_its_skills() {
        let card = |extensions: &[&str]| AgentCard {
            skills: vec![Skill::new("skill_0", "Echo Messages", "").into()],
            capabilities: Some(AgentCapabilities {
                extensions: extensions
                    .iter()
                    .map(|uri| AgentExtension {
                        uri: (*uri).into(),
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let asked = |card: AgentCard| task_type(&card, &card.skills[0]).to_owned();
        assert_eq!(asked(card(&[])), "Echo Messages");
        assert_eq!(asked(card(&["urn:other"])), "Echo Messages");
        assert_eq!(asked(card(&[EXTENSION])), "skill_0");
        let nameless = AgentCard {
            skills: vec![Skill::new("skill_0", "", "").into()],
            ..Default::default()
        };
        assert_eq!(asked(nameless), "skill_0");
    }

    /// spec: HUB-5.2
    #[test]
    fn a_task_has_the_type_by_which_its_agent_knows_it() {
        let skill = |id: &str, name: &str| AgentSkill {
            id: id.to_owned(),
            name: name.to_owned(),
            ..AgentSkill::default()
        };
        let mut older = AgentCard {
            skills: vec![skill("skill_0", "Echo Messages")],
            ..AgentCard::default()
        };
        let known = |wanted: &str, card: &AgentCard| {
            let wanted = (!wanted.is_empty()).then(|| wanted.to_owned());
            known_as(wanted, card).unwrap_or_default()
        };
        for wanted in ["", "skill_0", "Echo Messages"] {
            assert_eq!(known(wanted, &older), "Echo Messages");
        }
        assert_eq!(known("other", &older), "other");
        older.skills.push(skill("skill_1", "Sing"));
        assert_eq!(known("", &older), "", "which of them is meant is not known");
        let skill = Skill::new("echo", "Echo", "");
        let agent = Agent::worker(Card::new("a", "").skill(skill))
            .on_task_type("echo", async |_: TaskContext| Ok("hi"))
            .build();
        let of_sdk = agent.expect("it is whole").card().clone();
        assert_eq!(known("", &of_sdk), "");
        assert_eq!(known("Echo", &of_sdk), "echo");
    }

    #[test]
    fn a_task_for_a_skill_that_is_not_on_the_card_is_refused() {
        let card: AgentCard = Card::new("a", "")
            .skill(Skill::new("make", "Make things", ""))
            .into();
        for known in ["", "make", "Make things"] {
            assert_eq!(refusal(&card, known), None, "{known}");
        }
        let why = refusal(&card, "paint").expect("it is not there");
        assert!(
            why.contains("\"paint\"") && why.ends_with("it has make"),
            "{why}"
        );
        let bare: AgentCard = Card::new("a", "").into();
        assert_eq!(refusal(&bare, "paint"), None);
    }

    /// spec: ORC-5.2
    #[test]
    fn a_card_tells_what_each_skill_takes_and_gives_and_where_it_belongs() {
        let card = Card::new("a", "")
            .skill(Skill::new("make", "", ""))
            .skill(Skill::new("look", "", ""))
            .input_schema("make", json!({"type": "object"}))
            .output_schema("make", json!({"type": "object", "required": ["made"]}))
            .phase("make", Phase::Generation);
        let found = contracts(&card.into());
        let make = Contract {
            input: Some(json!({"type": "object"})),
            output: Some(json!({"type": "object", "required": ["made"]})),
            phase: Phase::Generation,
        };
        assert_eq!(found["make"], make);
        assert_eq!(found["look"], Contract::default());
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn what_a_card_says_wrong_is_as_if_it_said_nothing() {
        let card = |params: Value| {
            let mut card: AgentCard = Card::new("a", "").skill(Skill::new("s", "", "")).into();
            extend(&mut card, |p| *p = params);
            card
        };
        for params in [
            json!({"skills": "all"}),
            json!({"skills": {"s": [1]}}),
            json!({"skills": {"s": {"phase": "sleeping"}, "t": {"phase": "qa"}}}),
            json!({"skills": {"s": {"phase": 3}}}),
        ] {
            let found = contracts(&card(params.clone()));
            let expected = BTreeMap::from([("s".to_owned(), Contract::default())]);
            assert_eq!(found, expected, "{params}");
        }
    }

    #[test]
    fn phases_have_one_name_everywhere() {
        for phase in Phase::ALL {
            assert_eq!(json!(phase), phase.as_str());
            assert_eq!(Phase::of(phase.as_str()), Some(phase));
        }
    }
}
