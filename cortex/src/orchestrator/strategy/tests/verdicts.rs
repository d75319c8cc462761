//! Criteria that are met, not met, and not checked by anybody.

use agenthub_sdk::{
    model::STAND_IN,
    runs::{DelegationResult, RunOutcome},
};
use serde_json::{Value, json};

use super::stage::*;

/// Makes a thing, and reviews it with these checks: it passes with a score of 0.9.
fn checked(checks: Value) -> Agents {
    Box::new(move |handoff| match &*handoff.capability {
        "make" => completed("maker", json!({"thing": {"text": "a thing"}})),
        _ => completed(
            "checker",
            json!({"qa": {"pass": true, "score": 0.9, "issues": [], "checks": checks}}),
        ),
    })
}

fn stage(criteria: &[&str], checks: Value) -> Stage {
    let mut stage = Stage::new(Model::Offline, checked(checks));
    let criteria = criteria.iter().map(|text| Value::from(*text));
    stage.brief.constraints.acceptance_criteria = criteria.collect();
    stage
}

fn ended(stage: &mut Stage) -> (String, Value) {
    match stage.play() {
        RunOutcome::Completed { text, data, .. } => (text, data["bundle"].clone()),
        other => panic!("{other:?}"),
    }
}

/// spec: ORC-2.1, ORC-2.4
#[test]
fn a_criterion_that_nobody_checked_is_not_met_and_no_reason_for_another_round() {
    let checks = json!([
        {"name": "Is red", "criterion": "is red", "verdict": "pass", "evidence": "line 1"},
        {"name": "Is funny", "criterion": "is funny", "verdict": "not_checked", "evidence": "no model"},
        {"name": "Objective fit", "verdict": "not_checked", "evidence": "no model"},
        {"name": "Short", "verdict": "pass", "evidence": "2 words"},
    ]);
    let mut stage = stage(&["is red", "is funny", "rhymes"], checks.clone());
    let (text, bundle) = ended(&mut stage);
    assert_eq!(stage.handoffs.len(), 2, "nothing is made again");
    let quality = &bundle["quality"];
    assert_eq!(quality["met"], false, "{bundle:#}");
    let first = "1 of 3 criteria is met; nobody checked `is funny`, `rhymes`";
    assert_eq!(text.lines().next(), Some(first));
    assert_eq!(quality["explanation"], first);
    assert_eq!(
        quality["notJudged"],
        json!(["is funny", "rhymes", "Objective fit"])
    );
    assert_eq!(quality["reviews"][0]["checks"], checks);
    let verdicts = bundle["acceptance-report"].as_array().expect("a report");
    let verdicts: Vec<&Value> = verdicts.iter().map(|line| &line["verdict"]).collect();
    assert_eq!(verdicts, ["pass", "not_checked", "not_checked"]);
}

/// spec: ORC-2.1
#[test]
fn only_where_all_criteria_are_met_are_the_constraints() {
    let pass = json!([{"name": "c", "criterion": "is red", "verdict": "pass", "evidence": "1"}]);
    let (_, bundle) = ended(&mut stage(&["is red"], pass));
    assert_eq!(bundle["quality"]["met"], true, "{bundle:#}");
    assert_eq!(bundle["quality"]["notJudged"], json!([]));
    assert_eq!(bundle["quality"]["explanation"], Value::Null);

    let (text, bundle) = ended(&mut stage(&[], json!([])));
    assert_eq!(bundle["quality"]["met"], true, "{bundle:#}");
    assert!(!text.contains("criteria"), "{text}");

    // A verdict that is none of the three decides nothing.
    let odd = json!([{"name": "c", "criterion": "is red", "verdict": "fine", "evidence": "1"}]);
    let (_, bundle) = ended(&mut stage(&["is red"], odd));
    assert_eq!(bundle["quality"]["met"], false, "{bundle:#}");
}

