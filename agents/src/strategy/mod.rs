//! The strategy agent: from a brief and past performance to a schedule, settings of the knobs, and the reasons.
//!
//! Its tools compute which settings went with good results (`comparison.rs`); the model, or offline what stands in for it (`computed.rs`),
//! writes the schedule and the reasons from the numbers. What was computed stands in the output as `analysis`, whatever the model says of it.
//!
//! A knob is whatever the payload names.

mod analysis;
mod asked;
mod comparison;
mod computed;
mod form;
mod knob;
mod past;
mod schedule;
mod statistics;
mod tools;

use std::sync::Arc;

use agenthub_sdk::{Agent, AgentBuilder, Card, Phase, Skill, model::LanguageModel};
use serde_json::{Value, json};

use crate::{fields, offline};

/// Its name.
pub const NAME: &str = "strategy";

/// Its skill.
pub const PLAN: &str = "plan.strategy";

/// The agent, thinking with this model.
pub fn agent(model: Arc<dyn LanguageModel>) -> AgentBuilder {
    Agent::worker(card())
        .model(offline::or(model, computed::answer))
        .instructions(include_str!("../../prompts/strategy.md"))
        .tools([tools::survey(), tools::compare()])
        .form(PLAN, form::Strategy)
}

fn card() -> Card {
    let description = "Derives content strategies from campaign briefs and past performance: schedule, rationale and knob settings";
    let skill = Skill::new(
        PLAN,
        "Content strategy",
        "Makes a publishing schedule, and settings of the knobs from an analysis of past performance, with the reasons",
    )
    .tags(["strategy", "campaign", "schedule", "knobs", "performance analysis"])
    .examples(["derive a campaign strategy from past performance"])
    .modes(["application/json", "text/plain"], ["application/json", "text/plain"]);
    Card::new(NAME, description)
        .skill(skill)
        .input_schema(PLAN, input())
        .output_schema(PLAN, output())
        .phase(PLAN, Phase::Analysis)
}

/// Input of the skill.
fn input() -> Value {
    let text = |what: &str| json!({"type": ["string", "null"], "description": what});
    json!({
        "type": "object",
        "required": ["brief"],
        "properties": {
            "brief": {"type": "string", "description": "What the campaign is about"},
            "objective": text("What it is to reach"),
            "audience": text("Whom it is for"),
            "clientProfile": {"type": ["object", "null"], "description": "Who speaks: tone of voice, audience, special instructions"},
            "priorPerformance": fields::prior_performance(),
            "knobs": fields::knobs("The knobs: a wished setting each"),
            "platform": text("Where it is published"),
            "language": text("Which language it is written in"),
            "schedule": fields::schedule(),
        },
    })
}

/// Output of the skill.
fn output() -> Value {
    let mut output = form::answer();
    output["properties"]["strategy"]["properties"]["knobs"]["additionalProperties"] = json!({"type": ["number", "object"], "description": "The setting, or the knob's definition with it as `value`"});
    output["properties"]["analysis"] = json!({
        "type": "object",
        "description": "What was computed from past performance, its evidence and its limits",
    });
    output["required"] = json!(["strategy", "analysis"]);
    output
}
