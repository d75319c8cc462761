//! Actions of people on a run.

use std::collections::HashMap;

use agenthub_proto::{
    cortex::{DecideApprovalRequest, ForkRunRequest, RetryRunRequest},
    reason::{DECIDED_AT, DECIDED_BY, DECISION, Reason},
};
use agenthub_sdk::proto::json;
use axum::{extract::Form, http::StatusCode, response::Redirect};

use crate::{
    backend::Backend,
    clients::A_PERSON,
    elements::{clock_words, segment, sentence},
    form_key,
    place::Place,
    trouble::{Fault, Trouble},
    written,
};

/// Allows or refuses what a run asks for.
pub(super) async fn decide(
    backend: Backend,
    place: Place,
    Form(form): Form<HashMap<String, String>>,
) -> Result<Redirect, Trouble> {
    let given = |name: &str| form.get(name).map_or("", String::as_str);
    let approved = match given("answer") {
        "allow" => true,
        "refuse" => false,
        _ => {
            return Err(Trouble::new(
                StatusCode::BAD_REQUEST,
                "An approval is allowed or refused.",
            ));
        }
    };
    let request = DecideApprovalRequest {
        run_id: place.path("run").to_owned(),
        approval_id: given("approval").to_owned(),
        approved,
        by: backend.viewer().name().unwrap_or(A_PERSON).to_owned(),
        comment: given("comment").trim().to_owned(),
    };
    let comment = request.comment.clone();
    let decided = backend.decide(request).await;
    decided.map_err(|trouble| match trouble.reason() {
        Some(Reason::NotPending) => too_late(trouble, &comment),
        _ => trouble,
    })?;
    Ok(back(&place))
}

/// An answer that came behind another one: whose that was, and what would be lost of this one. The question is gone from a page that is kept up
/// to date before this is read.
fn too_late(trouble: Trouble, comment: &str) -> Trouble {
    let of_decision = |name: &str| trouble.metadata(name);
    let decided = match of_decision(DECISION) {
        "" => "The run does not wait for this answer any more".to_owned(),
        decision => format!(
            "It was already {decision} by {} at {}",
            of_decision(DECIDED_BY),
            clock_words(of_decision(DECIDED_AT).parse().ok().as_ref())
        ),
    };
    let words = match comment {
        "" => format!("{decided}; your answer did not count."),
        comment => {
            format!("{decided}; your answer did not count. Your comment was: “{comment}”")
        }
    };
    trouble.saying(words).staying()
}

/// Cancels a run.
pub(super) async fn cancel(backend: Backend, place: Place) -> Result<Redirect, Trouble> {
    backend.cancel_run(place.path("run")).await?;
    Ok(back(&place))
}

/// Starts a workflow again that has ended, and leads to the new run. A second press of the same button leads to the same one.
pub(super) async fn retry(
    backend: Backend,
    place: Place,
    Form(form): Form<HashMap<String, String>>,
) -> Result<Redirect, Trouble> {
    let given = |name: &str| form.get(name).map_or("", |value| value.trim()).to_owned();
    let from = given("from");
    let input =
        written::object(&other_input(&form)).map_err(|why| Trouble::with_field("input", why))?;
    let request = RetryRunRequest {
        id: place.path("run").to_owned(),
        idempotency_key: form_key::of(&form),
        from,
        input: input.map(|input| json::to_struct(&input.into())),
    };
    let run = backend.retry_run(request).await?;
    Ok(Redirect::to(&format!("/ui/runs/{}", segment(&run.id))))
}