/// spec: ORC-2.1
#[test]
fn what_one_reviewer_of_several_could_not_check_is_not_met() {
    let made = |brief: &str| json!({"capability": "make", "payload": {"brief": brief}});
    let review = |of: &str| {
        let thing = format!("${{{of}.output.thing}}");
        json!({"capability": "check", "payload": {"thing": thing, "acceptanceCriteria": "${input.acceptanceCriteria}"}})
    };
    let steps = json!({"a": made("a"), "b": made("b"), "ra": review("a"), "rb": review("b")});
    let result = json!({"a": "${a.output.thing}", "b": "${b.output.thing}"});
    let hand = |step: &str, to: &str, capability: &str| {
        let mut handoff = handoff(to, capability);
        handoff["stepId"] = step.into();
        handoff
    };
    let answers = [
        plan(steps, result),
        hand("a", "maker", "make"),
        hand("b", "maker", "make"),
        hand("ra", "checker", "check"),
        hand("rb", "checker", "check"),
        the_end(),
    ];
    let mut reviews = 0;
    let agents: Agents = Box::new(move |handoff| match &*handoff.capability {
        "make" => completed("maker", json!({"thing": {"text": "a thing"}})),
        _ => {
            reviews += 1;
            let verdict = if reviews == 1 { "pass" } else { "not_checked" };
            let checks = json!([{"criterion": "is a thing", "verdict": verdict, "evidence": "e"}]);
            completed(
                "checker",
                json!({"qa": {"pass": true, "score": 0.9, "issues": [], "checks": checks}}),
            )
        }
    });
    let (_, bundle) = ended(&mut Stage::says(answers, agents));
    let verdict = &bundle["acceptance-report"][0]["verdict"];
    assert_eq!(verdict, "not_checked", "{bundle:#}");
    assert_eq!(bundle["quality"]["met"], false);
}

/// spec: ORC-2.4
#[test]
fn the_checks_of_many_reviews_are_bounded() {
    let long = "x".repeat(4_000);
    let checks: Vec<Value> = (0..50)
        .map(|n| json!({"name": n.to_string(), "verdict": "fail", "evidence": long}))
        .collect();
    let agents: Agents = Box::new(move |handoff| match &*handoff.capability {
        "make" => completed("maker", json!({"thing": {"text": "a thing"}})),
        _ => completed(
            "checker",
            json!({"qa": {"pass": false, "score": 0.5, "issues": ["too plain"], "checks": checks}}),
        ),
    });
    let mut stage = Stage::new(Model::Offline, agents);
    stage.brief.constraints.execution_depth = Some(4);
    let (_, bundle) = ended(&mut stage);
    let reviews = bundle["quality"]["reviews"].as_array().expect("reviews");
    let kept = |review: &&Value| review["checks"].is_array();
    assert_eq!(reviews.len(), 4);
    assert_eq!(reviews.iter().filter(kept).count(), 1, "the last one's are");
    assert_eq!(reviews[0]["checksLeftOut"], 50);
    assert!(reviews[3]["checks"].is_array());
    assert!(bundle.to_string().len() < 300_000);
}

/// spec: ORC-2.4
#[test]
fn stand_ins_for_a_model_are_named() {
    let by = |model: &'static str| -> Agents {
        let mut agents = passing_in_round(1);
        Box::new(move |handoff| {
            let mut ended = agents(handoff);
            if ended.agent == "maker" {
                ended.model = model.to_owned();
            }
            ended
        })
    };
    let (_, bundle) = ended(&mut Stage::new(Model::Offline, by("offline")));
    let expected = json!([{"agent": "maker", "phase": "generation"}]);
    assert_eq!(bundle["quality"]["standIns"], expected, "{bundle:#}");
    let (_, bundle) = ended(&mut Stage::new(Model::Offline, by("openai/gpt-5")));
    assert_eq!(bundle["quality"]["standIns"], json!([]));
}

