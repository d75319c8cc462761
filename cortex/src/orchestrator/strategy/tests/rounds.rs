//! Plans, rounds, and how runs end.

use serde_json::{Value, json};

use super::stage::*;

/// spec: ORC-2.1, ORC-5.1, ORC-6.2, ORC-10
#[test]
fn a_plan_is_made_carried_out_and_put_together_to_a_bundle() {
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        handoff("checker", "check"),
        the_end(),
    ];
    let mut stage = Stage::says(answers, passing_in_round(1));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"], json!({"thing": {"text": "thing 1"}}));
    assert_eq!(bundle["quality"]["score"], 0.9);
    assert_eq!(bundle["quality"]["met"], true);
    assert_eq!(
        bundle["acceptance-report"],
        json!([{"criterion": "is a thing", "verdict": "pass", "evidence": "seen", "by": "checker"}])
    );
    let keys: Vec<&String> = bundle.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["result", "quality", "acceptance-report"]);
    assert_eq!(stage.handoffs[0].text, "Make a thing");
    assert_eq!(
        stage.handoffs[0].payload,
        Some(json!({"brief": "Make a thing"}))
    );
    assert_eq!(
        stage.handoffs[1].payload,
        Some(json!({"thing": {"text": "thing 1"}, "acceptanceCriteria": ["is a thing"]}))
    );
    assert_eq!(stage.noted("phase").len(), 4);
    assert_eq!(stage.noted("warning"), [""; 0]);
}

/// spec: ORC-11.1
#[test]
fn offline_the_first_that_passes_is_the_result() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(1));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1", "{bundle:#}");
    assert_eq!(bundle["quality"]["depth"], 1);
    assert_eq!(stage.handoffs.len(), 2);
}

/// spec: ORC-11.2
#[test]
fn offline_what_does_not_pass_is_made_again_with_what_was_found() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(2));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 2", "{bundle:#}");
    assert_eq!(bundle["quality"]["depth"], 2);
    assert_eq!(bundle["quality"]["met"], true);
    let again = stage.handoffs[2].payload.as_ref().expect("a payload");
    assert_eq!(again["revisionNotes"], json!(["too plain"]));
    assert_eq!(again["previousThing"], json!({"text": "thing 1"}));
}

/// spec: ORC-11.3
#[test]
fn at_the_execution_depth_the_best_there_is_is_the_result() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(9));
    stage.brief.constraints.execution_depth = Some(2);
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 2");
    assert_eq!(bundle["quality"]["met"], false);
    assert_eq!(bundle["quality"]["depth"], 2);
    let why = bundle["quality"]["explanation"]
        .as_str()
        .expect("it says why");
    assert!(why.contains("0.50") && why.contains("2 rounds"), "{why}");
    assert_eq!(bundle["acceptance-report"][0]["verdict"], "fail");
}

/// spec: ORC-2.1, ORC-3
#[test]
fn code_enforces_the_depth_whatever_the_model_wants() {
    let again = plan(
        json!({"more": {"capability": "make", "payload": {"brief": "more"}}}),
        json!({"thing": "${thing.output.thing}"}),
    );
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        handoff("checker", "check"),
        again,
        handoff("maker", "make"),
        handoff("maker", "make"),
        handoff("maker", "make"),
    ];
    let mut stage = Stage::says(answers, passing_in_round(9));
    stage.brief.constraints.execution_depth = Some(1);
    let bundle = stage.bundle();
    assert_eq!(stage.handoffs.len(), 2);
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1");
    let told = stage
        .requests
        .last()
        .and_then(|r| r.data("rejected"))
        .expect("a reason");
    assert!(
        told["reason"]
            .as_str()
            .is_some_and(|r| r.contains("execution depth of 1")),
        "{told}"
    );
}

