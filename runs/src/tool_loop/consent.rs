//! Consent to calls of tools that need a person's approval.

use crate::{
    approval::{Approval, Decision},
    effect::{Effect, Step},
    event::StepResult,
    facts::Facts,
    model::ToolCall,
};

/// State of the consent to a call.
#[derive(Debug, PartialEq)]
pub(super) enum Consent {
    /// Given: the call may be dispatched.
    Given,
    /// Pending: the step that asks a person.
    Wanted(Box<Step>),
    /// Refused, with the reason for the model.
    Refused(String),
}

/// Consent to the call of a step. Requested for each call, and valid for its arguments alone.
pub(super) fn of_call(
    run: &str,
    agent: &str,
    step: &str,
    call: &ToolCall,
    facts: &Facts,
) -> Consent {
    let approval = Approval::new(run, step, agent, &call.name, call.arguments.clone());
    let question = Step::new(format!("{step}/consent"), Effect::Approve(approval));
    match facts.result(&question) {
        None => Consent::Wanted(Box::new(question)),
        Some(StepResult::Decided(decision)) if decision.approved => Consent::Given,
        Some(StepResult::Decided(decision)) => Consent::Refused(refusal(decision)),
        Some(StepResult::Failed(failure)) => Consent::Refused(failure.message.clone()),
        Some(_) => Consent::Refused("it was called back".to_owned()),
    }
}

fn refusal(decision: &Decision) -> String {
    let who = match decision.by.trim() {
        "" => "a person".to_owned(),
        by => format!("a person ({by})"),
    };
    match decision.comment.trim() {
        "" => format!("{who} refused this call"),
        comment => format!("{who} refused this call: {comment}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_names_the_person_and_the_reason_where_they_are_known() {
        let of = |by: &str, comment: &str| {
            refusal(&Decision {
                approved: false,
                by: by.into(),
                comment: comment.into(),
            })
        };
        assert_eq!(
            of("ann", "too dear"),
            "a person (ann) refused this call: too dear"
        );
        assert_eq!(of("", " "), "a person refused this call");
    }

    #[test]
    fn consent_is_for_one_call_with_its_arguments() {
        let asked = |run: &str, step: &str, arguments| {
            let call = ToolCall {
                id: "c".into(),
                name: "send".into(),
                arguments,
            };
            match of_call(run, "a", step, &call, &Facts::default()) {
                Consent::Wanted(step) => match step.effect {
                    Effect::Approve(approval) => approval,
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            }
        };
        let one = asked("r", "turn-1/call-1", json!({"to": "all"}));
        assert_eq!((&*one.agent, &*one.capability), ("a", "send"));
        assert_eq!(one.arguments, json!({"to": "all"}));
        for other in [
            asked("r", "turn-1/call-2", json!({"to": "all"})),
            asked("r", "turn-1/call-1", json!({"to": "none"})),
            asked("q", "turn-1/call-1", json!({"to": "all"})),
        ] {
            assert_ne!(other.digest, one.digest);
        }
    }
}