/// spec: ORC-2.1
#[test]
fn a_rule_that_nobody_checked_is_not_met_and_no_reason_for_another_round() {
    let checks = json!([
        {"name": "Rule a", "hard": true, "verdict": "not_checked", "evidence": "no model"},
        {"name": "Rule b", "rule": true, "verdict": "not_checked", "evidence": "no model"},
        {"name": "Clear", "hard": false, "verdict": "not_checked", "evidence": "no model"},
        {"name": "Red", "criterion": "is red", "hard": true, "verdict": "pass", "evidence": "1"},
    ]);
    let mut with_criteria = stage(&["is red"], checks.clone());
    let (text, bundle) = ended(&mut with_criteria);
    assert_eq!(with_criteria.handoffs.len(), 2, "nothing is made again");
    let first = "1 of 1 criteria is met; nobody checked 2 rules: `Rule a`, `Rule b`";
    assert_eq!(text.lines().next(), Some(first), "{bundle:#}");
    assert_eq!(bundle["quality"]["met"], false);
    assert_eq!(bundle["quality"]["unchecked"], json!(["Rule a", "Rule b"]));
    let (_, bundle) = ended(&mut stage(&[], checks));
    let first = "nobody checked 2 rules: `Rule a`, `Rule b`";
    assert_eq!(bundle["quality"]["explanation"], first);
}

/// A reviewer that had nothing to go by lets nothing pass, which is no fault of the draft.
///
/// spec: ORC-2.1
#[test]
fn where_nothing_could_be_checked_nothing_is_made_again() {
    let agents: Agents = Box::new(move |handoff| match &*handoff.capability {
        "make" => completed("maker", json!({"thing": {"text": "a thing"}})),
        _ => {
            let checks = json!([{"name": "Rule", "rule": true, "verdict": "not_checked"}]);
            completed(
                "checker",
                json!({"qa": {"pass": false, "score": 1, "issues": [], "checks": checks}}),
            )
        }
    });
    let mut stage = Stage::new(Model::Offline, agents);
    stage.brief.constraints.acceptance_criteria = Vec::new();
    let (_, bundle) = ended(&mut stage);
    assert_eq!(stage.handoffs.len(), 2, "nothing is made again");
    assert_eq!(
        bundle["quality"]["explanation"],
        "nobody checked 1 rule: `Rule`"
    );
}

/// spec: ORC-2.4
#[test]
fn where_nothing_was_made_it_is_said_why() {
    let agents: Agents = Box::new(|handoff| match &*handoff.capability {
        "make" => DelegationResult {
            agent: "maker".into(),
            state: "failed".into(),
            error: "the draft is empty".into(),
            ..DelegationResult::default()
        },
        _ => completed(
            "checker",
            json!({"qa": {"pass": true, "score": 1, "issues": []}}),
        ),
    });
    let (_, bundle) = ended(&mut Stage::new(Model::Offline, agents));
    assert_eq!(bundle["quality"]["made"], false, "{bundle:#}");
    let why = bundle["quality"]["explanation"]
        .as_str()
        .unwrap_or_default();
    assert!(why.contains("the draft is empty"), "{why}");
    let (_, bundle) = ended(&mut Stage::new(Model::Offline, passing_in_round(1)));
    assert_eq!(bundle["quality"]["made"], true, "{bundle:#}");
}

/// Issue 26: what nobody did is not done, however well it measures.
///
/// spec: ORC-2.4
#[test]
fn a_stand_in_that_says_the_request_again_has_made_nothing() {
    let told = |words: &'static str, model: &'static str| {
        let agents: Agents = Box::new(move |handoff| match &*handoff.capability {
            "make" => DelegationResult {
                model: model.into(),
                ..completed("maker", json!({"thing": {"text": words}}))
            },
            _ => completed(
                "checker",
                json!({"qa": {"pass": true, "score": 1, "issues": [], "checks": [{"criterion": "is a thing", "verdict": "pass"}]}}),
            ),
        });
        let (text, bundle) = ended(&mut Stage::new(Model::Offline, agents));
        (
            text,
            bundle["quality"].clone(),
            bundle["acceptance-report"].clone(),
        )
    };
    let (text, quality, report) = told("Make a thing.", STAND_IN);
    assert_eq!(quality["made"], false, "{quality:#}");
    assert_eq!(quality["met"], false, "{quality:#}");
    assert_eq!(quality["score"], Value::Null, "a score is of something");
    let summary = quality["summary"].as_str().unwrap_or_default();
    assert!(
        summary.contains("steps have ended") && !summary.contains("score"),
        "{summary}"
    );
    assert!(!text.contains("score"), "{text}");
    assert_eq!(report[0]["verdict"], "not_checked", "{report:#}");
    let why = quality["explanation"].as_str().unwrap_or_default();
    assert!(why.starts_with("nobody did what was asked"), "{why}");
    assert!(text.starts_with(why), "{text}");
    let (_, quality, _) = told("A blue thing.", STAND_IN);
    assert_eq!(quality["made"], true, "it says more: {quality:#}");
    let (_, quality, _) = told("Make a thing.", "a-model");
    assert_eq!(quality["made"], true, "a model read it: {quality:#}");
}