/// spec: ORC-5.1
#[test]
fn a_run_does_not_end_below_the_threshold_while_another_round_is_allowed() {
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        the_end(),
        handoff("checker", "check"),
        the_end(),
        the_end(),
        the_end(),
    ];
    let mut stage = Stage::says(answers, passing_in_round(9));
    let bundle = stage.bundle();
    let warnings = stage.noted("warning");
    assert!(warnings[0].contains("nothing was reviewed"), "{warnings:?}");
    assert!(warnings[1].contains("below 0.7"), "{warnings:?}");
    // Asked three times, it insists: the run ends with what there is, and says why.
    assert_eq!(bundle["quality"]["met"], false);
    let why = bundle["quality"]["explanation"]
        .as_str()
        .unwrap_or_default();
    assert!(why.contains("only 1 of 3 rounds were used"), "{why}");
    // What the model can do about it, people are not told.
    let last = stage.requests.last().expect("it was asked");
    assert!(format!("{last:?}").contains("plan another round"));
    let told = format!("{bundle} {warnings:?}");
    assert!(!told.contains("plan another round"), "{told}");
    assert!(!told.contains("have it reviewed first"), "{told}");
    assert_eq!(bundle["quality"]["summary"], "made and checked");
}

/// spec: ORC-9
#[test]
fn what_breaks_the_schema_is_asked_again_twice_then_the_run_ends_with_an_explanation() {
    let mut stage = Stage::says(
        [
            json!("no"),
            json!({"action": "write"}),
            json!({"action": "final"}),
        ],
        passing_in_round(1),
    );
    let bundle = stage.bundle();
    assert_eq!(stage.requests.len(), 3);
    assert_eq!(bundle["result"], Value::Null);
    let why = bundle["quality"]["explanation"]
        .as_str()
        .expect("it says why");
    assert!(
        why.contains("nothing that is allowed") && why.contains("bundle"),
        "{why}"
    );
    let reasons: Vec<&Value> = stage.requests[1..]
        .iter()
        .map(|r| &r.data("rejected").expect("a reason")["reason"])
        .collect();
    assert!(
        reasons[0]
            .as_str()
            .is_some_and(|r| r.contains("no JSON object")),
        "{reasons:?}"
    );
    assert!(
        reasons[1].as_str().is_some_and(|r| r.contains("/action")),
        "{reasons:?}"
    );
}

/// spec: ORC-5.1, ORC-10
#[test]
fn the_orchestrator_writes_no_part_of_the_result() {
    let mut own = the_end();
    own["bundle"]["artifacts"] = json!({"thing": {"text": "I made this myself"}});
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        handoff("checker", "check"),
        own.clone(),
        own.clone(),
        own,
    ];
    let mut stage = Stage::says(answers, passing_in_round(1));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"], json!({"thing": {"text": "thing 1"}}));
    assert!(
        stage
            .noted("warning")
            .iter()
            .all(|w| w.contains("is not a reference to the output of a step"))
    );
}

/// spec: ORC-11.4, ORC-9
#[test]
fn without_the_capability_the_plan_does_without_or_the_run_says_so() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(1));
    stage.seen.offers.retain(|o| o.offer.capability == "make");
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1");
    assert_eq!(bundle["acceptance-report"][0]["verdict"], "not_checked");
    assert_eq!(stage.noted("warning"), ["nothing was reviewed"]);

    let mut stage = Stage::new(Model::Offline, passing_in_round(1));
    stage.seen.offers.clear();
    let bundle = stage.bundle();
    assert_eq!(bundle["result"], Value::Null);
    assert!(
        bundle["quality"]["summary"]
            .as_str()
            .is_some_and(|s| s.contains("no agent here offers")),
        "{bundle:#}"
    );
    assert_eq!(
        stage.noted("warning"),
        ["no specialist made anything", "nothing was reviewed"]
    );
}

/// Makes things whose scores are these, one after the other; none passes.
fn scored(scores: &'static [f64]) -> Agents {
    let mut made = 0;
    Box::new(move |handoff| match &*handoff.capability {
        "make" => {
            made += 1;
            completed("maker", json!({"thing": {"text": format!("thing {made}")}}))
        }
        _ => {
            let score = scores[made - 1];
            completed(
                "checker",
                json!({"qa": {"pass": false, "score": score, "issues": ["too plain"]}}),
            )
        }
    })
}

