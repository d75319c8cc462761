//! Agents to whom orders are given, and those whose results and cards have some.

use agenthub_sdk::{
    Agent, AgentBuilder, Card, Failure, Reply, Skill, TaskContext, Tool, ToolContext,
    proto::a2a::{Artifact, Part},
};
use serde_json::{Value, json};

use super::{BOBS, SECRET, cases::PLACES, common::Case};

/// An agent without a model.
pub(super) fn plain(name: &str, description: &str) -> Card {
    let skill = Skill::new("work", "Work", "Does what it is told");
    Card::new(name, description).skill(skill)
}

pub(super) fn takes(name: &'static str) -> AgentBuilder {
    Agent::worker(plain(name, "Works")).on_any(async |task: TaskContext| {
        let notes = if task.task_id() == BOBS { SECRET } else { "" };
        Reply::text(format!("done {notes}"))
    })
}

/// Gives the order of the case that it is asked about, in the form of its place.
pub(super) fn source() -> AgentBuilder {
    Agent::worker(plain("source", "Looks things up")).on_any(async |task: TaskContext| {
        let data = task.data().map(|data| data.to_string()).unwrap_or_default();
        let case = Case::find(&format!("{} {data}", task.text()));
        let Some(case) = case else {
            return Ok(Reply::text("nothing"));
        };
        let order = case.injected();
        match PLACES[case.place].1 {
            "result data" => Ok(Reply::from(json!({ "found": order }))),
            "artifact" => Ok(Reply::text("found").artifact(Artifact {
                artifact_id: "page".to_owned(),
                parts: vec![Part::text(&order)],
                ..Artifact::default()
            })),
            "failure" => Err(Failure::failed(order)),
            _ => Ok(Reply::text(order)),
        }
    })
}

pub(super) fn tools() -> [Tool; 2] {
    let schema =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let order = |input: &Value| {
        let case = Case::find(input["text"].as_str().unwrap_or_default());
        case.map(Case::injected).unwrap_or_default()
    };
    [
        Tool::new(
            "lookup",
            "Looks up",
            schema.clone(),
            move |_: ToolContext, input| {
                let order = order(&input);
                async move { order }
            },
        ),
        Tool::new("broken", "Fails", schema, move |_: ToolContext, input| {
            let order = order(&input);
            async move { Err::<String, _>(Failure::failed(order)) }
        }),
    ]
}

/// Agents whose cards hold orders: two on each, as long cards are shortened for models.
pub(super) fn cards() -> Vec<AgentBuilder> {
    let mut cards = Vec::new();
    for (number, (agent, place)) in PLACES.into_iter().enumerate() {
        for (half, orders) in Case::of_place(agent, place).chunks(2).enumerate() {
            let name = format!("card_{number}_{half}");
            let orders = orders.join(" ");
            let skill = |description: &str| Skill::new("work", "Work", description);
            let card = match place {
                "card description" => Card::new(name, orders).skill(skill("Works")),
                "skill description" => Card::new(name, "Works").skill(skill(&orders)),
                "skill example" => {
                    Card::new(name, "Works").skill(skill("Works").examples([orders]))
                }
                _ => continue,
            };
            cards.push(Agent::worker(card).on_any(async |_: TaskContext| "done"));
        }
    }
    cards
}