/// spec: ORC-2.3
#[test]
fn what_of_the_payload_nobody_takes_is_named() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(1));
    stage.brief.payload = json!({"brief": "b", "size": "s", "wordLimit": 2})
        .as_object()
        .cloned()
        .expect("an object");
    let (_, bundle) = ended(&mut stage);
    assert_eq!(bundle["quality"]["notTaken"], json!(["wordLimit"]));
    stage.brief.payload["brief"] = json!(["b"]);
    let (_, bundle) = ended(&mut stage);
    let untaken = ["brief (its value does not fit)", "wordLimit"];
    assert_eq!(bundle["quality"]["notTaken"], json!(untaken));
}

/// spec: ORC-2.1
#[test]
fn a_criterion_that_only_the_reviewer_knew_and_nobody_checked_is_not_met() {
    let agents: Agents = Box::new(move |handoff| match &*handoff.capability {
        "make" => completed("maker", json!({"thing": {"text": "a thing"}})),
        _ => {
            let checks = json!([{"id": "criterion.1", "name": "It rhymes.", "criterion": "It rhymes.", "hard": true, "rule": true, "verdict": "not_checked"}]);
            completed(
                "checker",
                json!({"qa": {"pass": false, "score": 1, "issues": [], "checks": checks}}),
            )
        }
    });
    let mut stage = Stage::new(Model::Offline, agents);
    stage.brief.constraints.acceptance_criteria = Vec::new();
    let (_, bundle) = ended(&mut stage);
    let quality = &bundle["quality"];
    assert_eq!(quality["met"], false, "{bundle:#}");
    assert_eq!(quality["unchecked"], json!(["It rhymes."]));
    assert_eq!(
        quality["explanation"],
        "nobody checked 1 rule: `It rhymes.`"
    );
}

/// spec: ORC-2.1
#[test]
fn a_criterion_that_stands_twice_in_a_review_is_met_only_if_both_are() {
    let checks = json!([
        {"criterion": "is red", "verdict": "pass", "evidence": "1"},
        {"criterion": "is red", "verdict": "not_checked", "evidence": "no model"},
    ]);
    let (_, bundle) = ended(&mut stage(&["is red"], checks));
    assert_eq!(bundle["quality"]["met"], false, "{bundle:#}");
}

/// spec: ORC-2.1
#[test]
fn a_rule_that_is_not_kept_is_not_met_though_the_review_lets_it_pass() {
    let checks = json!([
        {"name": "Short", "rule": true, "hard": false, "verdict": "fail", "evidence": "9 words"},
        {"name": "It rhymes.", "criterion": "It rhymes.", "verdict": "fail", "evidence": "no rhyme"},
        {"name": "Clear", "verdict": "fail", "evidence": "advice"},
    ]);
    let mut stage = stage(&[], checks);
    stage.brief.constraints.execution_depth = Some(1);
    let (text, bundle) = ended(&mut stage);
    let quality = &bundle["quality"];
    assert_eq!(quality["met"], false, "{bundle:#}");
    assert_eq!(quality["notKept"], json!(["Short", "It rhymes."]));
    let why = "the rule `Short` is not kept; the rule `It rhymes.` is not kept";
    assert!(text.contains(why), "{text}");
}