/// spec: ORC-11.3, ORC-10
#[test]
fn the_best_round_is_the_result_with_its_own_review_whichever_it_was() {
    let mut stage = Stage::new(Model::Offline, scored(&[0.6, 0.4]));
    stage.brief.constraints.execution_depth = Some(2);
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1", "{bundle:#}");
    assert_eq!(bundle["quality"]["score"], 0.6);

    // Also where the model names the last round.
    let again = plan(
        json!({
            "more": {"capability": "make", "payload": {"brief": "more", "previousThing": "${thing.output.thing}"}},
            "again": {"capability": "check", "payload": {"thing": "${more.output.thing}", "acceptanceCriteria": "${input.acceptanceCriteria}"}},
        }),
        json!({"thing": "${more.output.thing}"}),
    );
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        handoff("checker", "check"),
        again,
        handoff("maker", "make"),
        handoff("checker", "check"),
        the_end(),
    ];
    let mut stage = Stage::says(answers, scored(&[0.6, 0.4]));
    stage.brief.constraints.execution_depth = Some(2);
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1", "{bundle:#}");
    assert_eq!(bundle["quality"]["score"], 0.6);
}

/// spec: ORC-2.1, ORC-10
#[test]
fn what_was_not_reviewed_itself_is_not_met_by_the_review_of_something_else() {
    let more = plan(
        json!({"more": {"capability": "make", "payload": {"brief": "more"}}}),
        json!({"thing": "${more.output.thing}"}),
    );
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        handoff("checker", "check"),
        more,
        handoff("maker", "make"),
        the_end(),
        the_end(),
        the_end(),
    ];
    let mut stage = Stage::says(answers, passing_in_round(1));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 2");
    assert_eq!(bundle["quality"]["met"], false, "{bundle:#}");
    assert!(stage.noted("warning")[0].contains("the output of more was not reviewed"));
}

/// spec: ORC-7, ORC-10
#[test]
fn a_reviewer_that_was_not_given_the_criteria_lets_nothing_pass() {
    let blind = plan(
        json!({
            "thing": {"capability": "make", "payload": {"brief": "b"}},
            "review": {"capability": "check", "payload": {"thing": "${thing.output.thing}"}},
        }),
        json!({"thing": "${thing.output.thing}"}),
    );
    let answers = [
        blind,
        handoff("maker", "make"),
        handoff("checker", "check"),
        the_end(),
        the_end(),
        the_end(),
    ];
    let mut stage = Stage::says(answers, passing_in_round(1));
    stage.brief.constraints.acceptance_criteria = vec![" is red \n".into()];
    let bundle = stage.bundle();
    assert_eq!(bundle["quality"]["met"], false);
    let why = bundle["quality"]["explanation"]
        .as_str()
        .expect("it says why");
    assert!(
        why.contains("was not given the acceptance criteria"),
        "{why}"
    );
    assert_eq!(bundle["acceptance-report"][0]["criterion"], "is red");
}

/// spec: ORC-3
#[test]
fn without_an_answer_of_the_model_there_is_still_what_was_made() {
    let mut stage = Stage::says(
        [make_and_check(), handoff("maker", "make")],
        passing_in_round(1),
    );
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1");
    assert!(
        bundle["quality"]["explanation"]
            .as_str()
            .is_some_and(|why| why.contains("out of answers")),
        "{bundle:#}"
    );
}

/// spec: ORC-5.1, ORC-10
#[test]
fn a_review_of_words_that_nobody_made_counts_for_nothing() {
    let mut own = handoff("checker", "check");
    own["payload"] =
        json!({"thing": {"text": "I made this up"}, "acceptanceCriteria": ["is a thing"]});
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        own,
        the_end(),
        the_end(),
        the_end(),
    ];
    let mut stage = Stage::says(answers, passing_in_round(1));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1");
    assert_eq!(bundle["quality"]["met"], false, "{bundle:#}");
}

/// spec: ORC-2.1, ORC-11.3
#[test]
fn what_passed_stays_the_result_where_nobody_reviews_what_was_made_of_it() {
    let better = plan(
        json!({"better": {"capability": "make", "payload": {"brief": "b", "previousThing": "${thing.output.thing}"}}}),
        json!({"thing": "${better.output.thing}"}),
    );
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        handoff("checker", "check"),
        better,
        handoff("maker", "make"),
        the_end(),
        the_end(),
        the_end(),
    ];
    let mut stage = Stage::says(answers, passing_in_round(1));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1", "{bundle:#}");
    assert_eq!(bundle["quality"]["met"], true, "{bundle:#}");
    assert_eq!(bundle["quality"]["unreviewed"], json!(["better"]));
}
