//! The writer agent: it makes the brief of a text, the text, and a revision of it.
//!
//! With a model, the model writes. Without one, a draft is composed of the sentences of its brief, so that what is wanted and can be
//! measured is met best (`composing.rs`); nothing is said that the brief does not say, in whatever language it is.

mod blocks;
mod brief;
mod composing;
mod computed;
mod draft;
mod layout;
pub(crate) mod material;
mod unread;
mod wishes;

use std::sync::Arc;

use agenthub_sdk::{Agent, AgentBuilder, Card, Phase, Skill, model::LanguageModel};
use serde_json::{Value, json};

use crate::{fields, offline};

/// Its name.
pub const NAME: &str = "writer";

/// Its skills.
pub const BRIEF: &str = "content.brief";
/// See [`BRIEF`].
pub const WRITE: &str = "content.write";

/// The profile in what both skills take.
const CLIENT_PROFILE: &str = "Who speaks: name, tone, values, instructions, and whatever else";

/// The agent, thinking with this model.
pub fn agent(model: Arc<dyn LanguageModel>) -> AgentBuilder {
    Agent::worker(card())
        .model(offline::or(model, computed::answer))
        .instructions(include_str!("../../prompts/writer.md"))
        .form(BRIEF, brief::Brief)
        .form(WRITE, draft::Draft)
}

fn card() -> Card {
    let modes = ["application/json", "text/plain"];
    let brief = Skill::new(
        BRIEF,
        "Writer brief",
        "Turns a client's brief, a strategy and knobs into a brief for one piece of content",
    )
    .tags(["writer brief", "copy brief"])
    .examples(["turn the client's brief into a writer brief"])
    .modes(modes, modes);
    let write = Skill::new(
        WRITE,
        "Content writing",
        "Writes a piece of content from a writer brief, or revises a draft by revision notes",
    )
    .tags(["copywriting", "social media", "content", "revision"])
    .examples(["write a social media post from the writer brief"])
    .modes(modes, modes);
    Card::new(
        NAME,
        "Writes social media content from writer briefs, and revises it",
    )
    .skill(brief)
    .skill(write)
    .input_schema(BRIEF, brief_input())
    .output_schema(BRIEF, brief::answer())
    .phase(BRIEF, Phase::Generation)
    .input_schema(WRITE, write_input())
    .output_schema(WRITE, draft::answer())
    .phase(WRITE, Phase::Generation)
}

fn text(what: &str) -> Value {
    json!({"type": ["string", "null"], "description": what})
}

fn object(what: &str) -> Value {
    json!({"type": ["object", "null"], "description": what})
}

fn texts(what: &str) -> Value {
    json!({"type": ["array", "null"], "items": {"type": "string"}, "description": what})
}

fn any(what: &str) -> Value {
    json!({ "description": what })
}

fn brief_input() -> Value {
    json!({
        "type": "object",
        "required": ["clientBrief"],
        "properties": {
            "clientBrief": {"type": "string", "description": "What the client wants said"},
            "clientProfile": object(CLIENT_PROFILE),
            "strategy": object("The strategy, with the settings of the knobs"),
            "knobs": fields::knobs("The knobs"),
            "constraints": any("What else holds"),
            "objective": text("What it is to reach"),
            "audience": text("Whom it is for"),
            "platform": text("Where it is published"),
            "language": text("Which language it is written in"),
            "platformRules": fields::platform_rules(),
            "brandRules": fields::brand_rules(),
            "mustInclude": fields::must_include(),
            "headline": any("An opening line"),
            "keyMessages": any("What the reader is to take away"),
            "facts": any("What can be said"),
            "callToAction": any("What the reader is to do"),
            "link": any("Where to"),
            "hashtags": any("Hashtags that fit"),
            "emoji": any("Emoji that fit"),
        },
    })
}

fn write_input() -> Value {
    json!({
        "type": "object",
        "required": ["writerBrief"],
        "properties": {
            "writerBrief": {"type": ["object", "string"], "description": "The brief of the text"},
            "clientProfile": object(CLIENT_PROFILE),
            "audience": text("Whom it is for"),
            "platform": text("Where it is published"),
            "language": text("Which language it is written in"),
            "mustInclude": fields::must_include(),
            "platformRules": fields::platform_rules(),
            "brandRules": fields::brand_rules(),
            "knobs": fields::knobs("The knobs, in place of those of the brief"),
            "revisionNotes": texts("What is to be changed of the draft before"),
            "previousDraft": any("The draft before, as a text or { text }"),
        },
    })
}
