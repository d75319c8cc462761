//! Hints of what can be asked in the chat, for who has never seen it: examples from the cards of the agents that are here.

use agenthub_proto::agenthub::{AgentEntry, AgentState, ListAgentsRequest};
use agenthub_sdk::internal::contracts;
use maud::{Markup, html};

use crate::{
    backend::{Backend, CORTEX},
    elements::{agent, line, segment, sentence},
    files::Model,
};

/// Agents that are looked at, and the most whose examples are shown.
const LOOKED_AT: i32 = 50;
const SHOWN: usize = 6;

/// Examples of an agent.
const EACH: usize = 2;

/// Text on the chat, and examples that fill in its form.
pub(super) async fn hints(backend: &Backend, model: Option<&Model>) -> Markup {
    let request = ListAgentsRequest {
        state: AgentState::Online.into(),
        page_size: LOOKED_AT,
        ..ListAgentsRequest::default()
    };
    // Without examples the chat can be used as well.
    let here = backend.hub().agents(request).await.unwrap_or_default();
    drawn(&here.agents, model)
}

fn drawn(here: &[AgentEntry], model: Option<&Model>) -> Markup {
    let others = here.iter().filter(|entry| entry.agent_id != CORTEX);
    let is_stand_in = model.is_some_and(|model| model.advice.is_some());
    let shown: Vec<(&AgentEntry, Vec<String>)> = others
        .map(|entry| (entry, examples(entry, is_stand_in)))
        .filter(|(_, examples)| !examples.is_empty())
        .take(SHOWN)
        .collect();
    html! {
        p { "Say in your own words what is to be done. Cortex reads the cards of the agents that are here, hands the work to those that can do it, and answers with what comes back. You see whom it asks, and you are asked before anything is done that needs a yes." }
        @if let Some(model) = model { (self::model(model)) }
        p { "To see agents work one after another, and be asked on the way: " a href="/ui/start" { "start an example run" } "." }
        @if shown.is_empty() {
            p.nothing { "No agent with examples on its card is here. Ask “What can you do?”, or start an agent: " code { "agenthub agent echo" } }
        } @else {
            p { "For example:" }
            ul.examples {
                @for (entry, examples) in &shown {
                    @for example in examples {
                        li { a href={ "/ui/chat?say=" (segment(&asked(entry, example))) } { (line(&asked(entry, example), 100)) } " " span.about { "for " (agent(&entry.agent_id)) } }
                    }
                }
            }
        }
    }
}

/// The model that Cortex thinks with, and how to have another one where it is a stand-in.
pub(in crate::screens) fn model(model: &Model) -> Markup {
    html! {
        p.about {
            "Model: " b { (model.name) } "."
            @if let Some(advice) = &model.advice { " It understands little, and most of what agents do with it counts as done in part: name an agent, and quote what is meant for it; " (sentence(advice)) }
        }
    }
}

/// Examples of an agent. A stand-in for a model makes no data of words, so with one those of skills that take data are left out.
fn examples(entry: &AgentEntry, is_stand_in: bool) -> Vec<String> {
    let card = entry.agent_card.clone().unwrap_or_default();
    let contracts = contracts(&card);
    let takes_data = |id: &str| {
        contracts
            .get(id)
            .is_some_and(|contract| contract.input.is_some())
    };
    let skills = card
        .skills
        .iter()
        .filter(|skill| !is_stand_in || !takes_data(&skill.id));
    let examples = skills.flat_map(|skill| skill.examples.iter().take(1));
    examples
        .filter(|example| !example.trim().is_empty())
        .take(EACH)
        .cloned()
        .collect()
}

/// The example as one says it: with the agent's name, and in quotation marks, so that there is no doubt for whom it is and what.
fn asked(entry: &AgentEntry, example: &str) -> String {
    format!("ask {} \"{}\"", entry.agent_id, example.replace('"', "'"))
}

#[cfg(test)]
mod tests {
    use agenthub_proto::a2a::{AgentCard, AgentSkill};
    use agenthub_sdk::{Card, Skill};
    use serde_json::json;

    use super::*;

    fn entry(id: &str, examples: &[&str]) -> AgentEntry {
        let skill = AgentSkill {
            examples: examples.iter().map(|e| (*e).to_owned()).collect(),
            ..AgentSkill::default()
        };
        AgentEntry {
            agent_id: id.into(),
            agent_card: Some(AgentCard {
                skills: vec![skill],
                ..AgentCard::default()
            }),
            ..AgentEntry::default()
        }
    }

    #[test]
    fn examples_come_from_the_cards_and_fill_in_the_form() {
        let here = [
            entry("agent_echo", &["Echo this <message>", "other"]),
            entry("cortex", &["What can you do?"]),
            entry("quiet", &[]),
        ];
        let shown = drawn(&here, None).into_string();
        assert!(
            shown.contains("/ui/chat?say=ask%20agent_echo%20%22Echo%20this%20%3Cmessage%3E%22"),
            "{shown}"
        );
        assert!(shown.contains("Echo this &lt;message&gt;"), "{shown}");
        assert!(
            !shown.contains("What can you do?") && !shown.contains("quiet"),
            "{shown}"
        );
        let none = drawn(&[], None).into_string();
        assert!(none.contains("agenthub agent echo"), "{none}");
    }

    #[test]
    fn a_stand_in_for_a_model_gets_no_examples_that_it_can_make_nothing_of() {
        let skill = Skill::new("write", "Write", "").examples(["Write a post"]);
        let card = Card::new("writer", "").skill(skill);
        let takes_data = AgentEntry {
            agent_id: "writer".into(),
            agent_card: Some(card.input_schema("write", json!({"type": "object"})).into()),
            ..AgentEntry::default()
        };
        let here = [takes_data, entry("agent_echo", &["Echo this"])];
        let of = |advice: Option<&str>| {
            let model = Model {
                name: "m".into(),
                advice: advice.map(str::to_owned),
            };
            drawn(&here, Some(&model)).into_string()
        };
        assert!(of(None).contains("Write a post") && of(None).contains("Echo this"));
        let stand_in = of(Some("--model x"));
        assert!(
            !stand_in.contains("Write a post") && stand_in.contains("Echo this"),
            "{stand_in}"
        );
    }

    #[test]
    fn a_stand_in_for_a_model_says_that_it_is_one() {
        let model = Model {
            name: "offline".into(),
            advice: Some("for a real one: --model x".into()),
        };
        let shown = drawn(&[], Some(&model)).into_string();
        assert!(
            shown.contains("offline") && shown.contains("--model x"),
            "{shown}"
        );
    }
}
