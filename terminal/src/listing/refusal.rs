//! Refusals: by whom a step was not allowed, when, and with what words.

use agenthub_proto::{cortex::StepAttempt, json, wkt::Timestamp};

/// A person's no to a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The step of the plan, or of the run if it is none of a plan.
    pub step: String,
    /// The person who decided.
    pub by: String,
    /// The person's words; may be empty.
    pub comment: String,
    /// Time of the decision.
    pub at: Option<Timestamp>,
}

impl Refusal {
    /// The refusal that an attempt at a step ended with; `None` of any other.
    pub fn of(attempt: &StepAttempt) -> Option<Self> {
        if attempt.state != "refused" {
            return None;
        }
        let decision = attempt.result.as_ref().map(json::from_value);
        let decision = decision.unwrap_or_default();
        let text = |field: &str| {
            decision[field]
                .as_str()
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let step = match attempt.plan_step.as_str() {
            "" => attempt.step.as_str(),
            step => step,
        };
        let by = text("by");
        Some(Self {
            step: step.to_owned(),
            by: if by.is_empty() {
                "a person".to_owned()
            } else {
                by
            },
            comment: text("comment"),
            at: attempt.ended_at,
        })
    }

    /// In words without the time: `by ann: not today`.
    pub fn in_words(&self) -> String {
        match self.comment.as_str() {
            "" => format!("by {}", self.by),
            comment => format!("by {}: {comment}", self.by),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Issue 26, runs: what a person did not allow is refused: by whom, and with what words.
    #[test]
    fn a_refusal_has_who_refused_and_the_words() {
        let attempt = |state: &str, by: &str, comment: &str| StepAttempt {
            step: "approve-1/0a".into(),
            plan_step: "send".into(),
            state: state.into(),
            result: Some(json::to_value(
                &json!({"approved": false, "by": by, "comment": comment}),
            )),
            ..StepAttempt::default()
        };
        let told = |by, comment| {
            let refusal = Refusal::of(&attempt("refused", by, comment)).expect("it is one");
            assert_eq!(refusal.step, "send");
            refusal.in_words()
        };
        assert_eq!(told("ann", " not today "), "by ann: not today");
        assert_eq!(told("", ""), "by a person");
        assert_eq!(Refusal::of(&attempt("failed", "ann", "")), None);
    }
}
