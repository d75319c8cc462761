//! Shortfalls of the answer of an agent that is talked with: parts of the payload that it does not take, wishes that it says it could not
//! meet, and a review that does not let pass what was reviewed.

use agenthub_sdk::runs::plan::Offer;
use serde_json::{Map, Value, json};

use crate::{
    brief::{Constraints, Taken, meant},
    orchestrator::{GENERATION, QA, Review, Standing, Verdicts, notes_in},
};

/// The results that the answer lacks, in the form of [`Shortfall`](agenthub_sdk::runs::Shortfall).
pub(super) fn lacking(
    agent: &str,
    payload: &Map<String, Value>,
    own: &[&Offer],
    skill: Option<&str>,
    answer: &[Value],
) -> Vec<Value> {
    let asked: Vec<&Offer> = own
        .iter()
        .filter(|offer| skill.is_none_or(|skill| offer.capability == skill))
        .copied()
        .collect();
    let untaken = untaken(agent, payload, &asked);
    let is_review = asked.iter().any(|offer| offer.phase == QA);
    let denied = answer
        .iter()
        .filter(|_| is_review)
        .find_map(|data| denied(agent, data));
    let is_made = asked.iter().any(|offer| offer.phase == GENERATION);
    let notes = answer.iter().filter(|_| is_made).find_map(notes);
    let reasons = untaken.into_iter().chain(denied).chain(notes);
    let results = reasons.map(|why| json!({"agent": agent, "state": "completed", "lacks": why}));
    results.collect()
}

/// The parts of the payload that the input of no skill names.
fn untaken(agent: &str, payload: &Map<String, Value>, asked: &[&Offer]) -> Option<String> {
    let inputs = asked.iter().filter_map(|offer| offer.input.as_ref());
    let inputs: Vec<Taken> = inputs
        .map(|schema| Taken {
            agent: agent.to_owned(),
            schema: schema.clone(),
        })
        .collect();
    let inputs: Vec<&Taken> = inputs.iter().collect();
    let given = payload.iter().filter(|(_, value)| !value.is_null());
    let untaken = given.filter(|(name, _)| inputs.iter().all(|taken| taken.field(name).is_none()));
    let named: Vec<String> = untaken
        .map(|(name, _)| match meant(&inputs, payload, name) {
            Some(meant) => format!("payload.{name} (did you mean {meant}?)"),
            None => format!("payload.{name}"),
        })
        .collect();
    let why = match inputs.is_empty() {
        true => ", whose card says of no data that it is taken",
        false => ", whose card names no such field",
    };
    (!named.is_empty()).then(|| {
        format!(
            "nobody knows of {} that it was taken by {agent}{why}",
            named.join(", ")
        )
    })
}

