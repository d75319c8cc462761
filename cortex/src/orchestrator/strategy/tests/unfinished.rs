//! Rounds that come to nothing after one that was reviewed.

use agenthub_sdk::runs::{Budget, DelegationResult, Handoff, RunOutcome};
use serde_json::{Value, json};

use super::stage::*;
use crate::orchestrator::kept::{Away, Offered};

/// Makes one thing, which a review finds wanting, and comes to nothing after that.
fn once(state: &'static str) -> Agents {
    let mut agents = passing_in_round(9);
    let mut made = 0;
    Box::new(move |handoff| {
        made += usize::from(handoff.capability == "make");
        match &*handoff.capability {
            "make" if made > 1 => DelegationResult {
                agent: "maker".into(),
                state: state.into(),
                error: "the maker broke".into(),
                ..DelegationResult::default()
            },
            _ => agents(handoff),
        }
    })
}

/// The bundle of a run that has the first thing, not met, and says so throughout.
fn first_thing(outcome: RunOutcome, why: &str) -> Value {
    let RunOutcome::Completed { text, data, .. } = outcome else {
        panic!("{outcome:?}");
    };
    let bundle = &data["bundle"];
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1", "{bundle:#}");
    let quality = &bundle["quality"];
    assert_eq!(quality["made"], true, "{bundle:#}");
    assert_eq!(
        (&quality["met"], &data["met"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(quality["score"], 0.4, "of the thing that is there");
    assert_eq!(bundle["acceptance-report"][0]["verdict"], "fail");
    let explanation = quality["explanation"].as_str().expect("it says why");
    assert!(explanation.contains(why), "{explanation}");
    assert!(explanation.contains("below 0.7"), "{explanation}");
    assert!(text.contains(explanation), "{text}");
    assert_eq!(explanation.matches("below 0.7").count(), 1, "{text}");
    for wrong in ["nothing was made", "nothing was reviewed"] {
        assert!(!text.contains(wrong), "{text}");
    }
    bundle.clone()
}

/// spec: ORC-11.3, ORC-2.4
#[test]
fn a_reviewed_thing_is_the_result_where_a_later_one_comes_to_nothing() {
    for state in ["failed", "canceled"] {
        let mut stage = Stage::new(Model::Offline, once(state));
        let outcome = stage.play();
        first_thing(outcome, "step make-2 came to nothing");
    }
}

/// The model's own plan names the later step in the result, or says nothing of the earlier one.
///
/// spec: ORC-11.3
#[test]
fn it_is_so_whatever_the_plan_says_of_the_result() {
    for payload in [
        json!({"brief": "more", "previousThing": "${thing.output.thing}"}),
        json!({"brief": "more"}),
    ] {
        let again = plan(
            json!({"more": {"capability": "make", "payload": payload}}),
            json!({"thing": "${more.output.thing}"}),
        );
        let answers = [
            make_and_check(),
            handoff("maker", "make"),
            handoff("checker", "check"),
            again,
            handoff("maker", "make"),
            the_end(),
            the_end(),
            the_end(),
        ];
        let mut stage = Stage::says(answers, once("failed"));
        stage.brief.constraints.execution_depth = Some(2);
        let outcome = stage.play();
        first_thing(
            outcome,
            "step more came to nothing: maker (failed): the maker broke",
        );
    }
}

/// spec: ORC-3
#[test]
fn it_is_so_where_the_model_plans_another_round_and_answers_no_more() {
    let again = plan(
        json!({"more": {"capability": "make", "payload": {"brief": "more", "previousThing": "${thing.output.thing}"}}}),
        json!({"thing": "${more.output.thing}"}),
    );
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        handoff("checker", "check"),
        again,
    ];
    let outcome = Stage::says(answers, passing_in_round(9)).play();
    first_thing(outcome, "out of answers");
}

/// One part of several is not another part.
///
/// spec: ORC-10
#[test]
fn a_part_that_came_to_nothing_is_not_another_part_of_the_result() {
    let made = |brief: &str| json!({"capability": "make", "payload": {"brief": brief}});
    let steps = json!({"a": made("a"), "b": made("b")});
    let result = json!({"a": "${a.output.thing}", "b": "${b.output.thing}"});
    let hand = |step: &str| {
        let mut handoff = handoff("maker", "make");
        handoff["stepId"] = step.into();
        handoff
    };
    let answers = [
        plan(steps, result),
        hand("a"),
        hand("b"),
        the_end(),
        the_end(),
        the_end(),
    ];
    let mut stage = Stage::says(answers, once("failed"));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"], json!({"a": {"text": "thing 1"}}));
}

/// spec: ORC-3, ORC-11.3
#[test]
fn what_was_made_is_the_result_where_the_budget_is_used_up() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(9));
    stage.budget = Budget {
        calls: Some(7),
        ..Budget::default()
    };
    let outcome = stage.play();
    first_thing(outcome, "budget");
    assert_eq!(stage.handoffs.len(), 2);
}

/// Nothing was made in time: there is no result to say anything of.
///
/// spec: ORC-3
#[test]
fn where_nothing_was_made_within_the_budget_the_run_fails() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(9));
    stage.budget = Budget {
        calls: Some(0),
        ..Budget::default()
    };
    let outcome = stage.play();
    assert!(matches!(outcome, RunOutcome::Failed { .. }), "{outcome:?}");
}

