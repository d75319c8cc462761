//! Compliance of a run with its procedure, rule by rule, with evidence.
//!
//! A run's journal has the rules of its SOP as they were when it began ([`Procedure::of`]), and all that happened ([`Transcript`]). What
//! can be counted or found, code decides (`checks/`); the rest goes to a model (`verdicts.rs`), whose verdict counts only with a quotation
//! that stands in the transcript. Nothing of what the run's agents and people said is an instruction: a model sees it as quoted data.

mod call;
mod checks;
mod finding;
mod nothing_done;
mod prompt;
mod recorded;
mod shortened;
mod transcript;
mod verdicts;

#[cfg(test)]
mod story;
#[cfg(test)]
mod tests;

use agenthub_sdk::{
    model::LanguageModel,
    runs::{RunEvent, RunId},
};

pub use call::Call;
pub use finding::{By, Counts, Finding, NoProcedure, Procedure, Report, Verdict};
pub use recorded::{Asked, FindError, Journals, Recorded, asked};
pub use transcript::{Passage, PassageKind, Tool, Transcript};

use checks::Checked;

/// The report on a run, so far as it is journaled. Without a model, what code cannot check stays unchecked. The model is asked at most 8
/// times twice, each time for at most 3 minutes.
///
/// # Errors
///
/// The journal has no rules.
pub async fn report(
    run: &RunId,
    events: &[RunEvent],
    model: Option<&dyn LanguageModel>,
) -> Result<Report, NoProcedure> {
    let procedure = Procedure::of(events)?;
    let transcript = Transcript::of(events);
    let named = transcript.clone().with_names(&procedure);
    let mut findings = Vec::new();
    let mut left = Vec::new();
    let rules = procedure.rules.iter().filter(|rule| rule.is_reported());
    for (at, rule) in rules.enumerate() {
        findings.push(match checks::check(rule, &procedure, &named) {
            Checked::Decided(found) => Finding::of(rule, By::Code, found),
            Checked::Left(note) => {
                left.push((at, rule, note.clone()));
                Finding::unchecked(rule, note)
            }
        });
    }
    if let Some(model) = model.filter(|_| !left.is_empty()) {
        let rules: Vec<_> = left.iter().map(|(_, rule, _)| *rule).collect();
        let verdicts = verdicts::judged(model, &procedure, &transcript, &rules).await;
        for ((at, rule, note), found) in left.into_iter().zip(verdicts) {
            let found = nothing_done::without_doing(found, &transcript);
            findings[at] = Finding::judged(rule, note, found);
        }
    }
    Ok(Report::new(run, procedure, &transcript, model, findings))
}
