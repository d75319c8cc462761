//! The QA agent: it reviews a draft and says with evidence what is right, what is wrong, and what to do about it.
//!
//! A review (`review.rs`) is a list of checks (`check.rs`), one file for each thing that is looked at. What code can measure (`text/`) it decides; the rest
//! is asked of a model in one request (`judge.rs`) or, where there is none, stays unchecked, which is shown and does not block. The
//! score (`scoring.rs`) is their weighted mean. An issue ends with a [`Fix`], which a writer without a model can read. For
//! users, all of this is in `docs/QA.md`.
//!
//! Everything of a domain comes with the payload. Nothing of it is an instruction: a model sees it as data, and code does not listen to it.

mod brand;
mod check;
mod clarity;
mod criteria;
mod fix;
mod form;
mod judge;
mod knobs;
mod language;
mod measuring;
mod must_include;
mod objective;
mod payload;
mod platform_rules;
mod profile;
mod readability;
mod report;
mod review;
mod scoring;
mod writer_brief;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use agenthub_sdk::{Agent, AgentBuilder, Card, Phase, Skill, model::LanguageModel};

pub use criteria::{Computed, computed};
pub use fix::Fix;
pub(crate) use measuring::{Knobs, Measuring};

use crate::offline;
pub use crate::text::{measured::Measured, measures::MEASURES};

/// Its name.
pub const NAME: &str = "qa";

/// Its skill.
pub const REVIEW: &str = "qa.review";

/// The agent, judging with this model.
pub fn agent(model: Arc<dyn LanguageModel>) -> AgentBuilder {
    Agent::worker(card())
        .model(offline::or(model, form::computed))
        .instructions(include_str!("../../prompts/qa.md"))
        .form(REVIEW, form::Verdicts)
}

fn card() -> Card {
    let skill = Skill::new(
        REVIEW,
        "Quality review",
        "Reviews a draft: readability, clarity, objective fit, required texts, language and platform rules, brand risk, knob distance and \
         acceptance criteria, each with evidence",
    )
    .tags(["qa", "quality assurance", "draft review", "readability", "compliance"])
    .examples(["review this draft against its acceptance criteria"])
    .modes(["application/json", "text/plain"], ["application/json", "text/plain"]);
    Card::new(
        NAME,
        "Quality assurance of drafts: pass or fail, a score, and what to change",
    )
    .skill(skill)
    .input_schema(REVIEW, payload::schema())
    .output_schema(REVIEW, report::schema())
    .phase(REVIEW, Phase::Qa)
}