/// The later thing is made, and its review comes to nothing: the one that was reviewed is the result.
///
/// spec: ORC-2.4, ORC-11.3
#[test]
fn what_was_reviewed_stands_where_nobody_reviews_what_was_made_of_it() {
    let mut agents = passing_in_round(9);
    let mut reviews = 0;
    let mut stage = Stage::new(
        Model::Offline,
        Box::new(move |handoff| {
            reviews += usize::from(handoff.capability == "check");
            match &*handoff.capability {
                "check" if reviews > 1 => DelegationResult {
                    agent: "checker".into(),
                    state: "failed".into(),
                    error: "the checker broke".into(),
                    ..DelegationResult::default()
                },
                _ => agents(handoff),
            }
        }),
    );
    stage.brief.constraints.execution_depth = Some(2);
    let RunOutcome::Completed { text, data, .. } = stage.play() else {
        panic!("it completes");
    };
    let bundle = &data["bundle"];
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1", "{bundle:#}");
    assert_eq!(bundle["quality"]["met"], false);
    assert_eq!(bundle["quality"]["unreviewed"], json!(["make-2"]));
    assert_eq!(bundle["acceptance-report"][0]["verdict"], "fail");
    let told = format!("{text}\n{}", bundle["acceptance-report"][0]["evidence"]);
    assert!(!told.contains("nothing was reviewed"), "{told}");
    let why = bundle["quality"]["explanation"].as_str();
    let why = why.expect("it says why");
    assert!(
        why.contains("the output of make-2 was not reviewed"),
        "{why}"
    );
    assert!(why.contains("the checker broke"), "{why}");
    assert_eq!(
        bundle["quality"]["reviews"].as_array().map(Vec::len),
        Some(1)
    );
}

/// spec: ORC-2.1
#[test]
fn an_agent_that_says_that_it_did_nothing_made_nothing() {
    let agents = |undone: &'static str| {
        move |handoff: &Handoff| match &*handoff.capability {
            "make" => DelegationResult {
                text: "I have no tool for this.".into(),
                data: vec![
                    json!({"partial": true, "undone": undone, "results": []}),
                    json!({"thing": {"text": "half a thing"}}),
                ],
                ..completed("maker", Value::Null)
            },
            _ => passing_in_round(1)(handoff),
        }
    };
    let mut stage = Stage::new(Model::Offline, Box::new(agents("all")));
    let bundle = stage.bundle();
    assert_eq!(bundle["quality"]["made"], false, "{bundle:#}");
    let why = bundle["quality"]["explanation"].to_string();
    assert!(
        why.contains("maker did nothing of it: I have no tool"),
        "{why}"
    );
    let mut stage = Stage::new(Model::Offline, Box::new(agents("part")));
    let bundle = stage.bundle();
    assert_eq!(
        bundle["result"]["thing"]["text"], "half a thing",
        "{bundle:#}"
    );
}