/// The maker's own account of what could not be met.
fn notes(data: &Value) -> Option<String> {
    let notes = notes_in(data);
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The reason why a review does not let pass what was reviewed, or leaves open a part of what was asked for.
fn denied(agent: &str, data: &Value) -> Option<String> {
    let review = Review::found(agent, data)?;
    let review = Review {
        // A score is not asked for.
        score: review.score.or(Some(1.0)),
        ..review
    };
    let constraints = Constraints {
        // The reviewer has its own, and says whether it is reached.
        quality_threshold: Some(0.0),
        ..Constraints::default()
    };
    match Verdicts::alone(Some(&review)).standing(&constraints) {
        Standing::Met => unjudged(&review),
        Standing::Unmet(why) | Standing::Unchecked(why) | Standing::NotReviewed(why) => {
            let issues = match review.issues.as_slice() {
                [] => String::new(),
                [issue] => format!(": {issue}"),
                [issue, more @ ..] => format!(": {issue} (and {} more)", more.len()),
            };
            Some(format!("{why}{issues}"))
        }
    }
}

/// True if a review among the data does not let pass what was reviewed, or leaves open a part of what was asked for.
pub(crate) fn is_denied(agent: &str, data: &[Value]) -> bool {
    data.iter().any(|data| denied(agent, data).is_some())
}

/// Checks without a verdict, of a review that was asked for without any rule: the review as a whole is what was asked for.
fn unjudged(review: &Review) -> Option<String> {
    let is_rule = |check: &Value| check["rule"] == true || check["criterion"].is_string();
    let open = review
        .checks
        .iter()
        .filter(|check| check["verdict"] == "not_checked");
    let open: Vec<&str> = open.filter_map(|check| check["name"].as_str()).collect();
    let is_open = !open.is_empty() && !review.checks.iter().any(is_rule);
    is_open.then(|| format!("no rule was given, and nobody checked: {}", open.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(capability: &str, phase: &str, input: Option<Value>) -> Offer {
        Offer {
            agent: "judge".into(),
            capability: capability.into(),
            phase: phase.into(),
            input,
            ..Offer::default()
        }
    }

    fn lacks(payload: Value, own: &[Offer], skill: Option<&str>, answer: Value) -> Vec<String> {
        let own: Vec<&Offer> = own.iter().collect();
        let payload = payload.as_object().cloned().expect("an object");
        let results = lacking("judge", &payload, &own, skill, &[answer]);
        let why = |result: &Value| result["lacks"].as_str().unwrap_or_default().to_owned();
        results.iter().map(why).collect()
    }

    /// spec: ORC-2.3
    #[test]
    fn what_the_chosen_skill_does_not_name_is_lacking() {
        let own = [
            offer(
                "review",
                QA,
                Some(json!({"properties": {"draft": {}, "mustInclude": {}}})),
            ),
            offer(
                "count",
                "analysis",
                Some(json!({"properties": {"words": {}}})),
            ),
            offer("talk", "analysis", None),
        ];
        let of = |payload: Value, skill| lacks(payload, &own, skill, Value::Null);
        assert_eq!(
            of(json!({"draft": "a", "words": null}), Some("review")),
            [""; 0]
        );
        assert_eq!(
            of(
                json!({"draft": "a", "words": 5, "mustInlcude": ["b"]}),
                Some("review")
            ),
            [
                "nobody knows of payload.words, payload.mustInlcude (did you mean mustInclude?) that it was taken by judge, whose card names no such field"
            ]
        );
        assert_eq!(of(json!({"words": 5}), None), [""; 0]);
        assert_eq!(
            of(json!({"draft": "a"}), Some("talk")),
            [
                "nobody knows of payload.draft that it was taken by judge, whose card says of no data that it is taken"
            ]
        );
    }

    /// spec: ORC-2.3
    #[test]
    fn what_a_maker_could_not_meet_is_lacking() {
        let own = [
            offer("make", GENERATION, None),
            offer("look", "analysis", None),
        ];
        let said = |skill, notes: Value| {
            let draft = json!({"draft": {"text": "a", "metadata": {"notes": notes}}});
            lacks(json!({}), &own, Some(skill), draft)
        };
        assert_eq!(said("make", json!([])), [""; 0]);
        assert_eq!(
            said("make", json!(["too long", "no date"])),
            ["too long; no date"]
        );
        assert_eq!(said("look", json!(["too long"])), [""; 0]);
    }

    /// spec: ORC-2.1
    #[test]
    fn a_review_that_denies_or_leaves_open_is_lacking() {
        let own = [offer("review", QA, None), offer("board", "analysis", None)];
        let said = |qa: Value, skill| lacks(json!({}), &own, Some(skill), json!({ "qa": qa }));
        let check = |verdict: &str| json!({"name": "Says when", "rule": true, "verdict": verdict});
        let whole = json!({"pass": true, "score": 0.9, "checks": [check("pass")]});
        assert_eq!(said(whole, "review"), [""; 0]);
        let asked_nothing = json!({"pass": true, "score": 0.9, "checks": [{"name": "Clarity", "verdict": "not_checked"}, {"name": "Words", "verdict": "pass"}]});
        assert_eq!(
            said(asked_nothing, "review"),
            ["no rule was given, and nobody checked: Clarity"]
        );
        let failed = json!({"pass": false, "score": 0.2, "issues": ["too_long: cut it."], "checks": [check("fail")]});
        assert_eq!(
            said(failed.clone(), "review"),
            ["the rule `Says when` is not kept: too_long: cut it."]
        );
        assert_eq!(said(failed, "board"), [""; 0], "it reviews nothing");
        let low = json!({"pass": false, "score": 0.2, "issues": ["a: b.", "c: d."]});
        assert_eq!(
            said(low, "review"),
            ["judge did not let it pass: a: b. (and 1 more)"]
        );
        let open = json!({"pass": true, "score": 0.9, "checks": [check("not_checked")]});
        assert_eq!(said(open, "review"), ["nobody checked 1 rule: `Says when`"]);
    }
}
