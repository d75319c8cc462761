//! Check of a draft against its objective. Code can only count the words that both have; the rest is left to a model.

use std::collections::BTreeSet;

use super::check::{Check, NEEDS_A_MODEL};
use crate::text::language::Language;
use crate::text::parsed::{Text, letters};

/// Words with fewer letters say little.
const FEWEST_LETTERS: usize = 5;

pub(super) fn check(text: &Text, objective: &str, language: Option<Language>) -> Check {
    let check = Check::new("objective_fit", "Objective fit", 2.0);
    if objective.is_empty() {
        return check
            .not_checked("no objective came with the draft, such as `objective` in its payload");
    }
    let wanted = Text::new(objective);
    let stemmer = language.and_then(Language::stemmer);
    let stems = |text: &Text| -> BTreeSet<String> {
        let words = text.words().filter(|word| letters(word) >= FEWEST_LETTERS);
        let words = words.map(str::to_lowercase);
        words
            .map(|word| {
                stemmer
                    .as_ref()
                    .map_or(word.clone(), |s| s.stem(&word).into_owned())
            })
            .collect()
    };
    let (wanted, there) = (stems(&wanted), stems(text));
    let shared = wanted.intersection(&there).count();
    let evidence = format!(
        "{shared} of {} longer words of the objective are in the draft; whether it serves the objective is open: {NEEDS_A_MODEL}",
        wanted.len()
    );
    let question = format!("Does the draft serve this objective, for its audience? {objective}");
    check.not_checked(evidence).ask("objective", question)
}

/// The check of what is asked for in words beside the objective; `None` where nothing is.
pub(super) fn beside(asked_for: &str) -> Option<Check> {
    let question = format!("Does the draft do what is asked for here? {asked_for}");
    let check = || {
        Check::new("brief", "Brief", 1.0)
            .rule()
            .ask("objective", question)
    };
    (!asked_for.is_empty()).then(check)
}

#[cfg(test)]
mod tests {
    use super::{super::check::Verdict, *};

    /// spec: ORC-2.2
    #[test]
    fn shared_words_are_evidence_but_no_verdict() {
        let text = Text::new("Visitors love our gardens. Visit soon!");
        let check = check(
            &text,
            "Get visitors into the garden before autumn",
            Language::named("en"),
        );
        assert_eq!(check.verdict, Verdict::NotChecked);
        assert!(
            check.evidence.starts_with("2 of 4 longer words"),
            "{}",
            check.evidence
        );
        assert!(check.question.is_some());
    }

    #[test]
    fn without_an_objective_there_is_nothing_to_ask() {
        assert_eq!(super::check(&Text::new("a"), "", None).question, None);
    }
}