/// Starts a run that goes on from an event of another one, and leads to it. A second press of the same button leads to the same one.
pub(super) async fn fork(
    backend: Backend,
    place: Place,
    Form(form): Form<HashMap<String, String>>,
) -> Result<Redirect, Trouble> {
    let given = |name: &str| form.get(name).map_or("", |value| value.trim()).to_owned();
    let at = given("at").parse().map_err(|_| {
        Trouble::new(
            StatusCode::BAD_REQUEST,
            "A run is forked at the number of an event.",
        )
    })?;
    let input = written::words_or_json(&other_input(&form));
    let input = input.map_err(|why| Trouble::with_field("input", why))?;
    let request = ForkRunRequest {
        id: place.path("run").to_owned(),
        at,
        model: given("model"),
        instructions: given("instructions"),
        input: input.as_ref().map(json::to_value),
        idempotency_key: form_key::of(&form),
    };
    let forked = backend.fork_run(request).await;
    let run = forked.map_err(refused)?;
    Ok(Redirect::to(&format!("/ui/runs/{}", segment(&run.id))))
}

/// The input that was filled in; nothing where it is as the form had it.
fn other_input(form: &HashMap<String, String>) -> String {
    let given = |name: &str| form.get(name).map_or("", |value| value.trim());
    match given("input") {
        same if written::digest(same) == given("before") => String::new(),
        other => other.to_owned(),
    }
}

/// A refusal of a fork, at the field that it is about.
fn refused(trouble: Trouble) -> Trouble {
    let Some(Fault { field, why }) = trouble.invalid().first().cloned() else {
        return trouble;
    };
    let trouble = trouble.saying(sentence(&why));
    // The event is chosen with the page, and not in the form.
    match &*field {
        "model" | "instructions" | "input" => trouble.at(&field),
        _ => trouble,
    }
}

fn back(place: &Place) -> Redirect {
    Redirect::to(&format!("/ui/runs/{}", segment(place.path("run"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::{refused_at, refused_for};

    #[test]
    fn an_answer_that_came_too_late_says_whose_counts_and_keeps_the_comment() {
        let late = |told: &[(&str, &str)], comment: &str| {
            let trouble = refused_for(Reason::NotPending, told);
            too_late(trouble, comment).notice().into_string()
        };
        let decided = [
            (DECISION, "allowed"),
            (DECIDED_BY, "ann"),
            (DECIDED_AT, "2020-02-03T14:03:12.5Z"),
        ];
        let told = late(&decided, "not <today>");
        assert!(
            told.contains(
                ">It was already allowed by ann at 2020-02-03 14:03:12 UTC; your answer did not count. Your comment was: “not &lt;today&gt;”<"
            ),
            "{told}"
        );
        assert!(told.contains("data-stays"), "{told}");
        let told = late(&[], "");
        assert!(
            told.contains("any more; your answer did not count.<"),
            "{told}"
        );
    }

    /// A form that has the input of the run asks for another one only where somebody changed it.
    #[test]
    fn an_input_that_nobody_changed_is_none() {
        let form = |input: &str| {
            let before = written::digest("{\n  \"a\": 1\n}");
            other_input(
                &[
                    ("before".to_owned(), before),
                    ("input".to_owned(), input.to_owned()),
                ]
                .into(),
            )
        };
        assert_eq!(form("{\r\n  \"a\": 1\r\n}\r\n"), "");
        assert_eq!(form("{\"a\": 2}"), "{\"a\": 2}");
        assert_eq!(form(""), "");
    }

    /// Issue 26: what was filled in wrongly is said at its field, in words.
    #[test]
    fn a_refused_fork_says_why_at_the_field_that_is_wrong() {
        let refusal = |field: &str, why: &str| {
            let refused = refused(refused_at(field, why));
            refused.notice().into_string()
        };
        assert_eq!(
            refusal("model", "no model provider `no`"),
            "<p class=\"notice bad\" role=\"alert\" data-field=\"model\">no model provider `no`.</p>"
        );
        assert!(refusal("input", "it is an object").contains("data-field=\"input\""));
        let decided = refusal("at", "event 9 belongs to the end of the run");
        assert!(
            !decided.contains("data-field") && decided.contains(">event 9 belongs"),
            "{decided}"
        );
    }
}