/// The one review fails: the end says why, not only that there is none.
///
/// spec: ORC-2.4
#[test]
fn the_cause_of_a_failed_review_stands_in_the_explanation() {
    let mut agents = passing_in_round(1);
    let mut stage = Stage::new(
        Model::Offline,
        Box::new(move |handoff| match &*handoff.capability {
            "check" => DelegationResult {
                agent: "checker".into(),
                state: "failed".into(),
                error: "the draft is in no language".into(),
                ..DelegationResult::default()
            },
            _ => agents(handoff),
        }),
    );
    let bundle = stage.bundle();
    let why = bundle["quality"]["explanation"].as_str();
    let why = why.expect("it says why");
    assert!(
        why.contains("nothing was reviewed, as check came to nothing"),
        "{why}"
    );
    assert_eq!(
        why.matches("the draft is in no language").count(),
        1,
        "{why}"
    );
    let text = bundle["quality"]["summary"].to_string();
    assert!(!text.contains("AGENTHUB_MODEL"), "{text}");
}

/// spec: ORC-2.4
#[test]
fn agents_that_are_away_are_named_where_their_work_is_missing() {
    let away = |agent: &str, capability: &str, phase: &str| Away {
        agent: agent.into(),
        capability: capability.into(),
        phase: phase.into(),
    };
    let explained = |offers: Vec<Offered>, away: Vec<Away>| {
        let mut stage = Stage::new(Model::Offline, passing_in_round(1));
        stage.seen.offers = offers;
        stage.seen.away = away;
        stage.bundle()["quality"]["explanation"].to_string()
    };
    let both = vec![
        away("checker", "check", "qa"),
        away("maker", "make", "generation"),
    ];
    let why = explained(Vec::new(), both.clone());
    assert!(
        why.contains("these agents are known and away: checker (check), maker (make)"),
        "{why}"
    );
    let maker_alone = two().into_iter().filter(|o| o.offer.agent == "maker");
    let why = explained(maker_alone.collect(), both.clone());
    assert!(why.contains("nothing was reviewed"), "{why}");
    assert!(why.contains("away: checker (check)\""), "{why}");
    let why = explained(two(), both);
    assert!(!why.contains("away"), "nobody is missing: {why}");
}

/// spec: ORC-3
#[test]
fn a_plan_that_the_budget_does_not_allow_is_the_reason() {
    let made = json!({"capability": "make", "payload": {"brief": "a thing"}});
    let steps = json!({"a": made, "b": made, "c": made, "d": made});
    let answers = [
        plan(steps, json!({"thing": "${a.output.thing}"})),
        the_end(),
        the_end(),
    ];
    let mut stage = Stage::says(answers, passing_in_round(1));
    stage.budget = Budget {
        calls: Some(4),
        ..Budget::default()
    };
    let bundle = stage.bundle();
    let why = bundle["quality"]["explanation"].to_string();
    assert!(
        why.contains("nothing was made; the plan could not be begun: "),
        "{why}"
    );
    assert!(why.contains("calls"), "{why}");
}

/// spec: ORC-2.4, ORC-9
#[test]
fn a_run_whose_calls_are_used_up_says_so_in_words_for_people() {
    for calls in 1..8 {
        let mut stage = Stage::new(Model::Offline, passing_in_round(1));
        stage.budget.calls = Some(calls);
        let outcome = stage.play();
        let told = format!("{outcome:?} {:?}", stage.noted("warning"));
        for advice in ["finish again", "none of these can help", "reviewed first"] {
            assert!(!told.contains(advice), "{calls}: {told}");
        }
    }
}

/// The agent knows its share alone.
///
/// spec: ORC-2.4
#[test]
fn a_share_of_the_budget_that_is_used_up_is_told_with_the_whole() {
    let agents: Agents = Box::new(|handoff| DelegationResult {
        agent: handoff.agent.clone(),
        state: "failed".into(),
        error: "the budget of 0 calls does not suffice: 0 left, 1 needed".into(),
        ..DelegationResult::default()
    });
    let mut stage = Stage::new(Model::Offline, agents);
    stage.budget.calls = Some(9);
    let bundle = stage.bundle();
    let why = bundle["quality"]["explanation"]
        .as_str()
        .unwrap_or_default();
    assert!(
        why.contains("that is its share of the run's budget of 9 calls"),
        "{why}"
    );
}
